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
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"golang.org/x/sync/errgroup"

	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/words"
)

// chainsAtOnce is how many chains are asked at the same time. An endpoint has ten
// seconds, so that all 21 chains take 48 seconds if none of them answers.
const chainsAtOnce = 6

// OnChain tests every endpoint and, through each of them, every contract of the
// deployment. The results are in the order of the chains. If d is nil, only the
// endpoints are tested. The log is for bugs alone.
func OnChain(ctx context.Context, d *chain.Deployment, chains *rpc.Client, log *slog.Logger) []Result {
	networks := chain.Networks()
	byChain := make([][]Result, len(networks))
	var group errgroup.Group
	group.SetLimit(chainsAtOnce)
	for i, n := range networks {
		group.Go(func() error {
			all := contracts(d, n.ID)
			byChain[i] = judge(n.ID, d != nil && d.Tracked(), all, ask(ctx, chains, n.ID, all, log))
			return nil
		})
	}
	_ = group.Wait() // the results have the errors
	return slices.Concat(byChain...)
}

// answer is what one endpoint says of the contracts of its chain.
type answer struct {
	problems []string // for each contract, empty if it is right
	err      error    // instead, if the endpoint does not work
}

// errBug is in place of an answer until there is one.
var errBug = errors.New("the test has a bug, which is in the log")

func ask(ctx context.Context, chains *rpc.Client, network chain.ID, all []contract, log *slog.Logger) []answer {
	answers := make([]answer, chains.Endpoints(network))
	var group sync.WaitGroup
	for i := range answers {
		answers[i].err = errBug
		group.Go(func() {
			guard.Do(log, "testing an endpoint", func() {
				answers[i].err = chains.Check(ctx, network, i+1, func(ctx context.Context, e *rpc.Endpoint) (err error) {
					answers[i].problems, err = examine(ctx, e, network, all)
					return err
				})
			})
		})
	}
	group.Wait()
	return answers
}

// judge makes the results of a chain from what its endpoints say.
func judge(network chain.ID, tracked bool, all []contract, answers []answer) (results []Result) {
	add := func(what What, test string, outcome Outcome, detail string) {
		results = append(results, Result{fmt.Sprintf("chain %s, %s", network, test), what, network, outcome, detail})
	}
	if len(answers) == 0 && tracked {
		add(Status, "status of swaps", NotTested, noEndpoint(network)+": nobody can tell what became of a swap from or to it")
	}
	for i, a := range answers {
		outcome, detail := explain(a.err)
		add(Endpoint, fmt.Sprintf("endpoint %d", i+1), outcome, detail)
	}
	for i, c := range all {
		outcome, detail := verdict(network, i, answers)
		add(c.what, c.name(), outcome, detail)
	}
	return results
}

func noEndpoint(network chain.ID) string { return "no endpoint for chain " + network.String() }

// verdict is what the endpoints together say of one contract. It is right if all
// that answer find so.
func verdict(network chain.ID, contract int, answers []answer) (Outcome, string) {
	var problem string
	var says []string // the endpoints that see the problem
	answered := 0
	for i, a := range answers {
		if a.err == nil {
			answered++
			if p := a.problems[contract]; p != "" && (problem == "" || p == problem) {
				problem, says = p, append(says, strconv.Itoa(i+1))
			}
		}
	}
	switch {
	case len(answers) == 0:
		return NotTested, noEndpoint(network)
	case answered == 0:
		return NotTested, "no endpoint of chain " + network.String() + " works"
	case problem == "":
		return OK, ""
	case len(says) < answered:
		return Failed, problem + ", says endpoint " + strings.Join(says, ", ")
	}
	return Failed, problem
}

// explain says what is wrong with an endpoint, if anything. One whose turn did not
// come was not tested.
func explain(err error) (Outcome, string) {
	var f *rpc.Failure
	switch {
	case err == nil:
		return OK, ""
	case !errors.As(err, &f):
		return Failed, err.Error()
	case f.Reason == rpc.Busy:
		return NotTested, f.Text
	}
	return Failed, f.Text
}

