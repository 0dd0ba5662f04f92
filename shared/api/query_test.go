package api

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/version"
)

// queryOf is the query of a request for a reader that knows these parameters.
func queryOf(raw string, known []string) Query {
	r := &version.Request{Request: &http.Request{URL: &url.URL{RawQuery: raw}}}
	r.Query, r.QueryErr = version.ParseQuery(raw)
	return QueryOf(r, known)
}

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.InvalidAmount, "Not a number")
	}
	return n, nil
}

const (
	wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	usdc   = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369"
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
		{"unreadable elsewhere", "a=1&c=%", 0, 0, fault.InvalidParameter, ""},
		{"semicolons", "a=1;b=2", 0, 0, fault.InvalidParameter, ""},
		{"a plus is a space", "a=1&b=+2", 1, 0, fault.InvalidAmount, "b"},
		{"an encoded name", "%61=1&&=x&b=2", 1, 2, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := queryOf(tt.query, nil)
			a, errA := read(q, "a", number)
			b, errB := read(q, "b", number)
			err := cmp.Or(q.require("a"), errA, errB)
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

func TestHas(t *testing.T) {
	for query, want := range map[string]bool{
		"a=1": true, "b=1&a=1": true,
		"a=": false, "a": false, "b=1": false, "": false, "a=1&a=2": false, "a=%zz": false,
	} {
		if q := queryOf(query, nil); q.Has("a") != want {
			t.Errorf("%q has a: got %t, want %t", query, !want, want)
		}
	}
}

// TestZeroRecipient: what is sent to the zero address is lost, so only a version that
// quotes before the recipient is known accepts it.
func TestZeroRecipient(t *testing.T) {
	const zero = "0x0000000000000000000000000000000000000000"
	q := queryOf(usdc+"&recipient="+zero, nil)
	_, err := DecodeSwap(q, chain.ParseID)
	if e := fault.From(err); e.Reason != fault.Zero || Param(e) != "recipient" {
		t.Errorf("got %v, want the recipient refused", err)
	}
	for _, query := range []string{usdc + "&recipient=" + zero, usdc} {
		q = queryOf(query, nil)
		if req, err := DecodeSwapToAnyone(q, chain.ParseID); err != nil || !req.Recipient.Zero() {
			t.Errorf("%s: got %+v and %v, want a quote without a recipient", query, req.Recipient, err)
		}
	}
	q = queryOf(usdc+"&recipient="+wallet, nil)
	if req, err := DecodeSwap(q, chain.ParseID); err != nil || req.Recipient.EVM.Hex() != wallet {
		t.Errorf("got %+v and %v, want %s", req.Recipient, err, wallet)
	}
}

// TestIntegrator: a wrong integrator does not affect other parameters.
func TestIntegrator(t *testing.T) {
	want, err := calldata.ParseIntegratorID(wallet)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := queryOf(usdc+"&integratorId="+wallet, nil).Integrator(); got != want || err != nil {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	for query, code := range map[string]fault.Code{
		usdc + "&integratorId=0x1":                                       fault.InvalidIntegrator,
		usdc + "&integratorId=" + wallet + "&integratorId=" + wallet:     fault.InvalidParameter,
		usdc + "&integratorId=" + strings.Replace(wallet, "aA", "AA", 1): fault.InvalidIntegrator,
	} {
		q := queryOf(query, nil)
		id, err := q.Integrator()
		if e := fault.From(err); e.Code != code || Param(e) != "integratorId" || id != (calldata.IntegratorID{}) {
			t.Errorf("%s: got %v and %v, want %s", query, id, err, code)
		}
		if _, err := DecodeSwapToAnyone(q, chain.ParseID); err != nil {
			t.Errorf("%s: the swap is refused: %v", query, err)
		}
	}
	if id, err := queryOf(usdc, nil).Integrator(); id != (calldata.IntegratorID{}) || err != nil {
		t.Errorf("got %v and %v for none", id, err)
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
			query.Set(paramNames[r], value)
		}
		query.Set(paramNames[role], "!")
		if role == fault.SourceToken || role == fault.DestinationToken {
			query.Del(paramNames[role]) // any text may be a token
		}
		q := queryOf(query.Encode(), nil)
		_, swapErr := DecodeSwap(q, chain.ParseID)
		_, integratorErr := q.Integrator()
		e := fault.From(cmp.Or(swapErr, integratorErr))
		if e.Param == "" || e.Param != paramNames[role] || Param(fault.From(fault.About(role, fault.New(fault.InvalidAmount, "no")))) != e.Param {
			t.Errorf("role %d is called %q, its decoder names %q", role, paramNames[role], e.Param)
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
		usdc: "The parameter recipient is missing",
	} {
		q := queryOf(query, nil)
		_, err := DecodeSwap(q, chain.ParseID)
		if e := fault.From(err); e.Code != fault.MissingParameter || e.Message != want {
			t.Errorf("%q: got %s, want %s", query, e.Message, want)
		}
	}
}
