package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
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

// show prints a quote for a person.
func (o *options) show(q *swap.Checked) {
	s := q.Swap
	fmt.Fprintf(o.stdout, "%s on %s to %s on %s\n\n",
		swap.Money(s.Amount, s.SrcToken), name(s.Src), s.DstToken.Symbol, name(s.Dst))
	showAmounts(o.stdout, q)
	fmt.Fprintln(o.stdout)
	showCalls(o.stdout, q)
	fmt.Fprintf(o.stdout, "\nChecked: the contract is that of deployment %q; calldata, approval, value, limits, "+
		"fees and amounts are as worked out here.\n", o.deployment.Name)
	if s.Dst.Private() && !q.OwnNote {
		fmt.Fprintln(o.stdout, "Opened with the viewing key: the note. The recipient can spend it.")
	}
	showUnchecked(o.stdout, q)
	if s.Sender != (common.Address{}) {
		showSimulation(o.stdout, s, q.Quote.Details)
	}
	if s.Src.Private() {
		fmt.Fprintln(o.stdout, "\nA RAILGUN wallet must wrap this in its private transaction. "+
			"Sent from a public account, it is an ordinary swap at another fee and without privacy:")
		for _, call := range q.Wrap {
			fmt.Fprintf(o.stdout, "  to     %s\n  data   0x%x\n  value  %s\n", call.To, call.Data, call.Value)
		}
	}
}

// showLine prints a line with a word in front.
func showLine(w io.Writer, what, format string, args ...any) {
	fmt.Fprintf(w, "  %-15s %s\n", what, fmt.Sprintf(format, args...))
}

// showAmounts says what arrives, and who takes what.
func showAmounts(w io.Writer, q *swap.Checked) {
	s := q.Swap
	if s.Src.Private() {
		unshield := q.Quote.Details.Arrival.UnshieldAmount.Int()
		showLine(w, "unshield", "%s, of which RAILGUN's fee leaves %s to swap",
			swap.Money(unshield, s.SrcToken), swap.Money(s.Amount, s.SrcToken))
	}
	if s.Dst.Private() {
		showLine(w, "arrives", "%s in the pool, which is %s less RAILGUN's fee, for %s",
			swap.Money(q.Arrives, s.DstToken), swap.Money(q.Dest, s.DstToken), s.Recipient)
		showLine(w, "", swap.ShieldNotice)
	} else {
		showLine(w, "arrives", "%s, for %s", swap.Money(q.Arrives, s.DstToken), s.Recipient)
	}
	showLine(w, "protocol fee", "%s", swap.Money(q.Protocol, s.DstToken))
	if s.Integrator != (common.Address{}) {
		showLine(w, "integrator fee", "%s, for %s", swap.Money(q.Integrator, s.DstToken), s.Integrator)
	}
	if q.MaxFee != nil {
		showLine(w, "issuer's fee", "up to %s, which the service pays", swap.Money(q.MaxFee, s.SrcToken))
	}
}

// showCalls says what is to be signed.
func showCalls(w io.Writer, q *swap.Checked) {
	s := q.Swap
	if q.Approval != nil {
		showLine(w, "approve", "%s for %s, unless it is allowed already", swap.Money(s.Amount, s.SrcToken), q.Main.To)
	}
	what := "a pool's swap"
	if s.Route == chain.CCTPInbound {
		what = "the issuer's burn"
	}
	value := "no value"
	if q.Main.Value.Sign() > 0 {
		value = swap.Money(q.Main.Value, s.SrcToken)
	}
	showLine(w, "send", "%s, %d bytes, to %s with %s", what, len(q.Main.Data), q.Main.To, value)
}

func showUnchecked(w io.Writer, q *swap.Checked) {
	for _, what := range q.Unchecked {
		fmt.Fprintf(w, "Not checked: %s.\n", what)
	}
}

// showSimulation prints what the gateway says that the transactions would do.
func showSimulation(w io.Writer, s swap.Swap, d *client.Details) {
	if d.Simulation == nil {
		fmt.Fprintf(w, "\nNot simulated: %s.\n", d.SimulationReason)
		return
	}
	fmt.Fprintf(w, "\nThe gateway has tried the transactions of %s on the state of block %d:\n",
		s.Sender, d.Simulation.BlockNumber)
	for i, call := range d.Simulation.Calls {
		result := call.Status
		if call.Error != "" {
			result += ": " + call.Error
		}
		fmt.Fprintf(w, "  %d. %s, %d gas\n", i+1, result, call.GasUsed)
	}
	has, needs := d.Simulation.Native.Actual.Int(), d.Simulation.Native.Needed.Int()
	if has != nil && needs != nil {
		fmt.Fprintf(w, "  Value and gas: %s; the account has %s.\n",
			swap.FormatCoins(needs, s.Src), swap.FormatCoins(has, s.Src))
	}
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
	dst, err := chain.ParseID(s.Swap.DstChain)
	if err != nil {
		return
	}
	token, err := chain.FindToken(dst, s.Swap.DstToken)
	if err != nil {
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
