package main

import (
	"crypto/ecdsa"
	_ "embed"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/v3/client"
	"github.com/quotegate/quotegate/v3/client/send"
)

// options are what somebody asked for.
type options struct {
	stdout, stderr io.Writer

	// As given.
	url                         string // of the gateway
	from, to, amount, recipient string
	integrator, simulate        string
	deploymentFile              string
	rpc, mostGas                string
	status                      string        // the transaction to ask about
	wait                        time.Duration // how long to follow a swap; 0 for not at all
	json, execute, pairs        bool

	// As read.
	deployment *chain.Deployment
	gateway    *client.Client
	swap       swap.Swap
	sent       client.Sent // what status is about
	viewingKey *[32]byte
	maxFee     *big.Int // the most that the gas of one transaction may cost
	key        *ecdsa.PrivateKey
}

//go:embed help.txt
var about string

// help is what the command is for, and the gas bound of every chain.
func help() string {
	text := strings.TrimSpace(about)
	for _, network := range chain.Networks() {
		most, _ := send.MaxGas(uint64(network.ID))
		text += "\n  " + swap.FormatCoins(most, network.ID) + " on " + network.Name
	}
	return text
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("quote", flag.ContinueOnError)
	f.StringVar(&o.url, "gateway", "http://127.0.0.1:8080", "`address` of the gateway")
	f.StringVar(&o.from, "from", "", "what to swap: `token@chain`, such as USDC@1 (required)")
	f.StringVar(&o.to, "to", "", "what to get: `token@chain`, such as USDC@369 (required)")
	f.StringVar(&o.amount, "amount", "", "how much, in whole `tokens`, such as 100 or 0.5 (required)")
	f.StringVar(&o.recipient, "recipient", "",
		"who gets it: an EVM `address`, or a 0zk address for a privacy pool (required)")
	f.StringVar(&o.integrator, "integrator", "", "`wallet` of a registered partner")
	f.StringVar(&o.deploymentFile, "deployment", "",
		"`file` with the contracts that you have reviewed; without it, those of the reference deployment")
	f.StringVar(&o.simulate, "simulate", "",
		"have the gateway try the transactions of this `account` on the chain, without sending them (v3)")
	f.BoolVar(&o.json, "json", false, "print the answer as JSON: the fields that were checked, encoded again")
	f.BoolVar(&o.execute, "execute", false, "sign and send it")
	f.StringVar(&o.rpc, "rpc", "", "JSON-RPC `address` of the chain to swap from, for -execute")
	f.StringVar(&o.mostGas, "max-fee", "",
		"with -execute, the most that the gas of one transaction may cost, in whole `coins` of the chain\n"+
			"to swap from; a dearer transaction is not signed (default: above)")
	f.StringVar(&o.status, "status", "",
		"ask what became of the swap of a `transaction`; -from then names its chain, such as 1")
	f.BoolVar(&o.pairs, "pairs", false, "print what can be swapped")
	f.DurationVar(&o.wait, "wait", 0, "with -execute or -status, follow the swap until it is settled,\n"+
		"for a `time` such as 10m at most; 30m if none is given")
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
	if err := cli.Parse(o.flags(), completeWait(args), help(), o.stdout); err != nil {
		return err
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

// readStatus reads the transaction to ask about, and its chain, which may have a token before it.
func (o *options) readStatus() error {
	if err := o.sent.Hash.UnmarshalText([]byte(o.status)); err != nil {
		return fmt.Errorf("-status %q is not the hash of a transaction, 0x and 64 hexadecimal digits", o.status)
	}
	src, err := chain.ParseID(o.from[strings.Index(o.from, "@")+1:])
	if err != nil {
		return fmt.Errorf("-from must name the chain of the transaction, such as 1: %w", err)
	}
	o.sent.SrcChain = uint64(src)
	return nil
}

func (o *options) readSwap() (err error) {
	if o.from == "" || o.to == "" || o.amount == "" || o.recipient == "" {
		return errors.New("-from, -to, -amount and -recipient must be given: see quote -h")
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
		return errors.New("-wait follows a swap that is sent: it needs -execute or -status")
	case !o.execute:
		return nil
	case o.rpc == "":
		return errors.New("-execute needs -rpc, a node of the chain to swap from")
	case key == "":
		return errors.New("-execute needs a private key in QUOTE_KEY")
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
