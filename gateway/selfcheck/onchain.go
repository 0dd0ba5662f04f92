package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/guard"
	"github.com/quotegate/quotegate/shared/rpc"
)

// chainsAtOnce is how many chains are asked at the same time. An endpoint has ten
// seconds, so that all 21 chains take 48 seconds if none of them answers.
const chainsAtOnce = 6

// OnChain tests every endpoint and, through each of them, every contract of the
// deployment. The results are in the order of the chains. If d is nil, only the
// endpoints are tested. The log is for bugs alone.
func OnChain(ctx context.Context, d *chain.Deployment, chains *rpc.Client, log *slog.Logger) []Result {
	networks := chain.Networks()
	endpoints := make(map[chain.ID]int)
	for _, h := range chains.Health() {
		endpoints[h.Network] = h.Endpoints
	}
	byChain := make([][]Result, len(networks))
	var group errgroup.Group
	group.SetLimit(chainsAtOnce)
	for i, n := range networks {
		group.Go(func() error {
			all := contracts(d, n.ID)
			byChain[i] = judge(n.ID, d != nil && d.Tracked(), all, ask(ctx, chains, n.ID, endpoints[n.ID], all, log))
			return nil
		})
	}
	_ = group.Wait() // the results have the errors
	var all []Result
	for _, results := range byChain {
		all = append(all, results...)
	}
	return all
}

// answer is what one endpoint says of the contracts of its chain.
type answer struct {
	problems []string // for each contract, empty if it is right
	err      error    // instead, if the endpoint does not work
}

// errBug is in place of an answer until there is one.
var errBug = errors.New("the test has a bug, which is in the log")

// ask asks all endpoints of a chain about its contracts.
func ask(ctx context.Context, chains *rpc.Client, network chain.ID, endpoints int, all []contract, log *slog.Logger) []answer {
	answers := make([]answer, endpoints)
	var group errgroup.Group
	for i := range answers {
		answers[i].err = errBug
		group.Go(func() error {
			guard.Do(log, "testing an endpoint", func() {
				answers[i].err = chains.Check(ctx, network, i+1, func(ctx context.Context, e *rpc.Endpoint) (err error) {
					answers[i].problems, err = examine(ctx, e, network, all)
					return err
				})
			})
			return nil
		})
	}
	_ = group.Wait() // the answers have the errors
	return answers
}

// judge makes the results of a chain from what its endpoints say.
func judge(network chain.ID, tracked bool, all []contract, answers []answer) (results []Result) {
	if len(answers) == 0 && tracked {
		name := fmt.Sprintf("chain %s, status of swaps", network)
		results = append(results, Result{Name: name, What: Status, Chain: network, Outcome: NotTested, Detail: noEndpoint(network) + ": nobody can tell what became of a swap from or to it"})
	}
	for i, a := range answers {
		r := Result{Name: fmt.Sprintf("chain %s, endpoint %d", network, i+1), What: Endpoint, Chain: network, Outcome: OK}
		if a.err != nil {
			r.Outcome, r.Detail = explain(a.err)
		}
		results = append(results, r)
	}
	for i, c := range all {
		r := Result{Name: c.name(network), What: c.what, Chain: network}
		r.Outcome, r.Detail = verdict(network, i, answers)
		results = append(results, r)
	}
	return results
}

func noEndpoint(network chain.ID) string { return "no endpoint for chain " + network.String() }

// verdict is what the endpoints together say of one contract. It is right if all
// that answer find so.
func verdict(network chain.ID, contract int, answers []answer) (Outcome, string) {
	if len(answers) == 0 {
		return NotTested, noEndpoint(network)
	}
	var problem string
	var says []string // the endpoints that see the problem
	answered := 0
	for i, a := range answers {
		if a.err != nil {
			continue
		}
		answered++
		if p := a.problems[contract]; p != "" && (problem == "" || p == problem) {
			problem, says = p, append(says, strconv.Itoa(i+1))
		}
	}
	switch {
	case answered == 0:
		return NotTested, "no endpoint of chain " + network.String() + " works"
	case problem == "":
		return OK, ""
	case len(says) < answered:
		return Failed, problem + ", says endpoint " + strings.Join(says, ", ")
	}
	return Failed, problem
}

// explain says what is wrong with an endpoint. One whose turn did not come was not
// tested.
func explain(err error) (Outcome, string) {
	f := (*rpc.Failure)(nil)
	if !errors.As(err, &f) {
		return Failed, err.Error()
	}
	if f.Reason == rpc.Busy {
		return NotTested, f.Text
	}
	return Failed, f.Text
}
