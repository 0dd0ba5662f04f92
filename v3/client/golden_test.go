package client

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client/internal/known"
)

const goldens = "../../testdata/"

// A golden is an exchange that the gateway's own tests hold it to.
type golden struct {
	request Request
	body    []byte
}

// readGolden reads an exchange, and tells whether it is about a quote that was given.
func readGolden(t *testing.T, path string) (golden, bool) {
	t.Helper()
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
		return golden{}, false
	}
	g := golden{request: requestOf(t, query)}
	g.body = fillNote(t, g.request.Recipient, body)
	return g, true
}

func requestOf(t *testing.T, query url.Values) Request {
	t.Helper()
	number := func(name string) uint64 {
		n, err := strconv.ParseUint(query.Get(name), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	amount, ok := new(big.Int).SetString(query.Get("amount"), 10)
	if !ok {
		t.Fatalf("%q is no amount", query.Get("amount"))
	}
	return Request{
		SrcChain: number("srcChain"), SrcToken: query.Get("srcToken"), DstChain: number("dstChain"), DstToken: query.Get("dstToken"),
		Amount: amount, Recipient: query.Get("recipient"), Integrator: common.HexToAddress(query.Get("integratorId")),
		From: common.HexToAddress(query.Get("from")), Simulate: strings.Contains(query.Get("include"), "simulation"),
	}
}

// fillNote writes a note for the recipient where the golden left its place empty.
func fillNote(t *testing.T, recipient, body string) []byte {
	t.Helper()
	if !strings.Contains(body, "(note)") {
		return []byte(body)
	}
	address, err := railgun.ParseAddress(recipient)
	if err != nil {
		t.Fatal(err)
	}
	note, err := railgun.NewNote(address)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(body, "(note)", hex.EncodeToString(note.Recipient())))
}

func read(t *testing.T, name string) golden {
	t.Helper()
	g, ok := readGolden(t, goldens+"v3/"+name+".http")
	if !ok {
		t.Fatalf("%s is not a quote", name)
	}
	return g
}

// bodyOf is the body of a golden answer.
func bodyOf(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(goldens + "v3/" + name + ".http")
	if err != nil {
		t.Fatal(err)
	}
	return data[strings.Index(string(data), "\n{"):]
}

// listed is what somebody knows who has the gateway's listing.
func listed(t *testing.T) Known {
	t.Helper()
	l, err := ParseListing(bodyOf(t, "pairs"))
	if err != nil {
		t.Fatal(err)
	}
	return Known{Listing: l}
}

// pinned is what somebody knows who has the routers too.
func pinned(t *testing.T) Known {
	t.Helper()
	k := listed(t)
	var err error
	if k.Routers, err = ParseRouters(bodyOf(t, "routers")); err != nil {
		t.Fatal(err)
	}
	return k
}

func checkedQuote(t *testing.T, name string) *Checked {
	t.Helper()
	g := read(t, name)
	checked, err := Verify(g.request, g.body, listed(t))
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

func wantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want it to say %q", err, words)
	}
}

// wantCode wants an error as callers get hold of it.
func wantCode(t *testing.T, err error, code string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want the code %s", err, code)
	}
	return e
}

