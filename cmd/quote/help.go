package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client/send"
)

//go:embed help
var helpTexts embed.FS

// help tells of a command, or of the gas bounds.
func (o *options) help(topics []string) error {
	topic := strings.Join(topics, " ")
	if topic == "gas" {
		printGas(o.stdout)
		return nil
	}
	c, found := findCommand(topic)
	if !found {
		return usageError("no help on %q: see quote help", topic)
	}
	c.printHelp(o.stdout, c.flagSet(o))
	return nil
}

// printHelp prints the text of a command, with its flags in their place.
func (c command) printHelp(w io.Writer, flags *flag.FlagSet) {
	text, err := helpTexts.ReadFile("help/" + c.help)
	if err != nil {
		panic(err) // the text is part of the program
	}
	before, after, _ := strings.Cut(string(text), "{flags}\n")
	fmt.Fprint(w, before)
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, after)
}

// printGas prints what the gas of one transaction may cost without -max-fee.
func printGas(w io.Writer) {
	fmt.Fprintln(w, "Without -max-fee, the gas of one transaction may cost at most:")
	for _, network := range chain.Networks() {
		most, _ := send.MaxGas(uint64(network.ID))
		fmt.Fprintf(w, "  %s on %s\n", swap.FormatCoins(most, network.ID), network.Name)
	}
}
