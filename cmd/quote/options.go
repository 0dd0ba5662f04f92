package main

import (
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
)

// options are what somebody asked for.
type options struct {
	stdout, stderr io.Writer

	// As given.
	url                         string // of the gateway
	from, to, amount, recipient string
	integrator, simulate        string
	deploymentFile              string
	rpc, mostGas, secret        string
	status                      string        // the transaction to ask about
	wait                        time.Duration // how long to follow a swap; 0 for not at all
	json, execute               bool
	pairs, version              bool

	// As read.
	deployment *chain.Deployment
	gateway    *client.Client
	swap       swap.Swap
	sent       client.Sent // what status is about
	viewingKey *[32]byte
	maxFee     *big.Int // the most that the gas of one transaction may cost
	key        *ecdsa.PrivateKey
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
func (o *options) printHelp() {
	fmt.Fprint(o.stdout, calls)
	cli.PrintText(o.stdout, about)
	fmt.Fprintln(o.stdout)
	cli.PrintFlags(o.stdout, o.flags())
	var bounds []string
	for _, network := range chain.Networks() {
		most := swap.FormatCoins(swap.DefaultMaxGas(network.ID), network.ID)
		bounds = append(bounds, most+" on "+network.Name)
	}
	fmt.Fprintln(o.stdout)
	cli.PrintText(o.stdout,
		"Without -max-fee, the gas of one transaction may cost at most "+strings.Join(bounds, ", ")+".")
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("quote", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the error that it returns says it all
	f.StringVar(&o.url, "gateway", "http://127.0.0.1:8080", "`address` of the gateway")
	f.StringVar(&o.from, "from", "", "what to swap: `token@chain`, such as USDC@1 (required)")
	f.StringVar(&o.to, "to", "", "what to get: `token@chain`, such as USDC@369 (required)")
	f.StringVar(&o.amount, "amount", "", "how much, in whole `tokens`, such as 100 or 0.5 (required)")
	f.StringVar(&o.recipient, "recipient", "",
		"who gets it: an EVM `address`, or a 0zk address for a privacy pool (required)")
	f.StringVar(&o.integrator, "integrator", "", "`wallet` of a registered partner")
	f.BoolVar(&o.version, "version", false, "print the version of this program")
	f.StringVar(&o.deploymentFile, "deployment", "",
		"`file` with the contracts that you have reviewed; without it, those of the reference deployment")
	f.StringVar(&o.simulate, "simulate", "",
		"have the gateway try the transactions of this `account` on the chain, without sending them (v3)")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON: the fields that were checked, encoded again")
	f.BoolVar(&o.execute, "execute", false, "sign and send it")
	f.StringVar(&o.rpc, "rpc", "", "JSON-RPC `address` of the chain to swap from, for -execute")
	f.StringVar(&o.mostGas, "max-fee", "",
		"with -execute, the most that the gas of one transaction may cost, in whole `coins` of the chain to swap "+
			"from; a dearer transaction is not signed (default: below)")
	f.StringVar(&o.status, "status", "",
		"ask what became of the swap of a `transaction`; -from then names its chain, such as 1")
	f.BoolVar(&o.pairs, "pairs", false, "print what can be swapped")
	f.DurationVar(&o.wait, "wait", 0, "with -execute or -status, follow the swap until it is settled, "+
		"for a `time` such as 10m at most; 30m if none is given")
	f.StringVar(&o.secret, "key", "",
		"private `key` to sign with; QUOTE_KEY is better, for everyone on a machine can see a flag")
	return f
}

// completeWait gives a -wait that stands alone its time.
func completeWait(args []string) (complete []string) {
	for i, arg := range args {
		complete = append(complete, arg)
		isLast := i+1 == len(args)
		if (arg == "-wait" || arg == "--wait") && (isLast || strings.HasPrefix(args[i+1], "-")) {
			complete = append(complete, "30m")
		}
	}
	return complete
}

// parse reads the command line. Nothing is asked yet.
func (o *options) parse(args []string, getenv func(string) string) error {
	flags := o.flags()
	if err := flags.Parse(completeWait(args)); err != nil {
		return fmt.Errorf("%w: see quote -help", err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: see quote -help", flags.Arg(0))
	}
	if o.version {
		return nil
	}
	if err := o.dial(); err != nil || o.pairs {
		return err
	}
	if o.status != "" {
		return o.readStatus()
	}
	return errors.Join(
		o.readSwap(),
		o.readViewingKey(getenv("QUOTE_VIEWING_KEY")),
		o.readExecution(getenv("QUOTE_KEY")),
	)
}

// patience waits for a gateway as long as a person would.
var patience = client.WithTimeout(30 * time.Second)

func (o *options) dial() (err error) {
	o.deployment = chain.Reference()
	if o.deploymentFile != "" {
		if o.deployment, err = chain.ReadDeployment(o.deploymentFile); err != nil {
			return err
		}
	}
	if o.gateway, err = swap.Dial(o.url, o.deployment, patience); err != nil {
		return fmt.Errorf("-gateway: %w", err)
	}
	return nil
}

var transaction = regexp.MustCompile("^0x[0-9a-fA-F]{64}$")

// readStatus reads the transaction to ask about, and its chain, which may have a token before it.
func (o *options) readStatus() error {
	if !transaction.MatchString(o.status) {
		return fmt.Errorf("-status %q is not the hash of a transaction, 0x and 64 hexadecimal digits", o.status)
	}
	src, err := chain.ParseID(o.from[strings.Index(o.from, "@")+1:])
	if err != nil {
		return fmt.Errorf("-from must name the chain of the transaction, such as 1: %w", err)
	}
	o.sent = client.Sent{SrcChain: uint64(src), Hash: common.HexToHash(o.status)}
	return nil
}

func (o *options) readSwap() (err error) {
	if o.from == "" || o.to == "" || o.amount == "" || o.recipient == "" {
		return errors.New("-from, -to, -amount and -recipient must be given: see quote -help")
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

// readExecution reads what only -execute needs, and looks at none of it otherwise. The key is given once.
func (o *options) readExecution(inEnvironment string) (err error) {
	switch {
	case !o.execute && o.wait != 0:
		return errors.New("-wait follows a swap that is sent: it needs -execute or -status")
	case !o.execute:
		return nil
	case o.rpc == "":
		return errors.New("-execute needs -rpc, a node of the chain to swap from")
	case o.secret == "" && inEnvironment == "":
		return errors.New("-execute needs a private key in QUOTE_KEY")
	case o.secret != "" && inEnvironment != "":
		return errors.New("the private key is given twice, in QUOTE_KEY and -key")
	}
	if o.mostGas != "" {
		if o.maxFee, err = client.ParseAmount(o.mostGas, chain.CoinDecimals); err != nil {
			return fmt.Errorf("-max-fee: %w", err)
		}
	}
	secret, err := parseSecret("the private key", o.secret+inEnvironment)
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
