package wallet

import (
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
)

const goldens = "../../../testdata/"

// A golden is an exchange that the gateway's own tests hold it to.
type golden struct {
	version string
	swap    Swap
	body    []byte
}

// readGolden reads an exchange, and tells whether it is about a quote that was given.
func readGolden(t *testing.T, path string) (golden, bool) {
	t.Helper()
	g := golden{version: filepath.Base(filepath.Dir(path))}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	request, answer, _ := strings.Cut(string(data), "\n\n")
	head, body, _ := strings.Cut(answer, "\n\n")
	line, _, _ := strings.Cut(request, "\n")
	address, err := url.Parse(strings.TrimPrefix(line, http.MethodGet+" "))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	if !strings.HasPrefix(head, "200") || query.Get("amount") == "" {
		return g, false
	}
	src, err := chain.ParseID(query.Get("srcChain"))
	if err != nil {
		t.Fatal(err)
	}
	dst, err := chain.ParseID(query.Get("dstChain"))
	if err != nil {
		t.Fatal(err)
	}
	if g.swap.Pair, err = chain.FindPair(src, query.Get("srcToken"), dst, query.Get("dstToken")); err != nil {
		t.Fatal(err)
	}
	g.swap.Amount, _ = new(big.Int).SetString(query.Get("amount"), 10)
	g.swap.Recipient = query.Get("recipient")
	if g.version == "v3" {
		g.swap.Integrator = common.HexToAddress(query.Get("integratorId"))
	}
	g.body = fillNote(t, g.swap, body)
	return g, true
}

// fillNote writes a note for the recipient where the golden left its place empty.
func fillNote(t *testing.T, s Swap, body string) []byte {
	t.Helper()
	if !strings.Contains(body, "(note)") {
		return []byte(body)
	}
	address, err := railgun.ParseAddress(s.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	note, err := railgun.NewNote(address)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.Replace(body, "(note)", hex.EncodeToString(note.Recipient()), 1))
}

func read(t *testing.T, version, name string) golden {
	t.Helper()
	g, ok := readGolden(t, goldens+version+"/"+name+".http")
	if !ok {
		t.Fatalf("%s is not a quote", name)
	}
	return g
}

// quote decodes an answer as a gateway's client does.
func quote(t *testing.T, version string, body []byte) *Quote {
	t.Helper()
	q := &Quote{Version: version, Raw: body}
	if err := json.Unmarshal(body, q); err != nil {
		t.Fatal(err)
	}
	return q
}

// knowledge is that of somebody with the viewing keys of all recipients in the goldens.
func knowledge(t *testing.T, s Swap) Knowledge {
	t.Helper()
	k := Knowledge{Deployment: chain.Reference()}
	data, err := os.ReadFile(goldens + "v3/routers.http")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data[strings.Index(string(data), "{"):], &k.Listing); err != nil {
		t.Fatal(err)
	}
	if !s.Dst.Private() {
		return k
	}
	var vectors struct {
		Valid []struct{ Address, ViewingKey string }
	}
	data, err = os.ReadFile(goldens + "railgun/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Valid {
		if v.Address == s.Recipient {
			key := [32]byte(common.FromHex(v.ViewingKey))
			k.ViewingKey = &key
		}
	}
	if k.ViewingKey == nil {
		t.Fatalf("nobody has the viewing key of %s", s.Recipient)
	}
	return k
}

// TestEveryGoldenPasses checks every quote that the gateway is known to give, of every version that is there.
func TestEveryGoldenPasses(t *testing.T) {
	checked := map[string]int{}
	for _, version := range []string{"v3", "v3legacy", "v1"} {
		files, err := filepath.Glob(goldens + version + "/*.http")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			g, ok := readGolden(t, path)
			if !ok || g.swap.Recipient == "" || g.swap.Recipient == (common.Address{}).Hex() {
				continue // v1 quotes without a recipient; they must not be signed
			}
			checked[version]++
			q := &Quote{Version: version}
			if err := decodeExactly(g.body, q); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			q.Asked = q.Details != nil
			if _, err := Check(g.swap, q, knowledge(t, g.swap)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if checked["v3"] < 86 {
		t.Errorf("only %d quotes of v3 were checked, fewer than there are pairs", checked["v3"])
	}
}
