// Command devnet runs the reference deployment on this machine: a simulated chain for every network, the contracts, the
// gateway wired to them, and an operator who settles. It shows one swap from the question to the money, then stays up
// for others until Ctrl-C. It needs only Go, and a checkout as its working directory: it builds the gateway.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

func main() { os.Exit(start(os.Args[1:], "")) }

// start runs the devnet around a built gateway, or builds one, and gives the exit code.
func start(args []string, gateway string) int {
	o, err := parseOptions(args, os.Stdout, os.Stderr)
	o.gateway = gateway
	return cli.Run("devnet", err, func(ctx context.Context) error { return run(ctx, o, os.Stdout) }, os.Stderr)
}

type options struct {
	gateway string // a built gateway; empty to build one
	listen  string
	page    string
	rpcPort int
	demo    *swap.Swap // nil for none
	logs    io.Writer  // of the gateway
}

const about = `Runs the reference deployment on this machine: a simulated chain for every network, the
contracts, a gateway, and an operator who settles. It shows one swap, then stays up until Ctrl-C.
It builds the gateway, and so needs Go and a checkout as the working directory.`

func parseOptions(args []string, stdout, stderr io.Writer) (options, error) {
	o := options{logs: io.Discard}
	var from, to, amount string
	var verbose bool
	flags := flag.NewFlagSet("devnet", flag.ContinueOnError)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080",
		"`address` of the gateway; another port is taken if this one is not free")
	flags.StringVar(&o.page, "page", "127.0.0.1:8081",
		"`address` of the gateway's page with a test wallet; another port is taken if this one is not free")
	flags.IntVar(&o.rpcPort, "rpc-port", 18600, "`port` of the first chain's JSON-RPC, the others follow; "+
		"others are taken where one is not free, or for 0")
	flags.StringVar(&from, "from", "USDC@1", "where the demonstration swaps from: `token@chain`")
	flags.StringVar(&to, "to", "USDC@369", "where it swaps to: `token@chain`")
	flags.StringVar(&amount, "amount", "100", "how much it swaps, in whole `tokens`; empty for no demonstration")
	flags.BoolVar(&verbose, "v", false, "show the gateway's log")
	if err := cli.Parse(flags, args, about, stdout); err != nil {
		return o, err
	}
	if verbose {
		o.logs = stderr
	}
	if amount == "" {
		return o, nil
	}
	demo, err := demoSwap(from, to, amount)
	o.demo = &demo
	return o, err
}

// A devnet is everything that runs.
type devnet struct {
	out     io.Writer
	chains  *reference.Net
	gateway *child.Server
	page    *http.Server
	reports chan reference.Report // of the operator; there is room for all that nobody has read yet
	ends    []func() error        // what to end, the last first
}

// run keeps a devnet up until ctx ends, which is no error. When it returns, everything that it started has ended.
func run(ctx context.Context, o options, out io.Writer) error {
	d := &devnet{out: out, reports: make(chan reference.Report, 1000)}
	err := d.keepUp(ctx, o)
	if ctx.Err() != nil {
		err = nil
	}
	for _, end := range slices.Backward(d.ends) {
		err = errors.Join(err, end())
	}
	return err
}

func (d *devnet) keepUp(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "devnet")
	if err != nil {
		return err
	}
	d.ends = append(d.ends, func() error { return os.RemoveAll(dir) })
	if o.gateway == "" {
		d.line("Building the gateway…")
		if o.gateway, err = child.Build(ctx, dir); err != nil {
			return err
		}
	}
	d.line("Starting %d chains…", len(chain.Networks()))
	if d.chains, err = reference.Start(ctx, o.rpcPort); err != nil {
		return err
	}
	d.ends = append(d.ends, d.chains.Close)
	env, err := gatewayEnv(dir, d.chains)
	if err != nil {
		return err
	}
	// Other settings may be given in the environment. The rate limit is the default, so that integrators meet it here
	// first.
	d.gateway, err = child.Gateway{
		Binary: o.gateway,
		Listen: o.listen,
		Env:    slices.Concat(os.Environ(), env),
		Log:    o.logs,
	}.Start(ctx)
	if err != nil {
		return err
	}
	d.ends = append(d.ends, d.gateway.Stop)
	if d.page, err = servePage(o.page, d.gateway.URL(), d.chains); err != nil {
		return err
	}
	d.ends = append(d.ends, d.page.Close)
	stopped, err := d.chains.Operate(ctx, func(r reference.Report) { d.reports <- r })
	if err != nil {
		return err
	}
	defer stopped()
	defer d.line("\nStopping.")

	d.introduce()
	if o.demo != nil {
		if err := d.demonstrate(ctx, *o.demo); err != nil {
			return fmt.Errorf("the demonstration: %w", err)
		}
	}
	d.invite()
	_, err = d.await(ctx, common.Hash{}) // no transaction has this hash
	return err
}

