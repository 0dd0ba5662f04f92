package swap

import (
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

const goldens = "../../../testdata/"

// A golden is a quote that the gateway's own tests hold it to.
type golden struct {
	swap Swap
	body []byte
}

func read(t *testing.T, name string) golden {
	t.Helper()
	data, err := os.ReadFile(goldens + "v3/" + name + ".http")
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(data), "\n")
	address, err := url.Parse(strings.TrimPrefix(line, http.MethodGet+" "))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	end := func(token, id string) string { return query.Get(token) + "@" + query.Get(id) }
	var g golden
	g.swap, err = NewSwap(end("srcToken", "srcChain"), end("dstToken", "dstChain"), "1", query.Get("recipient"))
	if err != nil {
		t.Fatal(err)
	}
	g.swap.Amount, _ = new(big.Int).SetString(query.Get("amount"), 10)
	body := rest[strings.Index(rest, "\n{"):]
	if strings.Contains(body, "(note)") {
		owner, err := railgun.ParseAddress(g.swap.Recipient)
		if err != nil {
			t.Fatal(err)
		}
		note, err := railgun.NewNote(owner)
		if err != nil {
			t.Fatal(err)
		}
		body = strings.ReplaceAll(body, "(note)", hex.EncodeToString(note.Recipient()))
	}
	g.body = []byte(body)
	return g
}

// verify checks an answer as Ask does.
func verify(s Swap, body []byte, viewingKey *[32]byte) (*Checked, error) {
	q, err := client.Verify(s.Request(), body, client.Known{Listing: Listing(chain.Reference())})
	if err != nil {
		return nil, err
	}
	return Accept(s, q, viewingKey)
}

// viewingKey is that of a recipient in the goldens.
func viewingKey(t *testing.T, recipient string) *[32]byte {
	t.Helper()
	var vectors struct {
		Valid []struct{ Address, ViewingKey string }
	}
	data, err := os.ReadFile(goldens + "railgun/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Valid {
		if v.Address == recipient {
			key := [32]byte(common.FromHex(v.ViewingKey))
			return &key
		}
	}
	t.Fatalf("nobody has the viewing key of %s", recipient)
	return nil
}

// TestListing: a deployment that is pinned is what the gateway of that deployment lists.
func TestListing(t *testing.T) {
	data, err := os.ReadFile(goldens + "v3/pairs.http")
	if err != nil {
		t.Fatal(err)
	}
	want, err := client.ParseListing(data[strings.Index(string(data), "\n{"):])
	if err != nil {
		t.Fatal(err)
	}
	text := func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	got := Listing(chain.Reference())
	if len(got.Pairs) != len(want.Pairs) || len(got.Tokens) != len(want.Tokens) || len(got.Chains) != len(want.Chains) {
		t.Errorf("got %d pairs, %d tokens and %d chains", len(got.Pairs), len(got.Tokens), len(got.Chains))
	}
	for _, row := range want.Pairs {
		gotPair, err := got.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			t.Fatalf("%+v: %v", row, err)
		}
		wantPair, err := want.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			t.Fatal(err)
		}
		if text(gotPair) != text(wantPair) {
			t.Errorf("got %s\nwant %s", text(gotPair), text(wantPair))
		}
	}
	if text(got.Settlement) != text(want.Settlement) {
		t.Errorf("got %s, want %s", text(got.Settlement), text(want.Settlement))
	}
}
