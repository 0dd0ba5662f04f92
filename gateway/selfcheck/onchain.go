package selfcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/safego"
)

// chainsAtOnce is how many chains are tested concurrently. An endpoint has ten seconds, so all
// chains together take 48 seconds if none of them answers.
const chainsAtOnce = 6

// OnChain tests every endpoint and, through each of them, every contract of the
// deployment. The results are in the order of the chains. The log is for bugs alone.
func OnChain(
	ctx context.Context, d *chain.Deployment, chains *rpc.Client, log *slog.Logger,
) (results []Result) {
	networks := d.Networks()
	answers := make([][]answer, len(networks)) // nil where a bug has ended the test
	var group safego.Group
	slots := make(chan struct{}, chainsAtOnce)
	for i, n := range networks {
		slots <- struct{}{}
		group.Go(log, "testing a chain", func() {
			defer func() { <-slots }()
			answers[i] = ask(ctx, chains, n.ID, contracts(d, n.ID), log)
		})
	}
	group.Wait()
	for i, n := range networks {
		if answers[i] == nil {
			name := fmt.Sprintf("chain %s", n.ID)
			results = append(results, Result{Name: name, What: Endpoint, Chain: n.ID, Outcome: Failed, Detail: bug})
			continue
		}
		for j := range answers[i] {
			answers[i][j].excuse(chains, n.ID)
		}
		results = append(results, judge(n.ID, d.Tracked(), contracts(d, n.ID), answers[i])...)
	}
	return results
}

// answer is what one endpoint reports about the contracts of its chain.
type answer struct {
	found   []string // what is wrong with each contract; empty if it is right
	failure string   // instead, if the endpoint does not work
	stalled *stalled // why, if its latest block is too old
}

// excuse says so if this machine's clock is why an endpoint seems to have stalled. That is known
// once all chains have answered.
func (a *answer) excuse(chains *rpc.Client, network chain.ID) {
	if a.stalled == nil {
		return
	}
	if excuse := chains.Excuse(network, &a.stalled.latest, a.stalled.at); excuse != "" {
		a.failure = "its latest block is " + a.stalled.age() + " old" + excuse
	}
}

// stalled is an endpoint whose latest block, at a time, is too old.
type stalled struct {
	latest rpc.Block
	at     time.Time
}

func (s *stalled) age() string { return humanize.Span(s.at.Sub(s.latest.At())) }

func (s *stalled) Error() string { return "it has stalled: its latest block is " + s.age() + " old" }

// bug stands in for a result until there is one.
const bug = "internal error in this test; see the log"

func ask(ctx context.Context, chains *rpc.Client, network chain.ID, all []contract, log *slog.Logger) []answer {
	answers := make([]answer, chains.Endpoints(network))
	var group safego.Group
	for i := range answers {
		answers[i].failure = bug
		group.Go(log, "testing an endpoint", func() {
			var found []string
			var late *stalled
			q := rpc.Question{Network: network, Queue: rpc.Checks, Endpoint: i + 1}
			err := chains.Ask(ctx, q, func(ctx context.Context, e *rpc.Endpoint) (err error) {
				found, err = examine(ctx, e, network, all)
				if errors.As(err, &late) {
					return &rpc.Failure{Reason: rpc.Declined, Text: late.Error()}
				}
				return err
			})
			if f, failed := errors.AsType[*rpc.Failure](err); failed {
				answers[i] = answer{failure: f.Text, stalled: late}
			} else if err == nil {
				answers[i] = answer{found: found}
			}
		})
	}
	group.Wait()
	return answers
}

// judge makes the results of a chain from the answers of its endpoints.
func judge(network chain.ID, tracked bool, all []contract, answers []answer) (results []Result) {
	add := func(what What, test string, outcome Outcome, detail string) *Result {
		name := fmt.Sprintf("chain %s, %s", network, test)
		results = append(results, Result{Name: name, What: what, Chain: network, Outcome: outcome, Detail: detail})
		return &results[len(results)-1]
	}
	if len(answers) == 0 && tracked {
		add(Status, "status of swaps", NotTested,
			noEndpoint(network)+": swaps from and to it cannot be tracked")
	}
	for i, a := range answers {
		outcome := OK
		detail := ""
		if a.failure != "" {
			outcome = Failed
			detail = a.failure
		} else if len(answers) == 1 {
			detail = "the only endpoint of this chain, so nothing confirms its answers; " +
				"add one of another provider"
		}
		add(Endpoint, fmt.Sprintf("endpoint %d", i+1), outcome, detail)
	}
	for i, c := range all {
		outcome, detail, missing := verdict(network, i, answers)
		r := add(c.what, c.name(), outcome, detail)
		if missing {
			r.Missing = c.address.Address
		}
	}
	return results
}

func noEndpoint(network chain.ID) string { return "no endpoint for chain " + network.String() }

// verdict is the combined result of all endpoints for one contract. It passes if all that answer
// find it right, and is missing if all of them find none.
func verdict(network chain.ID, contract int, answers []answer) (_ Outcome, detail string, missing bool) {
	var problem string
	var reportedBy []string // the endpoints that find the problem
	answered := 0
	without := 0 // those that find no contract
	for i, a := range answers {
		if a.failure != "" {
			continue
		}
		answered++
		found := a.found[contract]
		if found == noContract || found == delegatesCode {
			without++
		}
		if found != "" && (problem == "" || found == problem) {
			problem = found
			reportedBy = append(reportedBy, strconv.Itoa(i+1))
		}
	}
	switch {
	case len(answers) == 0:
		return NotTested, noEndpoint(network), false
	case answered == 0:
		return NotTested, "no endpoint of chain " + network.String() + " works", false
	case problem == "":
		return OK, "", false
	case len(reportedBy) < answered:
		problem += ", according to endpoint " + strings.Join(reportedBy, ", ")
	}
	return Failed, problem, without == answered
}

