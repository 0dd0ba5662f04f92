package wire

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
)

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.InvalidAmount, "Not a number")
	}
	return n, nil
}

const (
	wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	swap   = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369"
)

func TestQuery(t *testing.T) {
	tests := []struct {
		name, query string
		a, b        int
		code        fault.Code
		param       string
	}{
		{"both", "a=1&b=2", 1, 2, "", ""},
		{"optional left out", "a=1", 1, 0, "", ""},
		{"encoded", "a=%31&c=ignored", 1, 0, "", ""},
		{"required left out", "b=2", 0, 2, fault.MissingParameter, "a"},
		{"required empty", "a=&b=2", 0, 2, fault.MissingParameter, "a"},
		{"optional empty", "a=1&b=", 1, 0, "", ""},
		{"twice", "a=1&a=1", 0, 0, fault.InvalidParameter, "a"},
		{"twice, once empty", "a=1&a=", 0, 0, fault.InvalidParameter, "a"},
		{"twice, far apart", "a=1&b=2&c&d&e&f&g&a=1", 0, 2, fault.InvalidParameter, "a"},
		{"twice among many", "a=1&b=2&c&d&e&f&g&h&i&a=1", 0, 2, fault.InvalidParameter, "a"},
		{"others twice", "a=1&c&c&b=2", 1, 2, "", ""},
		{"others twice among many", "a=1&c&d&e&f&g&h&i&j&j&b=2", 1, 2, "", ""},
		{"refused by the parser", "a=x", 0, 0, fault.InvalidAmount, "a"},
		{"the first fault stays", "a=x&b=y", 0, 0, fault.InvalidAmount, "a"},
		{"unreadable escape", "a=%zz", 0, 0, fault.InvalidParameter, ""},
		{"semicolons", "a=1;b=2", 0, 0, fault.InvalidParameter, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := parseQuery(tt.query)
			var a, b int
			err := cmp.Or(q.Require("a"), Read(q, "a", number, &a), Read(q, "b", number, &b))
			if a != tt.a || b != tt.b {
				t.Errorf("got %d and %d, want %d and %d", a, b, tt.a, tt.b)
			}
			if tt.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := fault.From(err); e.Code != tt.code || e.Param != tt.param {
				t.Errorf("got %s on %q, want %s on %q", e.Code, e.Param, tt.code, tt.param)
			}
		})
	}
}

// TestManyParametersAreNotCompared: with each other, that would take milliseconds for one
// long URL.
func TestManyParametersAreNotCompared(t *testing.T) {
	for n, want := range map[int]bool{8: false, 9: true, 2000: true} {
		var query strings.Builder
		for i := range n {
			fmt.Fprintf(&query, "p%d=1&", i)
		}
		if q := parseQuery(query.String()); q.repeated != want || !q.Has("p7") {
			t.Errorf("%d parameters: got %t, want %t", n, q.repeated, want)
		}
	}
}

func TestHas(t *testing.T) {
	for query, want := range map[string]bool{
		"a=1": true, "b=1&a=1": true,
		"a=": false, "a": false, "b=1": false, "": false, "a=1&a=2": false, "a=%zz": false,
	} {
		if q := parseQuery(query); q.Has("a") != want {
			t.Errorf("%q has a: got %t, want %t", query, !want, want)
		}
	}
}

// TestZeroRecipient: what is sent to the zero address is lost, so only a version that
// quotes before the recipient is known accepts it.
func TestZeroRecipient(t *testing.T) {
	const zero = "0x0000000000000000000000000000000000000000"
	q := parseQuery(swap + "&recipient=" + zero)
	_, err := DecodeSwap(q, chain.ParseID)
	if e := fault.From(err); e.Reason != fault.Zero || Param(e) != "recipient" {
		t.Errorf("got %v, want the recipient refused", err)
	}
	for _, query := range []string{swap + "&recipient=" + zero, swap} {
		q = parseQuery(query)
		if req, err := DecodeSwapToAnyone(q, chain.ParseID); err != nil || !req.Recipient.Zero() {
			t.Errorf("%s: got %+v and %v, want a quote for nobody yet", query, req.Recipient, err)
		}
	}
	q = parseQuery(swap + "&recipient=" + wallet)
	if req, err := DecodeSwap(q, chain.ParseID); err != nil || req.Recipient.EVM.Hex() != wallet {
		t.Errorf("got %+v and %v, want %s", req.Recipient, err, wallet)
	}
}

// FuzzQuery compares with net/url: what one reads, the other reads alike.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a=1&b=2", "a=%31+2&b", "=&&a=;", "a=%zz", "a=1&a=2", strings.Repeat("x=1&", 40) + "a=7",
		";a=1", "%61=1", "a=1+2", "+=x&a=1+2", "b=1&&a=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q := parseQuery(query)
		got, fault := q.find("a")
		want, err := url.ParseQuery(query)
		switch given := want["a"]; {
		case err != nil || len(given) > 1:
			if fault == nil {
				t.Fatalf("%q was read as %q, net/url says %v and %v", query, got, want, err)
			}
		case fault != nil || got != want.Get("a"):
			t.Fatalf("%q: got %q and %v, net/url says %v", query, got, fault, want)
		}
	})
}

