package quote_test

import (
	"reflect"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
)

// choices are what a request can say in each of its parts, in the order in
// which Same compares them. They are few, so that two requests often agree.
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
	{fault.Integrator, []string{"", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}, func(r *quote.Request, text string) { r.Integrator, _ = integrator.ParseID(text) }},
}

// said is what a request says, part by part.
type said [7]string

// request reads the parts anew, so that no two requests share a pointer.
func (s said) request() *quote.Request {
	var r quote.Request
	for i, part := range choices {
		part.set(&r, s[i])
	}
	return &r
}

// TestSame: two requests are the same if they say the same in every part, else
// they differ in the first part where they do not, whichever of them is asked.
func TestSame(t *testing.T) {
	const details = 3 // Details, From and Simulate change nothing about the quote itself
	if fields := reflect.TypeFor[quote.Request]().NumField(); fields != len(choices)+details {
		t.Fatalf("a request has %d fields, and %d are compared here", fields, len(choices))
	}
	check := func(t *rapid.T, a, b said) {
		var want fault.Role
		for i := len(choices) - 1; i >= 0; i-- {
			if a[i] != b[i] {
				want = choices[i].role
			}
		}
		for _, pair := range [][2]said{{a, b}, {b, a}} {
			if same, differs := pair[0].request().Same(pair[1].request()); same != (want == 0) || differs != want {
				t.Fatalf("got %t and role %d, want role %d:\n%q\n%q", same, differs, want, pair[0], pair[1])
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var a, b said
		for i, part := range choices {
			a[i] = rapid.SampledFrom(part.texts).Draw(t, "a")
			b[i] = rapid.SampledFrom(part.texts).Draw(t, "b")
		}
		check(t, a, a)
		check(t, a, b)
		for i := range choices { // they differ in one part alone, or in none
			c := a
			c[i] = b[i]
			check(t, a, c)
		}
	})
}
