package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/quotegate/quotegate/cmd/devnet/reference"
	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
)

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
	d.chains.SettleAfter = o.settleAfter

	env, err := o.gatewayEnv(dir, d.chains.IssuerURL, d.chains.URL)
	if err != nil {
		return err
	}
	// Other settings may be given in the environment. The rate limit is the default, so that integrators meet it here
	// first.
	d.gateway, err = child.Gateway{
		Binary: o.gateway,
		Listen: o.listen,
		Env:    slices.Concat(os.Environ(), env),
		Log:    &child.Log{See: func(line []byte) { fmt.Fprintf(o.logs, "%s\n", line) }},
	}.Start(ctx)
	if err != nil {
		return err
	}
	d.ends = append(d.ends, d.gateway.Stop)
	if d.page, err = servePage(o.page, d.gateway.URL(), d.chains, reference.User); err != nil {
		return err
	}
	d.ends = append(d.ends, d.page.server.Close)
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
func (o options) gatewayEnv(dir, issuer string, node func(chain.ID) string) ([]string, error) {
	env := []string{"ISSUER_FEE_URL=" + issuer}
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceFile(), &file); err != nil {
		return nil, err
	}
	demanded := map[string]uint64{}
	for _, n := range chain.Networks() {
		url := node(n.ID)
		if n.ID == o.failing {
			url = "http://127.0.0.1:1" // nobody answers there
		}
		env = append(env, "RPC_URLS_"+n.ID.String()+"="+url)
		demanded[n.ID.String()] = o.confirmations
	}
	file["name"] = "devnet" // the page of the reference deployment signs nothing
	file["confirmations"] = demanded
	file["contact"] = "the terminal that runs the devnet"
	text, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "deployment.json")
	return append(env, "DEPLOYMENT_FILE="+path), os.WriteFile(path, text, 0o600)
}

// A devnet is everything that runs.
type devnet struct {
	out     io.Writer
	chains  *reference.Net
	gateway *child.Server
	page    *pageProxy
	reports chan reference.Report // of the operator; there is room for all that nobody has read yet
	ends    []func() error        // what to end, the last first
}

func (d *devnet) line(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

// introduce says where everything is.
func (d *devnet) introduce() {
	d.line("\n  gateway      %s", d.gateway.URL())
	d.line("  issuer       %s, of USDC: fees, and what became of a burn", d.chains.IssuerURL)
	d.line("  page         %s, with a test wallet that signs as the user", d.page.address)
	for _, n := range chain.Networks() {
		d.line("  %-11s  %-22s %s", n.ID, d.chains.URL(n.ID), n.Name)
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
	d.line("\nThe devnet is up, and settles what is swapped on it. Try %s in a browser, or in another terminal:\n",
		d.page.address)
	d.line("  QUOTE_KEY=%s \\", hexutil.Encode(crypto.FromECDSA(reference.User.Key)))
	d.line("  go run ./cmd/quote -gateway %s -from USDC@43114 -to USDC@369 -amount 100 \\", d.gateway.URL())
	d.line("    -recipient 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed -execute -wait -rpc %s", d.chains.URL(43114))
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