// contract is a contract that the swaps of a deployment need.
type contract struct {
	what    What
	role    string // such as "router of USDC"
	address chain.Address
	token   chain.Token // that a router accepts
}

func (c contract) name() string { return c.role + " " + c.address.String() }

// contracts are those of the deployment on a network, and the tokens of its pairs.
func contracts(d *chain.Deployment, network chain.ID) (found []contract) {
	pooled := slices.Contains(chain.PoolChains, network)
	for _, row := range d.Contracts() {
		if row.ChainID.Network() != network {
			continue
		}
		c := contract{Messenger, "messenger", row.Router, row.Token}
		if pooled {
			c.what, c.role = Router, "router of "+row.Token.Symbol
		}
		if row.ChainID.Private() {
			c.role += " for " + row.ChainID.String()
		}
		found = append(found, c)
	}
	for _, p := range d.Pairs() {
		for _, t := range []chain.Token{p.SrcToken, p.DstToken} {
			token := contract{what: Token, role: "token " + t.Symbol, address: t.Address}
			if t.ChainID == network && !t.Native() && !slices.Contains(found, token) {
				found = append(found, token)
			}
		}
	}
	if registry := d.Registry(network); registry != (chain.Address{}) {
		found = append(found, contract{what: Registry, role: "registry", address: registry})
	}
	if network == d.Settlement.ChainID && d.Settlement.Receiver != (chain.Address{}) {
		found = append(found, contract{what: Receiver, role: "receiver", address: d.Settlement.Receiver})
	}
	return found
}

// examine finds the problems of a chain's contracts through one of its endpoints. The error is
// a *stalled or a *rpc.Failure of the endpoint.
func examine(ctx context.Context, e *rpc.Endpoint, network chain.ID, all []contract) (problems []string, err error) {
	if err := checkHead(ctx, e, network); err != nil {
		return nil, err
	}
	for _, c := range all {
		problem, err := c.examine(ctx, e)
		if err != nil {
			return nil, err
		}
		problems = append(problems, problem)
	}
	return problems, nil
}

func (c contract) examine(ctx context.Context, e *rpc.Endpoint) (problem string, err error) {
	var code, output hexutil.Bytes
	if err := e.ReadAll(ctx, rpc.ReadCode(c.address.Address, &code)); err != nil {
		return "", err
	}
	p, ours := probes[c.what]
	switch {
	case len(code) == 0:
		return noContract, nil
	case !rpc.IsContract(code):
		return delegatesCode, nil
	case !ours:
		return "", nil
	}
	call := []rpc.Read{rpc.ReadContract(c.address.Address, p.input, &output)}
	if err := e.Batch(ctx, call); err != nil {
		return "", err
	}
	return c.checkAnswer(p, output, call[0].Err), nil
}

// checkHead fails if the endpoint has stalled.
func checkHead(ctx context.Context, e *rpc.Endpoint, network chain.ID) error {
	var latest rpc.Block
	if err := e.ReadAll(ctx, rpc.ReadLatest(&latest)); err != nil {
		return err
	}
	if now := time.Now(); latest.TooOld(network, now) {
		return &stalled{latest, now}
	}
	return nil
}

// Both mean that the contract is missing.
const (
	noContract    = "there is no contract at this address"
	delegatesCode = "this is an account that delegates to a contract (EIP-7702), " +
		"and its owner can change that at any time"
)

// probe is a call that reports whether a contract is what it should be.
type probe struct {
	kind  string
	input []byte
	check func(c contract, output []byte) error
}

// probes are for our own contracts. Those of others need only exist.
var probes = map[What]probe{
	Router:   {"pool", calldata.Token(), checkToken},
	Registry: {"registry", integrator.Probe(), checkRegistry},
	Receiver: {"receiver", calldata.IsUsed(unusedNonce), checkReceiver},
}

// checkAnswer says what is wrong with the answer to the probe, if anything.
func (c contract) checkAnswer(p probe, output []byte, f *rpc.Failure) string {
	err := errors.New("it returns no data")
	switch {
	case f != nil:
		err = errors.New(f.Text)
	case len(output) > 0:
		err = p.check(c, output)
	}
	if err != nil {
		return "this contract does not answer as a " + p.kind + ": " + err.Error()
	}
	return ""
}

func checkRegistry(_ contract, output []byte) error { return integrator.CheckProbe(output) }

const word = 32 // bytes

// checkToken compares the token that a pool returns.
func checkToken(c contract, output []byte) error {
	if len(output) != word || len(bytes.TrimLeft(output, "\x00")) > common.AddressLength {
		return errors.New("token() is not an address")
	}
	if got := common.BytesToAddress(output); got != c.token.Address.Address {
		return fmt.Errorf("its token is %s, and not %s", got, c.token.Address)
	}
	return nil
}

// unusedNonce is one that no message has. The issuer's nonces are hashes.
var unusedNonce = common.Hash{31: 1}

// checkReceiver checks that the receiver reports the nonce as unused.
func checkReceiver(_ contract, output []byte) error {
	if len(output) != word || len(bytes.TrimLeft(output, "\x00")) > 0 {
		return errors.New("usedNonces(1) is not 0")
	}
	return nil
}