// TestEveryGolden reads every answer that the gateway is known to give into its type and writes it again, so that no
// field is missing. Quotes and statuses are checked too.
func TestEveryGolden(t *testing.T) {
	files, err := filepath.Glob(goldens + "v3/*.http")
	if err != nil {
		t.Fatal(err)
	}
	known := []Known{listed(t), pinned(t)}
	read := map[string]int{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		request, answer, _ := strings.Cut(string(data), "\n\n")
		into := typeOf(request, answer)
		at := strings.Index(answer, "\n{")
		if into == nil || at < 0 {
			continue
		}
		body := []byte(answer[at:])
		if err := decodeBody(body, into); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		read[fmt.Sprintf("%T", into)]++
		want := decode(t, body)
		leaveOutNull(want)
		if got := marshal(t, into); !reflect.DeepEqual(decode(t, got), decode(t, marshal(t, want))) {
			t.Errorf("%s: got %s, want %s", path, got, marshal(t, want))
		}
		switch into := into.(type) {
		case *Quote:
			g, _ := readGolden(t, path)
			for _, k := range known {
				if q, err := Verify(g.request, g.body, k); err != nil || len(q.Calls)+len(q.Wrap) == 0 {
					t.Errorf("%s: %v", path, err)
				}
			}
		case *Status:
			sent := Sent{SrcChain: mustNumber(t, into.SrcChain), Hash: common.HexToHash(string(into.TxHash))}
			if network, _ := sent.network(); network != sent.SrcChain {
				continue // it repeats the routing ID, which this client never asks for
			}
			if problems := into.check(sent); problems != nil {
				t.Errorf("%s: %v", path, problems)
			}
		}
	}
	if len(read) != 5 || read["*client.Quote"] < 40 || read["*client.Status"] < 10 {
		t.Errorf("read %v, want all five kinds, forty quotes and ten statuses", read)
	}
}

// typeOf is what an answer is read into; nil for another answer.
func typeOf(request, answer string) any {
	isOK := strings.HasPrefix(answer, "200")
	switch {
	case strings.HasPrefix(answer, "4") || strings.HasPrefix(answer, "5"):
		return &errorBody{}
	case isOK && strings.Contains(request, "/v3/swap/quote"):
		return &Quote{}
	case isOK && strings.Contains(request, "/v3/swap/status"):
		return &Status{}
	case isOK && strings.Contains(request, "/v3/app/pairs"):
		return &Listing{}
	case isOK && strings.Contains(request, "/v3/app/routers"):
		return &Routers{}
	}
	return nil
}

// TestKnownTokens compares what is known here with the gateway's own tables: the same tokens, and no other.
func TestKnownTokens(t *testing.T) {
	all := map[known.Token]bool{}
	for _, id := range chain.IDs() {
		if got := known.Network(uint64(id)); got != uint64(id.Network()) {
			t.Errorf("chain %s is on %d", id, got)
		}
		for _, token := range chain.Reference().Tokens(id) {
			want := known.Token{
				Chain: uint64(token.ChainID), Symbol: token.Symbol, Address: token.Address.Address, Decimals: token.Decimals,
			}
			all[want] = true
			if got := known.BySymbol(want.Chain, want.Symbol); got == nil || *got != want {
				t.Errorf("%s on chain %s: got %v", token.Symbol, id, got)
			}
		}
	}
	if len(all) != len(known.Tokens) {
		t.Errorf("%d tokens are known, and the gateway has %d", len(known.Tokens), len(all))
	}
}

// unpayable are addresses that nobody can be paid at.
func unpayable() (all []string) {
	for _, n := range chain.Networks() {
		for _, token := range append(slices.Clone(n.Tokens), n.Wrapped) {
			if token.Symbol != "" {
				all = append(all, token.Address.String())
			}
		}
		if n.CCTP != nil {
			all = append(all, n.CCTP.Messenger.String(), n.CCTP.Transmitter.String())
		}
		if n.Railgun != nil {
			all = append(all, n.Railgun.Proxy.String(), n.Railgun.RelayAdapt.String())
		}
	}
	return append(all,
		"0x000000000000000000000000000000000000FFff", "0x000000000000000000000000000000000000dEaD",
		"0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF",
		"0x4200000000000000000000000000000000000000", "0x42000000000000000000000000000000000007fF")
}

// TestUnpayable: this package says of each what the gateway says. Beside them are addresses of anybody.
func TestUnpayable(t *testing.T) {
	deployment := chain.Reference()
	for _, text := range append(unpayable(), "0x4200000000000000000000000000000000000800", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed") {
		address := common.HexToAddress(text)
		_, want := deployment.Unpayable(address, chain.AnyChain)
		if got := known.Unpayable(address); got != want {
			t.Errorf("%s: got %q, the gateway says %q", text, got, want)
		}
	}
}

// leaveOutNull removes fields that are null: null is a field left out.
func leaveOutNull(value any) {
	fields, _ := value.(map[string]any)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	for _, field := range fields {
		leaveOutNull(field)
	}
}
