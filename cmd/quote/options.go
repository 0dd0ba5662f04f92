package main

import (
	"context"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// options are what somebody asked for.
type options struct {
	stdout, stderr io.Writer
	getenv         func(string) string // gives the secrets

	// As given.
	url                         string // of the gateway
	from, to, amount, recipient string
	integrator, simulate        string
	deploymentFile              string
	rpc, mostGas                string
	chain                       string        // of the transaction that status asks about
	wait                        time.Duration // how long to follow a swap; 0 for not at all
	json, execute               bool

	// As read.
	deployment *chain.Deployment
	gateway    *client.Client
	swap       swap.Swap
	sent       client.Sent // what status is about
	viewingKey *[32]byte
	maxFee     *big.Int // the most that the gas of one transaction may cost
	key        *ecdsa.PrivateKey
}

// A command has flags and help of its own. The one without a name quotes.
type command struct {
	name  string
	help  string // the file of its help
	flags func(*options, *flag.FlagSet)
	read  func(o *options, args []string) error // args are what is left beside the flags
	run   func(*options, context.Context) (any, error)
}

var commands = []command{
	{"", "quote.txt", (*options).quoteFlags, (*options).readQuote, (*options).quote},
	{"status", "status.txt", (*options).statusFlags, (*options).readStatus, (*options).tellStatus},
	{"pairs", "pairs.txt", nil, nothingMore, (*options).tellPairs},
}

func findCommand(name string) (command, bool) {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return commands[i], true
}

// flagSet are the flags of a command, and those that all commands have.
func (c command) flagSet(o *options) *flag.FlagSet {
	f := flag.NewFlagSet(strings.TrimSpace("quote "+c.name), flag.ContinueOnError)
	f.StringVar(&o.url, "gateway", "http://127.0.0.1:8080", "`URL` of the gateway")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	if c.flags != nil {
		c.flags(o, f)
	}
	return f
}

func (o *options) quoteFlags(f *flag.FlagSet) {
	f.StringVar(&o.from, "from", "", "source: `token@chain`, such as USDC@1 (required)")
	f.StringVar(&o.to, "to", "", "destination: `token@chain`, such as USDC@369 (required)")
	f.StringVar(&o.amount, "amount", "", "amount in whole `tokens`, such as 100 or 0.5 (required)")
	f.StringVar(&o.recipient, "recipient", "", "EVM `address`, or 0zk address for a privacy pool (required)")
	f.StringVar(&o.integrator, "integrator", "", "`address` of a registered integrator, whose fee is added")
	f.StringVar(&o.deploymentFile, "deployment", "",
		"`file` with the contracts to accept; without it, those of the reference deployment")
	f.StringVar(&o.simulate, "simulate", "",
		"simulate the transactions of this account `address` on a node of the gateway; nothing is sent")
	f.BoolVar(&o.execute, "execute", false, "sign with QUOTE_KEY and send")
	f.StringVar(&o.rpc, "rpc", "", "JSON-RPC `URL` of a node of the source chain, for -execute")
	f.StringVar(&o.mostGas, "max-fee", "",
		"with -execute, the most that the gas of one transaction may cost, in whole `coins` of the\n"+
			"source chain; without it, see quote help gas")
	f.DurationVar(&o.wait, "wait", 0, "with -execute, track the swap until it is final, for this `duration` at most;\n"+
		"30m if none is given")
}

func (o *options) statusFlags(f *flag.FlagSet) {
	f.StringVar(&o.chain, "chain", "", "`ID` of the chain of the transaction, such as 1 (required)")
	f.DurationVar(&o.wait, "wait", 0, "track the swap until it is final, for this `duration` at most;\n"+
		"30m if none is given")
}

// moved are flags that became commands.
var moved = map[string]string{
	"-status": "quote status -chain 1 0x…",
	"-pairs":  "quote pairs",
}

func refuseMoved(args []string) error {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.Replace(arg, "--", "-", 1), "=")
		if instead, isMoved := moved[name]; isMoved {
			return usageError("%s is now a command: %s", name, instead)
		}
	}
	return nil
}

// parse reads a command line. Nothing is asked yet. Flags may stand before and after what else there is.
func (c command) parse(o *options, args []string) error {
	if c.name == "" {
		if err := refuseMoved(args); err != nil {
			return err
		}
	}
	flags := c.flagSet(o)
	flags.SetOutput(io.Discard) // the error says what is wrong
	var rest []string
	args = completeWait(args)
	for {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			c.printHelp(o.stdout, flags)
			return err
		}
		if err != nil {
			return usageError("%w: see %s -h", err, flags.Name())
		}
		if flags.NArg() == 0 {
			break
		}
		rest = append(rest, flags.Arg(0))
		args = flags.Args()[1:]
	}
	if err := o.dial(); err != nil {
		return notAsked(err)
	}
	if err := c.read(o, rest); err != nil {
		return notAsked(err)
	}
	return nil
}

