package client

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	calldata "github.com/quotegate/quotegate/v3/client/internal/call"
)

// An alteration changes one thing in a quote or in the router listing. verify.js has to refuse the same ones: see
// testdata/verify/run.mjs, which does the same edits.
type alteration struct {
	Name, Of, Base string
	Edit           edit
	Says           []string // all problems, in both languages
	Go             string   // or what this client's refusal must say, of an answer that has another form
}

// check wants the refusal that the table has.
func (a alteration) check(t *testing.T, err error) {
	t.Helper()
	e := wantCode(t, err, Unverified)
	if a.Says != nil && !slices.Equal(e.Problems, a.Says) {
		t.Errorf("%s: got %q, want %q", a.Name, e.Problems, a.Says)
	}
	if (a.Says == nil) == (a.Go == "") || !strings.Contains(err.Error(), a.Go) {
		t.Errorf("%s: got %v, want it to say %q or %q", a.Name, err, a.Go, a.Says)
	}
}

// An edit changes the value at a path such as data.2.router. Only one of the ways to change it is given.
type edit struct {
	Path    string
	Set     json.RawMessage
	Add     string // to the end of a text
	Copy    string // the path of a value to put there
	Drop    bool
	At      int    // the first byte of a text in hexadecimal that is overwritten
	Bytes   string // with these
	Replace string // without a path, every such text in the whole answer
	With    string
}

// dropped is a value that is taken out.
type dropped struct{}

// change replaces the value at a path of a decoded JSON value by what do makes of it. A list may grow by one.
func change(node any, path []string, do func(old any) any) any {
	if len(path) == 0 {
		return do(node)
	}
	switch node := node.(type) {
	case map[string]any:
		node[path[0]] = change(node[path[0]], path[1:], do)
		if node[path[0]] == any(dropped{}) {
			delete(node, path[0])
		}
		return node
	case []any:
		i := rowOf(node, path[0])
		if path[0] == "^" {
			node = slices.Insert(node, 0, any(nil))
		}
		if i == len(node) {
			node = append(node, nil)
		}
		if node[i] = change(node[i], path[1:], do); node[i] == any(dropped{}) {
			node = slices.Delete(node, i, i+1)
		}
		return node
	}
	panic(path[0] + " is in nothing")
}

// rowOf is the place in a list that a part of a path names: a number, + for a new row at the end, ^ for one before all
// others, or the values of the first row that has them, such as chainId=1,symbol=USDC.
func rowOf(list []any, part string) int {
	switch part {
	case "+":
		return len(list)
	case "^":
		return 0
	}
	if i, err := strconv.Atoi(part); err == nil && i <= len(list) {
		return i
	}
	for i, row := range list {
		if slices.IndexFunc(strings.Split(part, ","), func(field string) bool {
			name, value, _ := strings.Cut(field, "=")
			fields, _ := row.(map[string]any)
			return fmt.Sprint(fields[name]) != value
		}) < 0 {
			return i
		}
	}
	panic(part + " is not in the list")
}

