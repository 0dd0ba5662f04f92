package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"unicode"
	"unicode/utf16"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// plain prints what a terminal would obey, or what reorders text, as the escape that JSON has for it. A gateway's texts
// are anybody's.
type plain struct{ io.Writer }

func (p plain) Write(text []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(text) {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	if _, err := io.WriteString(p.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// say tells of what goes on, beside the answer.
func (o *options) say(format string, args ...any) { fmt.Fprintf(o.stderr, format+"\n", args...) }

func (o *options) sayIndented(what string) { o.say("  %s", what) }

// name is what people and machines call a chain.
func name(id chain.ID) string { return fmt.Sprintf("%s (%s)", id.Name(), id) }

//go:embed quote.txt
var quoteText string

// quoteTemplate prints a quote for a person.
var quoteTemplate = template.Must(template.New("quote").Funcs(template.FuncMap{
	"money":        swap.Money,
	"coins":        swap.FormatCoins,
	"name":         name,
	"given":        func(address common.Address) bool { return address != common.Address{} },
	"shieldNotice": func() string { return swap.ShieldNotice },
}).Parse(quoteText))

func (o *options) show(q *swap.Checked) error {
	return quoteTemplate.Execute(o.stdout, struct {
		*swap.Checked
		Deployment string
	}{q, o.deployment.Name})
}

// showStatus prints what a gateway says of a transaction.
func showStatus(w io.Writer, s *client.Status) {
	fmt.Fprintln(w, s)
	if n := len(s.Swaps); n > 1 {
		fmt.Fprintf(w, "  The transaction has %d swaps: this is the state of the one that is least far. "+
			"-json shows all; the first is:\n", n)
	}
	if s.Swap == nil {
		return
	}
	dst, _ := chain.ParseID(s.Swap.DstChain)
	token, err := chain.FindToken(dst, s.Swap.DstToken)
	if err != nil { // no such chain, or no such token
		return
	}
	what := token.Symbol
	if s.Settlement != nil {
		if amount := s.Settlement.Amount.Int(); amount != nil {
			what = swap.Money(amount, *token)
		}
	}
	// It can be copied; what is not an address has no line breaks.
	recipient := strings.Trim(fmt.Sprintf("%.100q", s.Swap.Recipient), `"`)
	fmt.Fprintf(w, "  %s on %s for %s\n", what, name(dst), recipient)
}

// tellPairs prints all that the gateway can swap.
func (o *options) tellPairs(ctx context.Context) (any, error) {
	listing, err := o.gateway.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	if o.json {
		return listing, nil
	}
	chains := map[uint64]string{}
	for _, c := range listing.Chains {
		chains[c.ChainID] = c.Name
	}
	w := tabwriter.NewWriter(o.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tCHAIN\tTO\tCHAIN\tFEE\tMIN\tMAX")
	for _, row := range listing.Pairs {
		p, err := listing.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			return nil, err
		}
		least := client.FormatAmount(p.Min, p.SrcToken.Decimals)
		most := client.FormatAmount(p.Max, p.SrcToken.Decimals)
		fmt.Fprintf(w, "%s@%d\t%s\t%s@%d\t%s\t%s %%\t%s\t%s\n", row.SrcToken, row.SrcChain, chains[row.SrcChain],
			row.DstToken, row.DstChain, chains[row.DstChain], row.ProtocolFee, least, most)
	}
	return nil, w.Flush()
}