// contract is one that the deployment names.
type contract struct {
	what    What
	role    string // such as "router of USDC"
	address chain.Address
	token   chain.Token // of a router: what it takes
}

func (c contract) name() string { return c.role + " " + c.address.String() }

// contracts are those of the deployment on a network. A nil deployment has none.
func contracts(d *chain.Deployment, network chain.ID) (found []contract) {
	if d == nil {
		return nil
	}
	pooled := slices.Contains(chain.PoolChains, network)
	for _, row := range d.Routers() {
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
	if pooled {
		found = append(found, contract{what: Registry, role: "registry", address: d.Registry(network)})
	}
	if network == d.Settlement.ChainID {
		found = append(found, contract{what: Receiver, role: "receiver", address: d.Settlement.Receiver})
	}
	return found
}

// examine asks an endpoint about the contracts of its chain. For each it returns
// what is wrong with it, or nothing. The error is a *rpc.Failure of the endpoint.
func examine(ctx context.Context, e *rpc.Endpoint, network chain.ID, all []contract) ([]string, error) {
	if err := checkHead(ctx, e, network); err != nil {
		return nil, err
	}
	problems := make([]string, len(all))
	var reads []rpc.Read
	var judges []func(*rpc.Failure) // of the reads
	for i, c := range all {
		var code hexutil.Bytes
		if err := e.ReadAll(ctx, rpc.ReadCode(c.address.Address, &code)); err != nil {
			return nil, err
		}
		var output hexutil.Bytes
		switch problems[i] = checkCode(code); {
		case problems[i] != "":
		case c.what == Router:
			reads = append(reads, rpc.ReadContract(c.address.Address, calldata.Token(), &output))
			judges = append(judges, func(*rpc.Failure) { problems[i] = checkToken(output, c.token) })
		case c.what == Registry:
			reads = append(reads, rpc.ReadContract(c.address.Address, integrator.Probe(), &output))
			judges = append(judges, func(f *rpc.Failure) { problems[i] = checkRegistry(output, f) })
		}
	}
	if err := e.Batch(ctx, reads); err != nil {
		return nil, err
	}
	for i, read := range reads {
		judges[i](read.Err)
	}
	return problems, nil
}

// checkHead fails if the endpoint stands still.
func checkHead(ctx context.Context, e *rpc.Endpoint, network chain.ID) error {
	var latest *rpc.Block
	if err := e.ReadAll(ctx, rpc.ReadLatest(&latest)); err != nil {
		return err
	}
	if latest == nil {
		return &rpc.Failure{Reason: rpc.Undecodable, Text: "it has no latest block"}
	}
	if age := time.Since(time.Unix(int64(min(latest.Time, 1<<40)), 0)); age > network.UsualGap() {
		return &rpc.Failure{Reason: rpc.Declined, Text: "it stands still: its latest block is " + words.Span(age) + " old"}
	}
	return nil
}

func checkCode(code []byte) string {
	switch {
	case len(code) == 0:
		return "there is no contract at this address"
	case bytes.HasPrefix(code, []byte{0xef, 0x01, 0x00}) && len(code) == 3+common.AddressLength: // EIP-7702
		return "this is a plain account that borrows the code of a contract, and its owner can change that at any time"
	}
	return ""
}

func checkRegistry(output []byte, f *rpc.Failure) string {
	const wrong = "this contract does not answer as a registry: "
	err := integrator.CheckProbe(output)
	switch {
	case f != nil:
		return wrong + f.Text
	case len(output) == 0:
		return wrong + "it answers nothing"
	case err != nil:
		return wrong + err.Error()
	}
	return ""
}

// checkToken compares what a pool says to be its token. No output, or one of another
// shape, is not an answer to token(), which a pool need not have.
func checkToken(output []byte, want chain.Token) string {
	const word = 32
	if len(output) != word || len(bytes.TrimLeft(output, "\x00")) > common.AddressLength {
		return ""
	}
	if got := common.BytesToAddress(output); got != want.Address.Address {
		return fmt.Sprintf("this pool takes the token %s, and not %s, which is %s", got, want.Symbol, want.Address)
	}
	return ""
}
