package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/quotegate/quotegate/v3/client"
)

// onlyFlags refuses all flags but those that are named.
func onlyFlags(flags *flag.FlagSet, rule string, names ...string) (err error) {
	flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(names, f.Name) {
			err = errors.Join(err, fmt.Errorf("%s, and not -%s", rule, f.Name))
		}
	})
	return err
}

// tellPairs prints all that the gateway can swap.
func tellPairs(ctx context.Context, o *options, stdout, _ io.Writer) error {
	listing, err := o.gateway.Pairs(ctx)
	if err != nil {
		return err
	}
	if o.json {
		return o.print(stdout, listing)
	}
	chains := map[uint64]string{}
	for _, c := range listing.Chains {
		chains[c.ChainID] = c.Name
	}
	rows := slices.Clone(listing.Pairs)
	slices.SortStableFunc(rows, func(a, b client.ListedPair) int {
		return cmp.Or(cmp.Compare(a.SrcChain, b.SrcChain), cmp.Compare(a.SrcToken, b.SrcToken))
	})
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tCHAIN\tTO\tCHAIN\tFEE\tMIN\tMAX")
	for _, row := range rows {
		p, err := listing.Find(row.SrcChain, row.SrcToken, row.DstChain, row.DstToken)
		if err != nil {
			return err
		}
		least := client.FormatAmount(p.Min, p.SrcToken.Decimals)
		most := client.FormatAmount(p.Max, p.SrcToken.Decimals)
		fmt.Fprintf(w, "%s@%d\t%s\t%s@%d\t%s\t%s %%\t%s\t%s\n", row.SrcToken, row.SrcChain, chains[row.SrcChain],
			row.DstToken, row.DstChain, chains[row.DstChain], row.ProtocolFee, least, most)
	}
	return w.Flush()
}
