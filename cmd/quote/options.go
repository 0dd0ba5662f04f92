package main

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// options are what somebody asked for.
type options struct {
	url        string // of the gateway
	gateway    *client.Client
	swap       swap.Swap
	deployment *chain.Deployment
	viewingKey *[32]byte
	json       bool
	printed    bool // JSON, which is printed once

	pairs  bool         // print what can be swapped, in the place of a quote
	status *common.Hash // the transaction to ask about, in the place of a quote; nil for none
	src    chain.ID     // where it was sent
	wait   duration     // how long to follow a swap; 0 for not at all

	showVersion bool // of this program, in the place of a quote

	execute bool
	rpc     string
	maxFee  *big.Int // the most that the gas of one transaction may cost
	key     *ecdsa.PrivateKey
}

const calls = `Usage: quote -from USDC@1 -to USDC@369 -amount 100 -recipient 0x… [flags]
       quote -status 0x… -from 1 [-wait] [-gateway address] [-json]
       quote -pairs [-gateway address] [-json]
       quote version
       quote help

`

const about = `Asks a gateway for a swap, checks the answer, and prints it. Secrets are best given in the
environment: QUOTE_KEY is the private key that -execute signs with, QUOTE_VIEWING_KEY the viewing key
of a 0zk recipient, to open its note. Without the viewing key, -execute signs a note that it makes
itself. Before it signs, -execute asks the node at -rpc whether there is a contract at every address
that it pays or approves. Where there is none, it sends nothing and the error says NO_CONTRACT. If the
node does not answer within five seconds, it warns and goes on with tokens; coins are not sent, and
the error says CONTRACT_UNKNOWN.

With -status it asks what became of a swap that was sent. With -pairs it prints what can be swapped.

With -json it prints one object on standard output: the quote, the status, or the listing. With
-execute it has quote, transactions (what and hash, in the order they were sent), and status if it was
followed. After an error it has error, code, and the fields of the code, such as retryAfter (seconds),
minAmount, maxAmount, alternatives and problems.

Exit codes: 0 the quote is what was asked for, and was executed if it should be, and settled if it
was followed; 1 it is not, or it was refused; 2 wrong usage; 3 try again later: the gateway or the node
is unavailable, or a rate limit is exceeded; 4 the swap was sent, and its outcome is not known: do not
send it again.
`

// printHelp tells all that can be asked for.
func printHelp(w io.Writer) {
	fmt.Fprint(w, calls)
	cli.PrintText(w, about)
	fmt.Fprintln(w)
	cli.PrintFlags(w, new(options).flags(new(given)))
	fmt.Fprintln(w)
	cli.PrintText(w, "Without -max-fee, the gas of one transaction may cost at most "+defaultMaxFees()+".")
}

// given is what stands on the command line and is read once all of it is there.
type given struct {
	from, to, amount, recipient string
	integrator                  string
	deployment                  string
	simulate                    string
	maxFee                      string
	status                      string
	key                         string
}