// apply does an edit to a JSON text.
func (e edit) apply(t *testing.T, body []byte) []byte {
	t.Helper()
	if e.Path == "" {
		return []byte(strings.ReplaceAll(string(body), e.Replace, e.With))
	}
	root := decode(t, body)
	var copied any
	if e.Copy != "" {
		change(root, strings.Split(e.Copy, "."), func(value any) any { copied = value; return value })
	}
	root = change(root, strings.Split(e.Path, "."), func(old any) any {
		switch {
		case e.Drop:
			return dropped{}
		case e.Copy != "":
			return copied
		case e.Add != "":
			return old.(string) + e.Add
		case e.Bytes != "":
			text, at := old.(string), 2+2*e.At
			return text[:at] + e.Bytes + text[at+len(e.Bytes):]
		}
		return e.Set
	})
	body, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func readTable(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(goldens + "verify/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestMeanings wants a case of every meaning, so that both languages are held to all of them.
func TestMeanings(t *testing.T) {
	var alterations []alteration
	var details struct{ Alterations []alteration }
	readTable(t, "alterations.json", &alterations)
	readTable(t, "details.json", &details)
	var said []string
	for _, a := range append(alterations, details.Alterations...) {
		said = append(said, a.Says...)
	}
	for i, m := range meanings {
		whose := "expected"
		if i < fromRequest {
			whose = "yours"
		}
		if !slices.ContainsFunc(said, func(problem string) bool {
			_, path, _ := strings.Cut(strings.TrimSuffix(problem, ")"), " (")
			return strings.HasPrefix(problem, m.sentence+". Quote: ") && strings.Contains(problem, " · "+whose+": ") &&
				difference{path: path}.meaning() == i
		}) {
			t.Errorf("no case of %q (%s)", m.sentence, m.path)
		}
	}
}

// TestAlterations wants every alteration to be refused, and the refusal to say what is wrong.
func TestAlterations(t *testing.T) {
	var alterations []alteration
	readTable(t, "alterations.json", &alterations)
	if len(alterations) < 20 {
		t.Errorf("only %d alterations", len(alterations))
	}
	for _, a := range alterations {
		g := read(t, a.Base)
		k := pinned(t)
		if a.Of == "listing" {
			k.Routers = &Routers{}
			if err := json.Unmarshal(a.Edit.apply(t, bodyOf(t, "routers")), k.Routers); err != nil {
				t.Fatal(err)
			}
		} else {
			g.body = a.Edit.apply(t, g.body)
		}
		_, err := Verify(g.request, g.body, k)
		a.check(t, err)
	}
}

// TestAlteredDetails wants the true details to pass, and every altered one to be refused.
func TestAlteredDetails(t *testing.T) {
	var table struct {
		Quotes []struct {
			Name, Golden, From string
			Details            json.RawMessage
		}
		Alterations []alteration
	}
	readTable(t, "details.json", &table)
	quotes := map[string]golden{}
	known := listed(t)
	for _, q := range table.Quotes {
		g := read(t, q.Golden)
		g.request.From = common.HexToAddress(q.From)
		g.request.Simulate = strings.Contains(string(q.Details), `"simulation"`)
		raw := strings.TrimSuffix(strings.TrimSpace(string(bodyOf(t, q.Golden))), "}")
		g.body = fillNote(t, g.request.Recipient, raw+`,"details":`+string(q.Details)+"}")
		if _, err := Verify(g.request, g.body, known); err != nil {
			t.Errorf("%s: the truth is refused: %v", q.Name, err)
		}
		quotes[q.Name] = g
	}
	for _, a := range table.Alterations {
		g := quotes[a.Base]
		_, err := Verify(g.request, a.Edit.apply(t, g.body), known)
		if a.Name != "details are null" { // which Quote refuses
			a.check(t, err)
		}
	}
	if len(table.Alterations) < 50 {
		t.Errorf("only %d alterations", len(table.Alterations))
	}
}

// TestAlteredListings holds the client to the table of altered listings, which every language has to pass.
func TestAlteredListings(t *testing.T) {
	var table struct {
		Cases []struct {
			Name, Of, Base, Want, Go string
			Listing, Quote           []edit
			Ask                      map[string]string
		}
	}
	readTable(t, "listings.json", &table)
	if len(table.Cases) < 90 {
		t.Errorf("only %d cases", len(table.Cases))
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) {
			g := read(t, c.Base)
			truth, err := Verify(g.request, g.body, listed(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range c.Quote {
				g.body = e.apply(t, g.body)
			}
			for name, value := range c.Ask {
				ask(t, &g.request, name, value)
			}
			listing := bodyOf(t, c.Of)
			for _, e := range c.Listing {
				listing = e.apply(t, listing)
			}
			k := listed(t)
			if c.Of == "routers" {
				k.Routers, err = ParseRouters(listing)
			} else {
				k.Listing, err = ParseListing(listing)
			}
			var q *Checked
			if err == nil {
				q, err = Verify(g.request, g.body, k)
			}
			switch c.Want {
			case "refused":
				wantCode(t, err, Unverified)
				wantError(t, err, c.Go)
			case "harmless":
				if err != nil || !reflect.DeepEqual(q.Calls, truth.Calls) {
					t.Errorf("got %v, want the same calls", err)
				}
			default:
				t.Errorf("the table wants %q", c.Want)
			}
			// Read without the checks of ParseListing, as somebody does who builds one, the listing is refused all the same.
			if c.Of == "pairs" {
				byHand := &Listing{}
				if json.Unmarshal(listing, byHand) != nil {
					return
				}
				_, err = Verify(g.request, g.body, Known{Listing: byHand})
				if c.Want == "refused" && !strings.Contains(c.Name, "twice") {
					wantCode(t, err, Unverified)
				}
			}
		})
	}
}

func ask(t *testing.T, r *Request, name, value string) {
	t.Helper()
	switch name {
	case "srcToken":
		r.SrcToken = value
	case "dstToken":
		r.DstToken = value
	case "recipient":
		r.Recipient = value
	default:
		t.Fatalf("the table asks for another %s", name)
	}
}

// TestUnchecked wants what nobody can check to be named, and nothing that was checked.
func TestUnchecked(t *testing.T) {
	always := []string{"enforce no minimum", "enforce no deadline", "give no refund"}
	for name, want := range map[string][]string{
		"direct":               nil,
		"native":               nil,
		"details-burn":         {"the issuer's fee: at most maxFee", "issuer's percentage of 0.014 and its origin"},
		"details-partner":      {"the integrator's fee of", "the registry"},
		"details-burn-partner": {"the issuer's fee: at most maxFee", "issuer's percentage", "the integrator's fee of", "the registry"},
		"details-shield":       {"whom the note in the answer pays", "RAILGUN's own fee"},
		"details-unshield":     {"RAILGUN's own fee", "that a RAILGUN wallet wraps it"},
		"simulation":           {"holds and allows", "the simulation"},
		"from-native":          {"holds and allows"},
	} {
		q := checkedQuote(t, name)
		got := strings.Join(q.Unchecked, "\n")
		if q.Quote.Details != nil {
			want = append(want, "how long it takes: 13 seconds")
		}
		for _, words := range append(slices.Clone(always), want...) {
			if !strings.Contains(got, words) {
				t.Errorf("%s: %q is not among\n%s", name, words, got)
			}
		}
		if len(q.Unchecked) != len(always)+len(want) {
			t.Errorf("%s: got %d, want %d:\n%s", name, len(q.Unchecked), len(always)+len(want), got)
		}
	}
}

// TestCalls wants the calls that are needed at an allowance, and all that may be needed if it is not known.
func TestCalls(t *testing.T) {
	amount := read(t, "direct").request.Amount
	less := new(big.Int).Sub(amount, big.NewInt(1))
	for name, test := range map[string]struct {
		golden    string
		allowance *big.Int
		approvals string // what they allow, in words
	}{
		"not known":              {"direct", nil, "amount"},
		"nothing":                {"direct", new(big.Int), "amount"},
		"too little":             {"direct", less, "amount"},
		"enough":                 {"direct", amount, ""},
		"USDT, not known":        {"direct-usdt", nil, "0 amount"},
		"USDT, nothing":          {"direct-usdt", new(big.Int), "amount"},
		"USDT, too little":       {"direct-usdt", less, "0 amount"},
		"USDT, enough":           {"direct-usdt", amount, ""},
		"USDT of another chain":  {"decimals-18-to-6", nil, "amount"},
		"the chain's own coin":   {"native", nil, ""},
		"stated, enough":         {"simulation", nil, ""},
		"stated, and read anew":  {"simulation", new(big.Int), "amount"},
		"stated, and too little": {"simulation-fails", nil, "0 amount"},
	} {
		t.Run(name, func(t *testing.T) {
			g := read(t, test.golden)
			k := listed(t)
			k.Allowance = test.allowance
			q, err := Verify(g.request, g.body, k)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, call := range q.Calls[:len(q.Calls)-1] {
				args, err := calldata.Decode(calldata.Approve, call.Data)
				if err != nil || call.To != q.Pair.SrcToken.Address || args[0] != q.Main.To || call.ChainID != q.Pair.SrcToken.ChainID {
					t.Errorf("got %+v (%v), want an approval", call, err)
					continue
				}
				got = append(got, strings.ReplaceAll(fmt.Sprint(args[1]), q.Request.Amount.String(), "amount"))
			}
			if strings.Join(got, " ") != test.approvals || !reflect.DeepEqual(q.Calls[len(q.Calls)-1], q.Main) {
				t.Errorf("got approvals of %q, want %q, and then the main call", got, test.approvals)
			}
		})
	}
	if q := checkedQuote(t, "details-unshield"); q.Calls != nil || len(q.Wrap) != 2 {
		t.Errorf("got %d calls and %d to wrap, want none of a swap out of a privacy pool to be sent", len(q.Calls), len(q.Wrap))
	}
}

// TestWithNote puts another note into the call, and changes nothing else.
func TestWithNote(t *testing.T) {
	q := checkedQuote(t, "shield")
	note := []byte(strings.Repeat("n", noteSize))
	before := fmt.Sprintf("%x", q.Main.Data)
	other, err := q.WithNote(note)
	if err != nil {
		t.Fatal(err)
	}
	if string(other.Note()) != string(note) || fmt.Sprintf("%x", q.Main.Data) != before {
		t.Errorf("got the note %x, and the first quote is now %x", other.Note(), q.Main.Data)
	}
	if got := fmt.Sprintf("%x", other.Main.Data[:noteAt]); got != before[:2*noteAt] || len(other.Main.Data) != len(q.Main.Data) {
		t.Errorf("got %s before the note", got)
	}
	if last := other.Calls[len(other.Calls)-1]; !reflect.DeepEqual(last, other.Main) || reflect.DeepEqual(q.Calls[len(q.Calls)-1], other.Main) {
		t.Error("the calls have not, or not only, the other note")
	}
	if len(other.Unchecked) != len(q.Unchecked)-1 {
		t.Errorf("got %q", other.Unchecked)
	}
	for _, wrong := range [][]byte{nil, note[1:], append(note, 0)} {
		if _, err := q.WithNote(wrong); err == nil {
			t.Errorf("a note of %d bytes is taken", len(wrong))
		}
	}
	if _, err := checkedQuote(t, "direct").WithNote(note); err == nil {
		t.Error("a public swap takes a note")
	}
}

// TestRecipients wants whoever cannot own money to be refused.
func TestRecipients(t *testing.T) {
	k := pinned(t)
	for _, test := range map[string]struct{ recipient, says string }{
		"nobody":                 {"", "is not an EVM address"},
		"a name":                 {"vitalik.eth", "is not an EVM address"},
		"in quotation marks":     {`"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"`, "is not an EVM address"},
		"mistyped":               {"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "checksum"},
		"zero":                   {"0x0000000000000000000000000000000000000000", "below 0x10000"},
		"a precompiled contract": {"0x000000000000000000000000000000000000ffff", "below 0x10000"},
		"the coin":               {Native.Hex(), "the native token placeholder"},
		"a burn address":         {"0x000000000000000000000000000000000000dEaD", "a burn address"},
		"a token of here":        {"0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "the contract of USDC on chain 1"},
		"a token of there":       {"0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d", "the contract of USD1 on chain 56"},
		"a pool":                 {k.Listing.Pairs[0].To, "the router of "},
		"the receiver":           {k.Listing.Settlement.Receiver, "the receiver of burns"},
		"a private one, elsewhere": {"0zk1qyxurtdvcjqmruwenw2m3gsa8zpmagjk7l2rr54f72rzxzzq4hqn9rv7j6fe3z53la0e0u4w4enlgfrctv75s860w8vyalll36xdq7w39djr40dhrdafqpdmhpa",
			"is not an EVM address"},
	} {
		g := read(t, "direct")
		g.request.Recipient = test.recipient
		for _, known := range []Known{k, {Listing: k.Listing}} {
			_, err := Verify(g.request, g.body, known)
			wantError(t, err, test.says)
		}
	}
	g := read(t, "shield")
	for _, recipient := range []string{"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", g.request.Recipient + "q", strings.ToUpper(g.request.Recipient[:9]) + g.request.Recipient[9:]} {
		request := g.request
		request.Recipient = recipient
		_, err := Verify(request, g.body, k)
		wantError(t, err, "must be a 0zk address")
	}
}

// TestRequests that cannot be asked are refused before anybody is.
func TestRequests(t *testing.T) {
	right := read(t, "integrator-address").request
	for name, test := range map[string]struct {
		change func(*Request)
		says   string
	}{
		"no amount":                {func(r *Request) { r.Amount = nil }, "greater than zero"},
		"nothing":                  {func(r *Request) { r.Amount = new(big.Int) }, "greater than zero"},
		"a debt":                   {func(r *Request) { r.Amount = big.NewInt(-1) }, "greater than zero"},
		"more than a word holds":   {func(r *Request) { r.Amount = new(big.Int).Lsh(big.NewInt(1), 256) }, "256 bits"},
		"a simulation of nobody's": {func(r *Request) { r.Simulate = true }, "needs the account"},
	} {
		r := right
		test.change(&r)
		_, err := r.path()
		if e := wantCode(t, err, InvalidRequest); !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: got %v, want %q", name, err, test.says)
		}
	}
	path, err := right.path()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(path)
	if err != nil || u.Path != "/v3/swap/quote" || u.Query().Get("integratorId") != right.Integrator.Hex() || u.Query().Get("include") != "details" {
		t.Errorf("got %s and %v", path, err)
	}
}
