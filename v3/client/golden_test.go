package client

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
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

func read(t *testing.T, version, name string) golden {
	t.Helper()
	g, ok := readGolden(t, goldens+version+"/"+name+".http")
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
	g := read(t, "v3", name)
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

// TestEveryGoldenPasses checks every quote that the gateway is known to give.
func TestEveryGoldenPasses(t *testing.T) {
	checked := 0
	known := []Known{listed(t), pinned(t)}
	files, err := filepath.Glob(goldens + "v3/*.http")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		g, ok := readGolden(t, path)
		if !ok {
			continue
		}
		checked++
		for _, k := range known {
			q, err := Verify(g.request, g.body, k)
			if err != nil {
				t.Errorf("%s: %v", path, err)
			} else if len(q.Unchecked) < 3 || len(q.Calls)+len(q.Wrap) == 0 {
				t.Errorf("%s: got %d calls, and unchecked is %q", path, len(q.Calls)+len(q.Wrap), q.Unchecked)
			}
		}
	}
	if checked < len(chain.Pairs()) {
		t.Errorf("only %d quotes were checked, fewer than there are pairs", checked)
	}
}

// TestGoldenStatuses reads every status that the gateway is known to tell.
func TestGoldenStatuses(t *testing.T) {
	files, err := filepath.Glob(goldens + "v3/status-*.http")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "\n\n200\n") {
			continue
		}
		told++
		s := &Status{}
		if err := decodeBody(data[strings.Index(string(data), "\n{"):], s); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		network, err := strconv.ParseUint(s.SrcChain, 10, 64)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if networkOf(network) != network {
			continue // it repeats the routing ID, which this client never asks for
		}
		if problems := s.check(Sent{SrcChain: network, Hash: common.HexToHash(string(s.TxHash))}); problems != nil {
			t.Errorf("%s: %v", path, problems)
		}
	}
	if told < 10 {
		t.Errorf("only %d statuses", told)
	}
}

// TestTypesAreWhole reads every answer of v3 into its type and writes it again: no field of a golden may be missing.
func TestTypesAreWhole(t *testing.T) {
	files, err := filepath.Glob(goldens + "v3/*.http")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		request, answer, _ := strings.Cut(string(data), "\n\n")
		at := strings.Index(answer, "\n{")
		if at < 0 {
			continue
		}
		var into any
		switch ok := strings.HasPrefix(answer, "200"); {
		case strings.HasPrefix(answer, "4") || strings.HasPrefix(answer, "5"):
			into = &errorBody{}
		case ok && strings.Contains(request, "/v3/swap/quote"):
			into = &Quote{}
		case ok && strings.Contains(request, "/v3/swap/status"):
			into = &Status{}
		case ok && strings.Contains(request, "/v3/app/pairs"):
			into = &Listing{}
		case ok && strings.Contains(request, "/v3/app/routers"):
			into = &Routers{}
		default:
			continue
		}
		body := []byte(answer[at:])
		if err := decodeExactly(body, into); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		read[fmt.Sprintf("%T", into)]++
		var want any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if details, _ := want.(map[string]any)["details"].(map[string]any); details != nil {
			maps.DeleteFunc(details, func(_ string, value any) bool { return value == nil }) // null is a field left out
		}
		if got := decode(t, marshal(t, into)); !reflect.DeepEqual(got, decode(t, marshal(t, want))) {
			t.Errorf("%s: got %s, want %s", path, marshal(t, into), marshal(t, want))
		}
	}
	if len(read) != 5 {
		t.Errorf("read %v, want all five kinds", read)
	}
}

// TestKnownTokens compares what is known here with the gateway's own tables: the same tokens, and no other.
func TestKnownTokens(t *testing.T) {
	want := map[string]bool{}
	for _, id := range chain.IDs() {
		for _, token := range chain.Tokens(id) {
			known := knownToken{uint64(token.ChainID), token.Symbol, token.Address.Address, token.Decimals}
			text, _ := json.Marshal([]any{known.chain, known.symbol, known.address, known.decimals})
			want[string(text)] = true
			if by := knownBySymbol(known.chain, known.symbol); by == nil || *by != known {
				t.Errorf("%s on chain %s: got %v", token.Symbol, id, by)
			}
			if by := knownByAddress(known.chain, known.address); by == nil || *by != known {
				t.Errorf("%s on chain %s: got %v by its address", token.Symbol, id, by)
			}
		}
	}
	if len(want) != len(knownTokens) {
		t.Errorf("%d tokens are known, and the gateway has %d", len(knownTokens), len(want))
	}
	for _, id := range chain.IDs() {
		if got := networkOf(uint64(id)); got != uint64(id.Network()) {
			t.Errorf("chain %s is on %d", id, got)
		}
	}
}

// gone tells whether a version was deleted with its goldens.
func gone(version string) bool {
	_, err := os.Stat(goldens + version)
	return errors.Is(err, fs.ErrNotExist)
}
