package quote_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// choices are the values of each part of a request, in the order in which Difference compares them.
var choices = []struct {
	role  fault.Role
	texts []string
	set   func(*quote.Request, string)
}{
	{fault.SourceChain, []string{"1", "369"}, func(r *quote.Request, text string) { r.SrcChain, _ = chain.ParseID(text) }},
	{fault.DestinationChain, []string{"1", "69696969"}, func(r *quote.Request, text string) { r.DstChain, _ = chain.ParseID(text) }},
	{fault.SourceToken, []string{"USDC", "usdc"}, func(r *quote.Request, text string) { r.SrcToken = text }},
	{fault.DestinationToken, []string{"USDC", "WETH"}, func(r *quote.Request, text string) { r.DstToken = text }},
	{fault.Amount, []string{"0", "1", "36893488147419103232"}, func(r *quote.Request, text string) { r.Amount = *uint256.MustFromDecimal(text) }},
	{fault.Recipient, []string{
		"0x0000000000000000000000000000000000000000", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", private,
		"0zk1qyj8na7wudfj5ucl7g79plpksknvsdtg5ftcl4trcgz25lm3revx8rv7j6fe3z53laj3kx8qshdw4vyhlc2yjmgzdvgk7w067de60vsl3jcjz8rg85zrxm4cja6",
	}, func(r *quote.Request, text string) { r.Recipient, _ = quote.AnyRecipient.Parse(text) }},
	{fault.Integrator, []string{"", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, func(r *quote.Request, text string) { r.Integrator, _ = calldata.ParseIntegratorID(text) }},
}

// TestDifference: two requests are for the same quote if all parts are equal; otherwise they differ in the first part
// that is not, in either direction.
func TestDifference(t *testing.T) {
	const details = 4 // Caller, Details, From and Simulate change nothing about the quote itself
	if fields := reflect.TypeFor[quote.Request]().NumField(); fields != len(choices)+details {
		t.Fatalf("a request has %d fields, and %d are compared here", fields, len(choices))
	}
	// request reads its parts anew, so that no two requests share a pointer.
	request := func(texts []string) *quote.Request {
		var r quote.Request
		for i, part := range choices {
			part.set(&r, texts[i])
		}
		return &r
	}
	var base, changed []string
	for _, part := range choices {
		base = append(base, part.texts[0])
		changed = append(changed, part.texts[1])
	}
	for i, part := range choices {
		for _, one := range part.texts {
			for _, other := range part.texts {
				want := part.role
				if one == other {
					want = 0
				}
				alone := slices.Concat(base[:i], []string{other}, base[i+1:])
				withLater := slices.Concat(base[:i], []string{other}, changed[i+1:])
				a := request(slices.Concat(base[:i], []string{one}, base[i+1:]))
				if got := a.Difference(request(alone)); got != want {
					t.Errorf("%q and %q: got role %d, want %d", one, other, got, want)
				}
				if got := a.Difference(request(withLater)); want != 0 && got != want {
					t.Errorf("%q and %q, and more: got role %d, want %d", one, other, got, want)
				}
			}
		}
	}
}