// TestIntegratorIsParsedOnce: the second call returns what the first parsed, and
// a wrong integrator does not affect other parameters.
func TestIntegratorIsParsedOnce(t *testing.T) {
	want, err := integrator.ParseID(wallet)
	if err != nil {
		t.Fatal(err)
	}
	q := parseQuery(swap + "&integratorId=" + wallet)
	for range 2 {
		if got, err := q.Integrator(); got != want || err != nil {
			t.Errorf("got %v and %v, want %v", got, err, want)
		}
		q.params = nil // what is remembered needs no parameters
	}
	for query, code := range map[string]fault.Code{
		swap + "&integratorId=0x1":                                       fault.InvalidIntegrator,
		swap + "&integratorId=" + wallet + "&integratorId=" + wallet:     fault.InvalidParameter,
		swap + "&integratorId=" + strings.Replace(wallet, "aA", "AA", 1): fault.InvalidIntegrator,
	} {
		q := parseQuery(query)
		id, first := q.Integrator()
		if e := fault.From(first); e.Code != code || Param(e) != "integratorId" || id != (integrator.ID{}) {
			t.Errorf("%s: got %v and %v, want %s", query, id, first, code)
		}
		if _, second := q.Integrator(); second != first {
			t.Errorf("%s: got %v, then %v", query, first, second)
		}
		if _, err := DecodeSwapToAnyone(q, chain.ParseID); err != nil {
			t.Errorf("%s: the swap is refused: %v", query, err)
		}
	}
	q = parseQuery(swap)
	if id, err := q.Integrator(); id != (integrator.ID{}) || err != nil {
		t.Errorf("got %v and %v for none", id, err)
	}
}

// parsed is the context of a gateway that has parsed the query.
type parsed struct {
	context.Context
	query *Query
}

func (p *parsed) Query() *Query { return p.query }

func TestQueryOf(t *testing.T) {
	r := httptest.NewRequest("GET", "/?a=1", nil)
	if got, err := QueryOf(r).find("a"); got != "1" || err != nil {
		t.Errorf("got %q and %v from the request", got, err)
	}
	front := &parsed{r.Context(), parseQuery("a=2")}
	r = r.WithContext(front)
	if QueryOf(r) != front.query {
		t.Error("the query that the context offers is not used")
	}
	if allocated := testing.AllocsPerRun(100, func() { QueryOf(r) }); allocated != 0 {
		t.Errorf("%v allocations for a query that was parsed already", allocated)
	}
}

// TestOrdinaryRequestsAllocateNothing: what is allocated for every request is
// the largest part of what it costs.
func TestOrdinaryRequestsAllocateNothing(t *testing.T) {
	raw := swap + "&recipient=" + wallet + "&recipientType=0&integratorId=" + wallet
	q := new(Query)
	allocated := testing.AllocsPerRun(100, func() {
		*q = Query{}
		q.Parse(raw)
		_, swapErr := DecodeSwap(q, chain.ParseID)
		_, integratorErr := q.Integrator()
		if err := cmp.Or(swapErr, integratorErr); err != nil {
			t.Fatal(err)
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations, want none", allocated)
	}
}

// TestRolesHaveTheNamesThatDecodersRead leaves one parameter after the other
// out, or spoils it: the parameter at fault is the name of its role.
func TestRolesHaveTheNamesThatDecodersRead(t *testing.T) {
	good := map[fault.Role]string{
		fault.SourceToken: "USDC", fault.DestinationToken: "USDC", fault.Amount: "100000000",
		fault.SourceChain: "1", fault.DestinationChain: "369", fault.Recipient: wallet, fault.Integrator: wallet,
	}
	for role := fault.SourceChain; role <= fault.Integrator; role++ {
		query := url.Values{}
		for r, value := range good {
			query.Set(Name(r), value)
		}
		query.Set(Name(role), "!")
		if role == fault.SourceToken || role == fault.DestinationToken {
			query.Del(Name(role)) // any text may be a token
		}
		q := parseQuery(query.Encode())
		_, swapErr := DecodeSwap(q, chain.ParseID)
		_, integratorErr := q.Integrator()
		e := fault.From(cmp.Or(swapErr, integratorErr))
		if e.Param == "" || e.Param != Name(role) || Param(fault.From(fault.About(role, fault.New(fault.InvalidAmount, "no")))) != e.Param {
			t.Errorf("role %d is called %q, its decoder names %q", role, Name(role), e.Param)
		}
	}
	if got := Param(fault.New(fault.UnsupportedPair, "no")); got != "" {
		t.Errorf("got %q for a fault of no parameter", got)
	}
}

// TestMissingParametersAreNamedTogether spares a client from finding them one
// by one.
func TestMissingParametersAreNamedTogether(t *testing.T) {
	for query, want := range map[string]string{
		"": "The parameters srcToken, dstToken, amount, srcChain, dstChain and recipient are missing",
		"srcToken=USDC&dstToken=USDC&amount=&srcChain=1&dstChain=369": "The parameters amount and recipient are missing",
		swap: "The parameter recipient is missing",
	} {
		q := parseQuery(query)
		_, err := DecodeSwap(q, chain.ParseID)
		if e := fault.From(err); e.Code != fault.MissingParameter || e.Message != want {
			t.Errorf("%q: got %s, want %s", query, e.Message, want)
		}
	}
}

func parseQuery(raw string) *Query {
	q := new(Query)
	q.Parse(raw)
	return q
}
