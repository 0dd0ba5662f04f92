package status

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Where a chain has two endpoints, two must agree before anything is final. A single
// endpoint is trusted.

// statement is what one endpoint says of something that happened on its chain.
type statement struct {
	head   rpc.Block   // of the endpoint
	digest common.Hash // of what it says; zero if it knows of nothing
	block  uint64      // in which it happened
	swap   bool        // there is money to follow; what ends a swap needs all to agree
	doubt  string      // why what it says does not fit together, so that others are asked; empty if it does

	// Of the transaction that is looked up.
	known  bool             // it has the transaction, or its receipt
	tx     *rpc.Transaction // nil if it does not say
	source *source          // nil while it is in no block

	paid *payout // of a settlement: nil unless there is the event, and the money
}

// verdict is what the statements come to.
type verdict struct {
	statement      // that counts; without a digest if no endpoint reports anything
	agree     int  // endpoints that are up to date and say that
	differ    int  // endpoints that are up to date, have the block and say something else
	lag       int  // endpoints that do not have the block yet
	upToDate  int  // endpoints that are
	unsure    bool // whether an endpoint has a doubt

	confirmations uint64 // of the block, at the lowest head of those who agree
}

// reportsNothing tells that no endpoint knows of what was asked for.
func (v *verdict) reportsNothing() bool { return v.digest == common.Hash{} }

// headsApart is how many blocks the heads of two nodes may be apart, without one of them
// standing still or telling of another chain.
const headsApart = 2

// ask reads from the endpoints of a chain in turn until their answers suffice. The answer
// that nothing happened must come from neededForNo of them. If too few have answered, the
// error is a *rpc.Failure.
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

// weigh finds what most endpoints say. Where as many say one thing as another, a swap is
// believed before anything else.
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

// count counts who agrees with a statement.
func (l *lookup) count(network chain.ID, answers []statement, chosen statement) verdict {
	v := verdict{statement: chosen}
	head := chosen.head.Number
	for _, s := range answers {
		v.unsure = v.unsure || s.doubt != ""
		switch {
		case l.standsStill(network, s):
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

// standsStill tells whether the head of an endpoint is too old. The only endpoint of a
// chain is believed all the same about what it has.
func (l *lookup) standsStill(network chain.ID, s statement) bool {
	believed := l.chains.Endpoints(network) == 1 && s.digest != (common.Hash{})
	return s.head.TooOld(network, l.now()) && !believed
}

// needed is how many endpoints make something final on a chain.
func (l *lookup) needed(network chain.ID) int { return min(2, l.chains.Endpoints(network)) }

// isFinal tells whether enough endpoints agree on what has its confirmations, and if they
// do not, why.
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
