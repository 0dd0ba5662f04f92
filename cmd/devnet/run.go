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

// run keeps a devnet up until ctx ends. Whatever it started has ended when it returns.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	p := &printer{out: out}
	dir, err := os.MkdirTemp("", "devnet")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if o.gateway == "" {
		if err := p.during("Building the gateway", func() (err error) {
			o.gateway, err = child.Build(ctx, dir)
			return err
		}); err != nil {
			return unlessStopped(ctx, err)
		}
	}
	var chains *reference.Net
	if err := p.during(fmt.Sprintf("Starting %d chains", len(chain.Networks())), func() (err error) {
		chains, err = reference.Start(ctx, o.rpcPort)
		return err
	}); err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, chains.Close()) }()
	chains.SettleAfter = o.settleAfter

	unhappy, err := o.unhappyEnv(dir)
	if err != nil {
		return err
	}
	gateway, err := startGateway(ctx, chains, o, unhappy)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, gateway.Stop()) }()

	page, err := servePage(o.page, gateway.URL(), chains)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.close()) }()

	d := &devnet{printer: p, chains: chains, gateway: gateway, page: page, reports: make(chan reference.Report, 1000)}
	stopped, err := chains.Operate(ctx, func(r reference.Report) { d.reports <- r })
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer stopped()
	defer p.line("\nStopping.")

	d.introduce()
	if o.demo != nil {
		if err := d.demonstrate(ctx, *o.demo); err != nil {
			return unlessStopped(ctx, fmt.Errorf("the demonstration: %w", err))
		}
	}
	d.invite()
	d.stay(ctx)
	return nil
}

// unlessStopped is the error of something that went wrong by itself, and not because it was stopped.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// startGateway runs the gateway where it was asked to be, or where there is room. Its settings that have nothing to
// do with the chains may be given in the environment. It limits requests by default, so that who builds on it meets
// that here first.
func startGateway(
	ctx context.Context, chains *reference.Net, o options, unhappy []string,
) (*child.Server, error) {
	gateway := child.Gateway{
		Binary: o.gateway,
		Listen: o.listen,
		Env:    slices.Concat(os.Environ(), gatewayEnv(chains), unhappy),
		Log:    &child.Log{See: func(line []byte) { fmt.Fprintf(o.logs, "%s\n", line) }},
	}
	return gateway.Start(ctx)
}

// gatewayEnv are the settings of a gateway that reads these chains.
func gatewayEnv(chains *reference.Net) []string {
	env := []string{"ISSUER_FEE_URL=" + chains.IssuerURL()}
	for _, n := range chain.Networks() {
		env = append(env, "RPC_URLS_"+n.ID.String()+"="+chains.Chain(n.ID).URL())
	}
	return env
}

// unhappyEnv are the settings of a gateway that has it as hard as is asked for, with its deployment file. They count
// before earlier ones.
func (o options) unhappyEnv(dir string) (env []string, err error) {
	if o.failing != 0 {
		env = append(env, "RPC_URLS_"+o.failing.String()+"=http://127.0.0.1:1") // nobody answers there
	}
	var file map[string]any
	if err := json.Unmarshal(chain.ReferenceFile(), &file); err != nil {
		return nil, err
	}
	demanded := map[string]uint64{}
	for _, n := range chain.Networks() {
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

// A devnet is what is up.
type devnet struct {
	*printer
	chains  *reference.Net
	gateway *child.Server
	page    *pageProxy
	reports chan reference.Report // of the operator; there is room for all that nobody has read yet
}

// introduce says where everything is.
func (d *devnet) introduce() {
	d.line("\n  gateway      %s", d.gateway.URL())
	d.line("  issuer       %s, of USDC: fees, and what became of a burn", d.chains.IssuerURL())
	d.line("  page         %s, with a test wallet that signs as the user", d.page.address)
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
	avalanche := d.chains.Chain(43114).URL()
	d.line("\nThe devnet is up, and settles what is swapped on it. Try %s in a browser, or in another terminal:\n",
		d.page.address)
	d.line("  QUOTE_KEY=%s \\", hexutil.Encode(crypto.FromECDSA(reference.User.Key)))
	d.line("  go run ./cmd/quote -gateway %s -from USDC@43114 -to USDC@369 -amount 100 \\", d.gateway.URL())
	d.line("    -recipient 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed -execute -wait -rpc %s", avalanche)
	d.line("\nCtrl-C stops everything.")
}

// stay tells of what is settled until ctx or the gateway ends.
func (d *devnet) stay(ctx context.Context) {
	for {
		select {
		case r := <-d.reports:
			d.tell(r)
		case <-d.gateway.Done():
			d.line("The gateway is gone.")
			return
		case <-ctx.Done():
			return
		}
	}
}

// await gives the report on a transaction, and tells of the others that come before it.
func (d *devnet) await(ctx context.Context, tx common.Hash) (reference.Report, error) {
	for {
		select {
		case r := <-d.reports:
			if r.Tx == tx {
				return r, nil
			}
			d.tell(r)
		case <-ctx.Done():
			return reference.Report{}, context.Cause(ctx)
		}
	}
}

func (d *devnet) tell(r reference.Report) {
	if r.Err != nil {
		d.line("Not settled: %s on chain %s: %v", r.Tx, r.Network, r.Err)
		return
	}
	d.line("Settled: %s on chain %s: %s", r.Tx, r.Network, account(r.Payout))
}

// account says in one line who was paid what.
func account(p *reference.Payout) string {
	found, err := chain.FindToken(p.DstChain, p.DstToken.Hex())
	if err != nil {
		return err.Error()
	}
	token := *found
	net := p.Settlement.Amount
	text := fmt.Sprintf("%s to %s on chain %s", swap.Money(net, token), common.BytesToAddress(p.Recipient), p.DstChain)
	if p.RecipientType != 0 {
		bps := chain.Reference().Railgun.ShieldBPS
		text = fmt.Sprintf("%s to a private balance on chain %s (%s)",
			swap.Money(swap.AfterRailgun(net, bps), token), p.DstChain, swap.LessRailgun(net, token, bps))
	}
	text += "; fees " + swap.Money(p.Settlement.ProtocolFee, token)
	if p.Settlement.IntegratorFee.Sign() > 0 {
		text += fmt.Sprintf(" and %s to the integrator", swap.Money(p.Settlement.IntegratorFee, token))
	}
	return text
}
