package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Where a chain has two endpoints, two must agree before anything is final. A single
// endpoint is trusted.

// statement is what one endpoint reports about an event on its chain.
type statement struct {
	place  int         // of the endpoint
	head   rpc.Block   // of the endpoint
	digest common.Hash // of what it reports; zero for nothing
	block  uint64      // in which it happened
	swap   bool        // there are funds to track; what ends a swap needs all to agree
	doubt  string      // why its data is inconsistent, so that others are called; empty if it is consistent

	// About the transaction that is looked up.
	known  bool             // it has the transaction, or its receipt
	tx     *rpc.Transaction // nil if the endpoint does not return it
	source *source          // nil while it is in no block

	paid *payout // of a settlement: nil unless both the event and the transfer exist
}

// verdict is the result of all statements.
type verdict struct {
	statement      // the one that counts; without a digest if no endpoint reports anything
	agree     int  // endpoints that are up to date and report the same
	differ    int  // endpoints that are up to date, have the block and report something else
	lag       int  // endpoints that do not have the block yet
	upToDate  int  // endpoints that are up to date
	unsure    bool // whether an endpoint has a doubt

	confirmations uint64 // of the block, at the lowest head of those that agree
}

// reportsNothing means that no endpoint reports the event.
func (v *verdict) reportsNothing() bool { return v.digest == common.Hash{} }

// headsApart is how many blocks apart the heads of two healthy nodes of a chain may be.
const headsApart = 2

// ask reads from the endpoints of a chain in turn until their answers suffice. The answer that
// nothing happened needs neededForNo of them. If too few have answered, the error is a
// *rpc.Failure.
func (l *lookup) ask(
	ctx context.Context, network chain.ID, queue rpc.Queue, neededForNo int,
	read func(ctx context.Context, e *rpc.Endpoint, before []statement) (statement, error),
) (answers []statement, v verdict, err error) {
	l.pace = max(l.pace, network.BlockTime())
	attempts := l.chains.Try(rpc.Question{Network: network, Queue: queue, Caller: l.caller})
	for ctx, e := range attempts.Each(ctx) {
		answer, err := read(ctx, e, answers)
		if err != nil {
			attempts.Failed(err)
			continue
		}
		answer.place = e.Place
		answers = append(answers, answer)
		v = l.weigh(network, answers)
		if l.isEnough(network, v, neededForNo) {
			break
		}
	}
	return answers, v, attempts.Err()
}

func (l *lookup) isEnough(network chain.ID, v verdict, neededForNo int) bool {
	switch {
	case v.reportsNothing():
		return v.upToDate >= neededForNo && !v.unsure
	case v.swap && v.confirmations < l.deployment.Confirmations(network):
		return v.agree > 0
	}
	return v.agree >= l.needed(network)
}

// weigh finds what most endpoints report. In a tie, a swap wins.
func (l *lookup) weigh(network chain.ID, answers []statement) verdict {
	best := l.count(network, answers, statement{})
	for _, s := range answers {
		v := l.count(network, answers, s)
		better := best.reportsNothing() || v.agree > best.agree || v.agree == best.agree && s.swap && !best.swap
		if !v.reportsNothing() && better {
			best = v
		}
	}
	return best
}

// count counts the endpoints that agree with a statement.
func (l *lookup) count(network chain.ID, answers []statement, chosen statement) verdict {
	v := verdict{statement: chosen}
	head := chosen.head.Number
	for _, s := range answers {
		v.unsure = v.unsure || s.doubt != ""
		switch {
		case l.isStalled(network, s):
			continue
		case s.digest == v.digest:
			v.agree++
			v.block = max(v.block, s.block)
			head = min(head, s.head.Number)
		case s.digest == (common.Hash{}) && uint64(s.head.Number) < v.block+headsApart:
			v.lag++
		default:
			v.differ++
		}
		v.upToDate++
	}
	v.confirmations = max(uint64(head), v.block) - v.block + 1
	return v
}

// isStalled reports whether the head of an endpoint is too old. The only endpoint of a chain is
// still trusted about what it has.
func (l *lookup) isStalled(network chain.ID, s statement) bool {
	trusted := l.chains.Endpoints(network) == 1 && s.digest != (common.Hash{})
	return s.head.TooOld(network, l.now()) && !trusted
}

// behind is the failure of a chain with endpoints that have stalled. It names each, and those that
// did not answer at all, for which err is.
func (l *lookup) behind(network chain.ID, answers []statement, err error) *rpc.Failure {
	var texts []string
	for _, s := range answers {
		if l.isStalled(network, s) {
			texts = append(texts, rpc.NameEndpoint(s.place, l.chains.Behind(network, &s.head, l.now()).Text))
		}
	}
	if failure, failed := errors.AsType[*rpc.Failure](err); failed {
		texts = append(texts, failure.Text)
	}
	return &rpc.Failure{Reason: rpc.Behind, Text: rpc.Details(texts)}
}

// needed is how many endpoints must agree before something is final on a chain.
func (l *lookup) needed(network chain.ID) int { return min(2, l.chains.Endpoints(network)) }

// isFinal reports whether an event has its confirmations and enough endpoints agree on it, and
// if they do not, why.
func (l *lookup) isFinal(network chain.ID, v verdict) (final bool, doubt string) {
	need := l.deployment.Confirmations(network)
	deep := v.confirmations >= need
	if !deep {
		l.expect(time.Duration(need-v.confirmations) * network.BlockTime())
	}
	agreed := v.agree >= l.needed(network) && (v.swap || v.differ == 0)
	if agreed || !deep && v.swap && v.differ == 0 {
		return deep && agreed, ""
	}
	doubt = "Only one node of chain %s is up to date and answered, so this is not final yet"
	switch {
	case v.differ > 0:
		doubt = "The nodes of chain %s disagree, so this is not final yet"
	case v.lag > 0:
		doubt = "Not every node of chain %s has the block yet, so this is not final yet"
	}
	return false, fmt.Sprintf(doubt, network)
}