// flags are all flags. Their values go to o and g.
func (o *options) flags(g *given) *flag.FlagSet {
	f := flag.NewFlagSet("quote", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the error that it returns says it all
	f.StringVar(&o.url, "gateway", "http://127.0.0.1:8080", "`address` of the gateway")
	f.StringVar(&g.from, "from", "", "what to swap: `token@chain`, such as USDC@1 (required)")
	f.StringVar(&g.to, "to", "", "what to get: `token@chain`, such as USDC@369 (required)")
	f.StringVar(&g.amount, "amount", "", "how much, in whole `tokens`, such as 100 or 0.5 (required)")
	f.StringVar(&g.recipient, "recipient", "",
		"who gets it: an EVM `address`, or a 0zk address for a privacy pool (required)")
	f.StringVar(&g.integrator, "integrator", "", "`wallet` of a registered partner")
	f.BoolVar(&o.showVersion, "version", false, "print the version of this program")
	f.StringVar(&g.deployment, "deployment", "",
		"`file` with the contracts that you have reviewed; without it, those of the reference deployment")
	f.StringVar(&g.simulate, "simulate", "",
		"have the gateway try the transactions of this `account` on the chain, without sending them (v3)")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON: the fields that were checked, encoded again")
	f.BoolVar(&o.execute, "execute", false, "sign and send it")
	f.StringVar(&o.rpc, "rpc", "", "JSON-RPC `address` of the chain to swap from, for -execute")
	f.StringVar(&g.maxFee, "max-fee", "",
		"with -execute, the most that the gas of one transaction may cost, in whole `coins` of the chain to swap "+
			"from; a dearer transaction is not signed (default: below)")
	f.StringVar(&g.status, "status", "",
		"ask what became of the swap of a `transaction`; -from then names its chain, such as 1")
	f.BoolVar(&o.pairs, "pairs", false, "print what can be swapped")
	f.Var(&o.wait, "wait", "with -execute or -status, follow the swap until it is settled, "+
		"for a `time` such as 10m at most; 30m if none is given")
	f.StringVar(&g.key, "key", "",
		"private `key` to sign with; QUOTE_KEY is better, for everyone on a machine can see a flag")
	return f
}

func parseOptions(args []string, getenv func(string) string, stderr io.Writer) (*options, error) {
	o := &options{}
	var g given
	flags := o.flags(&g)
	if err := flags.Parse(joinValues(args)); err != nil {
		return nil, fmt.Errorf("%w: see quote -help", err)
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag: see quote -help", flags.Arg(0))
	}
	if o.showVersion {
		return o, nil
	}
	if err := o.checkGateway(); err != nil {
		return nil, err
	}
	if o.pairs {
		return o, onlyFlags(flags, "-pairs takes -gateway and -json", "pairs", "gateway", "json")
	}
	if g.status != "" {
		return o, o.readStatus(flags, g.status, g.from)
	}
	if missing := g.missing(); missing != nil {
		return nil, fmt.Errorf("%s must be given: see quote -help", strings.Join(missing, ", "))
	}
	if o.wait != 0 && !o.execute {
		return nil, errors.New("-wait follows a swap that is sent: it needs -execute or -status")
	}
	if err := o.readSwap(g); err != nil {
		return nil, err
	}
	return o, errors.Join(
		o.readDeployment(g.deployment),
		o.checkRequest(),
		o.readViewingKey(getenv("QUOTE_VIEWING_KEY")),
		o.readMaxFee(g.maxFee),
		o.readKey(g.key, getenv("QUOTE_KEY")),
	)
}

// missing are the flags that every quote needs, and that were not given.
func (g given) missing() (names []string) {
	for _, needed := range []struct{ name, value string }{
		{"-from", g.from}, {"-to", g.to}, {"-amount", g.amount}, {"-recipient", g.recipient},
	} {
		if needed.value == "" {
			names = append(names, needed.name)
		}
	}
	return names
}

func (o *options) readSwap(g given) (err error) {
	o.swap, err = swap.NewSwap(g.from, g.to, g.amount, g.recipient, g.integrator)
	if err != nil || g.simulate == "" {
		return err
	}
	o.swap.Sender, err = chain.ParseAddress(g.simulate)
	if err != nil {
		return fmt.Errorf("-simulate: the account %w", err)
	}
	return nil
}

func (o *options) checkGateway() (err error) {
	if o.gateway, err = client.New(o.url, patience); err != nil {
		return fmt.Errorf("-gateway %q is not an address such as http://127.0.0.1:8080", o.url)
	}
	return nil
}

// checkRequest refuses a request that the client would not send.
func (o *options) checkRequest() error {
	_, err := o.gateway.QuoteURL(o.swap.Request())
	var e *client.Error
	if errors.As(err, &e) {
		return errors.New(e.Message)
	}
	return err
}

// readDeployment reads the reviewed contracts, none of which may be the recipient.
func (o *options) readDeployment(file string) (err error) {
	o.deployment = chain.Reference()
	if file != "" {
		if o.deployment, err = chain.ReadDeployment(file); err != nil {
			return err
		}
	}
	if o.gateway, err = swap.Dial(o.url, o.deployment, patience); err != nil {
		return err
	}
	return o.swap.CheckRecipient(o.deployment)
}

func (o *options) readViewingKey(text string) error {
	if text == "" {
		return nil
	}
	key, err := parseSecret("QUOTE_VIEWING_KEY", text)
	if err != nil {
		return err
	}
	o.viewingKey = (*[32]byte)(key)
	return nil
}

// defaultMaxFees lists the bounds on gas of all chains.
func defaultMaxFees() string {
	var bounds []string
	for _, network := range chain.Networks() {
		most := swap.FormatCoins(swap.DefaultMaxGas(network.ID), network.ID)
		bounds = append(bounds, most+" on "+network.Name)
	}
	return strings.Join(bounds, ", ")
}

// readMaxFee reads the bound on gas, which is that of the chain unless another was chosen.
func (o *options) readMaxFee(text string) (err error) {
	if text == "" {
		o.maxFee = swap.DefaultMaxGas(o.swap.Src)
		return nil
	}
	if o.maxFee, err = swap.ParseCoins(text); err != nil {
		return fmt.Errorf("-max-fee: %w", err)
	}
	return nil
}

// readKey takes the key from wherever it was given, once.
func (o *options) readKey(flagged, inEnvironment string) error {
	switch {
	case !o.execute:
		return nil // what is not needed is not looked at
	case o.rpc == "":
		return errors.New("-execute needs -rpc, a node of the chain to swap from")
	case flagged == "" && inEnvironment == "":
		return errors.New("-execute needs a private key in QUOTE_KEY")
	case flagged != "" && inEnvironment != "":
		return errors.New("the private key is given twice, in QUOTE_KEY and -key")
	}
	secret, err := parseSecret("the private key", flagged+inEnvironment)
	if err != nil {
		return err
	}
	if o.key, err = crypto.ToECDSA(secret); err != nil {
		return errors.New("the private key is not one of the curve")
	}
	return nil
}

// parseSecret reads 32 bytes. The error does not repeat them.
func parseSecret(what, text string) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(secret) != 32 {
		return nil, fmt.Errorf("%s is not 32 bytes in hexadecimal digits", what)
	}
	return secret, nil
}