// completeWait gives a -wait that stands alone its time.
func completeWait(args []string) (complete []string) {
	for i, arg := range args {
		complete = append(complete, arg)
		if arg != "-wait" && arg != "--wait" {
			continue
		}
		isLast := i+1 == len(args)
		if isLast || strings.HasPrefix(args[i+1], "-") || strings.HasPrefix(args[i+1], "0x") {
			complete = append(complete, "30m")
		}
	}
	return complete
}

// nothingMore refuses what is neither a flag nor its value.
func nothingMore(_ *options, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is not a flag", args[0])
	}
	return nil
}

func (o *options) readQuote(args []string) error {
	if err := nothingMore(o, args); err != nil {
		return err
	}
	return errors.Join(
		o.readSwap(),
		o.readViewingKey(o.getenv("QUOTE_VIEWING_KEY")),
		o.readExecution(o.getenv("QUOTE_KEY")),
	)
}

// readStatus reads the transaction to ask about, and its chain.
func (o *options) readStatus(args []string) error {
	switch {
	case o.chain == "":
		return errors.New("-chain is required: the chain of the transaction, such as 1")
	case len(args) != 1:
		return errors.New("one transaction is required, such as quote status -chain 1 0x…")
	}
	if err := o.sent.Hash.UnmarshalText([]byte(args[0])); err != nil {
		return fmt.Errorf("%q is not the hash of a transaction, 0x and 64 hexadecimal digits", args[0])
	}
	src, err := chain.ParseID(o.chain)
	if err != nil {
		return fmt.Errorf("-chain: %w", err)
	}
	o.sent.SrcChain = uint64(src)
	return nil
}

// dial prepares to ask the gateway, and to wait for it as long as a person would.
func (o *options) dial() (err error) {
	o.deployment = chain.Reference()
	if o.deploymentFile != "" {
		if o.deployment, err = chain.ReadDeployment(o.deploymentFile); err != nil {
			return err
		}
	}
	if o.gateway, err = swap.Dial(o.url, o.deployment, client.WithTimeout(30*time.Second)); err != nil {
		return fmt.Errorf("-gateway: %w", err)
	}
	return nil
}

func (o *options) readSwap() (err error) {
	if o.from == "" || o.to == "" || o.amount == "" || o.recipient == "" {
		return errors.New("-from, -to, -amount and -recipient are required: see quote -h")
	}
	if o.swap, err = swap.NewSwap(o.from, o.to, o.amount, o.recipient); err != nil {
		return err
	}
	if o.integrator != "" {
		if o.swap.Integrator, err = chain.ParseAddress(o.integrator); err != nil {
			return fmt.Errorf("-integrator: the wallet %w", err)
		}
	}
	if o.simulate != "" {
		if o.swap.Sender, err = chain.ParseAddress(o.simulate); err != nil {
			return fmt.Errorf("-simulate: the account %w", err)
		}
	}
	return nil
}

// readViewingKey reads 32 bytes. The error does not repeat them.
func (o *options) readViewingKey(text string) error {
	if text == "" {
		return nil
	}
	key, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil || len(key) != 32 {
		return errors.New("QUOTE_VIEWING_KEY is not 32 bytes in hexadecimal digits")
	}
	o.viewingKey = (*[32]byte)(key)
	return nil
}

// readExecution reads what only -execute needs, and looks at none of it otherwise.
func (o *options) readExecution(key string) (err error) {
	switch {
	case !o.execute && o.wait != 0:
		return errors.New("-wait requires -execute; to track a swap that was sent, use quote status -wait")
	case !o.execute:
		return nil
	case o.rpc == "":
		return errors.New("-execute requires -rpc, a node of the source chain")
	case key == "":
		return errors.New("-execute requires a private key in QUOTE_KEY")
	}
	if o.mostGas != "" {
		if o.maxFee, err = client.ParseAmount(o.mostGas, chain.CoinDecimals); err != nil {
			return fmt.Errorf("-max-fee: %w", err)
		}
	}
	if o.key, err = crypto.HexToECDSA(strings.TrimPrefix(key, "0x")); err != nil {
		return fmt.Errorf("QUOTE_KEY: %w", err)
	}
	return nil
}