// gatewayEnv writes the gateway's deployment file into dir, and gives the settings of a gateway that reads it, the
// issuer and the chains.
func gatewayEnv(dir string, chains *reference.Net) ([]string, error) {
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceAs("devnet"), &file); err != nil {
		return nil, err
	}
	file["contact"] = "the terminal that runs the devnet"
	path := filepath.Join(dir, "deployment.json")
	env := []string{"DEPLOYMENT_FILE=" + path, "ISSUER_FEE_URL=" + chains.Issuer.URL}
	public := map[string][]string{} // so that a wallet can add the chains
	for _, n := range chain.Networks() {
		url := chains.Chain(n.ID).URL()
		env = append(env, "RPC_URLS_"+n.ID.String()+"="+url)
		public[n.ID.String()] = []string{url}
	}
	file["rpcUrls"] = public
	text, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	return env, os.WriteFile(path, text, 0o600)
}

func (d *devnet) line(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// introduce says where everything is.
func (d *devnet) introduce() {
	d.line("\n  gateway      %s", d.gateway.URL())
	d.line("  issuer       %s, of USDC: fees, and what became of a burn", d.chains.Issuer.URL)
	d.line("  page         http://%s, with a test wallet that signs as the user", d.page.Addr)
	for _, n := range chain.Networks() {
		d.line("  %-11s  %-22s %s", n.ID, d.chains.Chain(n.ID).URL(), n.Name)
	}
	d.line("")
	d.line("  user         %s, rich in every token on every chain", reference.User.Address)
	d.line("  its key      %s", hexutil.Encode(crypto.FromECDSA(reference.User.Key)))
	d.line("  integrator   %s, registered, takes 0.25 %%", reference.Integrator.Wallet)
	d.line("  inactive     %s, an integrator that is registered and not active", reference.Inactive.Wallet)
	d.line("  treasury     %s, gets the protocol's fees", reference.Treasury)
	d.line("\nAnyone has these keys: never send them anything on a real chain.")
}

// invite says what to do next.
func (d *devnet) invite() {
	d.line("\nThe devnet is up, and settles what is swapped on it.")
	d.line("Try http://%s in a browser, or in another terminal:\n", d.page.Addr)
	d.line("  QUOTE_KEY=%s \\", hexutil.Encode(crypto.FromECDSA(reference.User.Key)))
	d.line("  go run ./cmd/quote -gateway %s -from USDC@43114 -to USDC@369 -amount 100 \\", d.gateway.URL())
	d.line("    -recipient %s -execute -wait -rpc %s", demoRecipient, d.chains.Chain(43114).URL())
	d.line("\nCtrl-C stops everything.")
}

// await gives the report on a transaction, and tells of the others that come before it.
func (d *devnet) await(ctx context.Context, tx common.Hash) (reference.Report, error) {
	for {
		select {
		case r := <-d.reports:
			if r.Tx == tx {
				return r, r.Err
			}
			d.tell(r)
		case <-d.gateway.Done():
			return reference.Report{}, errors.New("the gateway is gone")
		case <-ctx.Done():
			return reference.Report{}, context.Cause(ctx)
		}
	}
}

// tell says who was paid what.
func (d *devnet) tell(r reference.Report) {
	if r.Err != nil {
		d.line("Not settled: %s on chain %s: %v", r.Tx, r.Network, r.Err)
		return
	}
	p := r.Payout
	recipient := "a private balance"
	if !p.DstChain.Private() {
		recipient = common.BytesToAddress(p.Settlement.Recipient).Hex()
	}
	d.line("Settled: %s on chain %s: %s to %s on chain %s; fees %s, and %s for an integrator", r.Tx, r.Network,
		swap.Money(p.Settlement.Amount, p.Token), recipient, p.DstChain,
		swap.Money(p.Settlement.ProtocolFee, p.Token), swap.Money(p.Settlement.IntegratorFee, p.Token))
}
