package status

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// Logs are asked for in ranges of blocks, from the latest one back. Providers limit
// the ranges, each in another way, so a range that is refused is halved, and one
// that is answered is doubled.
const (
	firstSpan  = 2_000
	widestSpan = 50_000
	mostSteps  = 40          // ranges in one look-up
	mostRanges = 16          // of them for one event
	clockSkew  = time.Minute // between the clocks of two chains
)

// found is a log and the time of its block.
type found struct {
	log  rpc.Log
	time time.Time
}

// find looks for the log of a contract, from head back to the block of a time. It
// returns nil if it does not find it within its bounds, or cannot ask: then the
// next look-up may.
func (l *lookup) find(ctx context.Context, network chain.ID, contracts []common.Address, topics []*common.Hash, head uint64, since time.Time) *found {
	span, refused := l.span(network), false
	for last, ranges := head, 0; ranges < mostRanges && l.steps > 0; ranges++ {
		l.steps--
		first := last - min(last, span-1)
		r := logRange{contracts: contracts, topics: topics, first: first, last: last}
		if err := l.chains.Ask(ctx, network, rpc.Tracking, r.ask); err != nil {
			// Whatever the reason, fewer blocks may be answered.
			span, refused = max(span/2, 1), true
			l.learn(network, span)
			if r.refused && first < last {
				continue
			}
			return nil
		}
		if r.found != nil {
			return r.found
		}
		if first == 0 || r.begins.Before(since.Add(-clockSkew)) {
			return nil
		}
		last = first - 1
		if !refused && span < widestSpan {
			span = min(2*span, widestSpan)
			l.learn(network, span)
		}
	}
	return nil
}

// span is how many blocks the first range has.
func (t *Tracker) span(network chain.ID) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.spans[network]; n > 0 {
		return n
	}
	return firstSpan
}

func (t *Tracker) learn(network chain.ID, span uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spans[network] = span
}

// logRange is one question for logs.
type logRange struct {
	contracts   []common.Address
	topics      []*common.Hash
	first, last uint64

	found   *found
	begins  time.Time // when the first block was made
	refused bool      // an endpoint wants fewer blocks
}

func (r *logRange) ask(ctx context.Context, e *rpc.Endpoint) error {
	var (
		logs  []rpc.Log
		edge  *rpc.Block
		reads = []rpc.Read{rpc.ReadLogs(r.contracts, r.topics, r.first, r.last, &logs), rpc.ReadBlock(r.first, &edge)}
	)
	err := e.Batch(ctx, reads)
	if err == nil && reads[0].Err != nil {
		err = reads[0].Err
	}
	if err != nil {
		var f *rpc.Failure
		r.refused = r.refused || errors.As(err, &f) && f.Reason == rpc.Declined
		return err
	}
	for i := range logs {
		if !r.matches(&logs[i]) {
			continue
		}
		at, err := readBlock(ctx, e, uint64(logs[i].BlockNumber), logs[i].BlockHash)
		if err != nil {
			return err
		}
		r.found = &found{logs[i], at}
		return nil
	}
	if edge == nil || uint64(edge.Number) != r.first {
		return &rpc.Failure{Reason: rpc.Declined, Text: "it does not have the first block of the range"}
	}
	r.begins = time.Unix(int64(min(edge.Time, hexutil.Uint64(1<<40))), 0)
	return nil
}

// matches makes sure that a log is what was asked for.
func (r *logRange) matches(log *rpc.Log) bool {
	n := uint64(log.BlockNumber)
	if log.Removed || n < r.first || n > r.last || !slices.Contains(r.contracts, log.Address) || len(log.Topics) < len(r.topics) {
		return false
	}
	for i, topic := range r.topics {
		if topic != nil && log.Topics[i] != *topic {
			return false
		}
	}
	return true
}
