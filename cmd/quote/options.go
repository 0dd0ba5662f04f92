package main

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/url"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/internal/wallet"
	"github.com/quotegate/quotegate/shared/chain"
)

// options are what somebody asked for.
type options struct {
	gateway    wallet.Gateway
	version    string
	swap       wallet.Swap
	deployment *chain.Deployment
	viewingKey *[32]byte
	json       bool

	status *common.Hash // the transaction to ask about, in the place of a quote; nil for none
	src    chain.ID     // where it was sent
	wait   duration     // how long to follow a swap; 0 for not at all

	execute bool
	rpc     string
	maxFee  *big.Int // the most that the gas of one transaction may cost
	key     *ecdsa.PrivateKey
}

const usage = `Usage: quote -from USDC@1 -to USDC@369 -amount 100 -recipient 0x… [flags]
       quote -status 0x… -from 1 [-wait] [-gateway address] [-json]

Asks a gateway for a swap, checks the answer, and prints it. Secrets are best given in the environment: QUOTE_KEY is the
private key that -execute signs with, QUOTE_VIEWING_KEY the viewing key of a 0zk recipient, to open its note. Without the
viewing key, -execute signs a note that it makes itself.

With -status it asks what became of a swap that was sent.

Exit codes: 0 the quote is what was asked for, and was executed if it should be, and settled if it was followed; 1 it is
not; 2 wrong call; 3 all is right that could be checked, but without the viewing key nobody can tell whom the note in the
answer pays; 4 the swap was sent, and whether it is settled is not known: do not send it again.

`

func parseOptions(args []string, getenv func(string) string, output io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("quote", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error that it returns says it all
	flags.StringVar(&o.gateway.URL, "gateway", "http://127.0.0.1:8080", "`address` of the gateway")
	from := flags.String("from", "", "what to swap: `token@chain`, such as USDC@1 (required)")
	to := flags.String("to", "", "what to get: `token@chain`, such as USDC@369 (required)")
	amount := flags.String("amount", "", "how much, in whole `tokens`, such as 100 or 0.5 (required)")
	recipient := flags.String("recipient", "", "who gets it: an EVM `address`, or a 0zk address for a privacy pool (required)")
	integrator := flags.String("integrator", "", "`wallet` of a registered partner")
	flags.StringVar(&o.version, "version", "v3", "of the interface: v3, v3legacy or v1")
	file := flags.String("deployment", "", "`file` with the contracts that you have reviewed; without it, those of the reference deployment")
	simulate := flags.String("simulate", "", "have the gateway try the transactions of this `account` on the chain, without sending them (v3)")
	flags.BoolVar(&o.json, "json", false, "print the answer as JSON: the fields that were checked, encoded again")
	flags.BoolVar(&o.execute, "execute", false, "sign and send it")
	flags.StringVar(&o.rpc, "rpc", "", "JSON-RPC `address` of the chain to swap from, for -execute")
	maxFee := flags.String("max-fee", "", "with -execute, the most that the gas of one transaction may cost, in whole `coins` of the chain to swap from; "+
		"a dearer transaction is not signed (default: below)")
	status := flags.String("status", "", "ask what became of the swap of a `transaction`; -from then names its chain, such as 1")
	flags.Var(&o.wait, "wait", "with -execute or -status, follow the swap until it is settled, for a `time` such as 10m at most; 30m if none is given")
	key := flags.String("key", "", "private `key` to sign with; QUOTE_KEY is better, for everyone on a machine can see a flag")
	if err := flags.Parse(joinWait(args)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(output, usage)
			flags.SetOutput(output)
			flags.PrintDefaults()
			fmt.Fprintf(output, "\nWithout -max-fee, the gas of one transaction may cost at most %s.\n", defaultMaxFees())
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag: see quote -help", flags.Arg(0))
	}
	if err := o.checkGateway(); err != nil {
		return nil, err
	}
	if *status != "" {
		return o, o.readStatus(flags, *status, *from)
	}
	var missing []string
	for _, name := range []string{"from", "to", "amount", "recipient"} {
		if flags.Lookup(name).Value.String() == "" {
			missing = append(missing, "-"+name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%s must be given: see quote -help", strings.Join(missing, ", "))
	}
	if o.wait != 0 && !o.execute {
		return nil, errors.New("-wait follows a swap that is sent: it needs -execute or -status")
	}
	var err error
	if o.swap, err = wallet.NewSwap(*from, *to, *amount, *recipient, *integrator); err != nil {
		return nil, err
	}
	if *simulate != "" {
		if o.swap.Sender, err = chain.ParseAddress(*simulate); err != nil {
			return nil, fmt.Errorf("-simulate: the account %w", err)
		}
	}
	if _, err := o.gateway.QuoteURL(o.version, o.swap); err != nil {
		return nil, err
	}
	return o, errors.Join(o.readDeployment(*file), o.readViewingKey(getenv("QUOTE_VIEWING_KEY")), o.readMaxFee(*maxFee), o.readKey(*key, getenv("QUOTE_KEY")))
}

func (o *options) checkGateway() error {
	if u, err := url.Parse(o.gateway.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-gateway %q is not an address such as http://127.0.0.1:8080", o.gateway.URL)
	}
	return nil
}

// readDeployment reads the reviewed contracts, none of which may be the recipient.
func (o *options) readDeployment(file string) (err error) {
	o.deployment = chain.Reference()
	if file != "" {
		if o.deployment, err = chain.ReadDeployment(file); err != nil {
			return err
		}
	}
	return o.swap.CheckRecipient(o.deployment, wallet.Listing{})
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
		bounds = append(bounds, wallet.FormatCoins(wallet.DefaultMaxGas(network.ID), network.ID)+" on "+network.Name)
	}
	return strings.Join(bounds, ", ")
}

// readMaxFee reads the bound on gas, which is that of the chain unless another was chosen.
func (o *options) readMaxFee(text string) (err error) {
	if text == "" {
		o.maxFee = wallet.DefaultMaxGas(o.swap.Src)
		return nil
	}
	if o.maxFee, err = wallet.ParseCoins(text); err != nil {
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
