package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// An event is searched for forward from the block of its source's time, because most
// swaps are paid out soon. The steps of a look-up are bounded; the next one goes on
// where this one was.
const (
	firstSteps = 3                      // of the first look-up of a transaction
	laterSteps = 8                      // of each later one
	clockSkew  = time.Minute            // between the clocks of two chains
	fastest    = 200 * time.Millisecond // no chain makes blocks faster
	mostHits   = 2 * MostSwaps          // logs that one answer is read for
	longestLog = 4096                   // bytes of data; the events have a few hundred
)

// rungs are the ranges of blocks that providers answer. One that refuses a range is
// asked for the next shorter one, and for a longer one again after rungAge.
var rungs = [...]uint64{10_000, 2_000, 1_000, 500, 100, 10, 1}

const rungAge = time.Hour

type searchKey struct {
	network chain.ID
	topic   common.Hash // of the event
	name    common.Hash // what it is about; zero for all swaps together
}

type search struct {
	names []common.Hash // what the events are about

	located   bool   // first is known
	top       mark   // the head at first
	low, high mark   // between them is the block of the source's time
	probes    int    // how many blocks were read to find it
	first     uint64 // where the search began
	next      uint64 // the first block that was not searched
	rounds    int    // how often it went through all blocks in vain
	avoid     int    // the endpoint that showed nothing, or a lie

	hits map[common.Hash]*found
}

type mark struct {
	number uint64
	at     time.Time
}

type found struct {
	log   rpc.Log
	time  time.Time
	place int // of the endpoint that showed it
}

// reject forgets an event that does not fit, and has another endpoint asked for it.
func (s *search) reject(name common.Hash) {
	s.avoid = s.hits[name].place
	delete(s.hits, name)
	s.next = s.first
}

// searching is one step after another of a search.
type searching struct {
	key       searchKey
	contracts []common.Address
	names     []common.Hash
	place     int // of the topic that has the name
	head      *rpc.Block
	since     time.Time // the events are not older than this

	search *search
	told   string // what was searched, if an event is missing
}

// search looks for the event of each name. What is missing was not found within the
// bounds of this look-up, or cannot be asked for.
func (l *lookup) search(ctx context.Context, f *searching) map[common.Hash]*found {
	s := l.trail.searches[f.key]
	if s == nil {
		s = &search{hits: make(map[common.Hash]*found)}
		l.trail.searches[f.key] = s
	}
	if !slices.Equal(s.names, f.names) { // what was found is not searched for again
		maps.DeleteFunc(s.hits, func(name common.Hash, _ *found) bool { return !slices.Contains(f.names, name) })
		*s = search{names: f.names, hits: s.hits}
	}
	f.search = s
	for name, hit := range s.hits {
		if !l.deep(f.key.network, f.head, hit) { // its block may have been replaced
			delete(s.hits, name)
			again := uint64(hit.log.BlockNumber) - min(uint64(hit.log.BlockNumber), l.tracker.deployment.Confirmations(f.key.network))
			if !s.located || again < s.next {
				s.located, s.first, s.next = true, min(again, s.first), again
			}
		}
	}
	var err error
	for len(s.hits) < len(s.names) && s.next <= uint64(f.head.Number) && err == nil {
		if l.steps == 0 {
			l.tracker.RanOut()
			break
		}
		if !s.located {
			err = l.locate(ctx, f)
		} else {
			err = l.advance(ctx, f)
		}
	}
	switch {
	case len(s.hits) == len(s.names):
	case err != nil && !s.located:
		f.told = "Its event is not found yet: the chain did not answer"
	case err != nil:
		f.told = f.progress() + ", and the chain did not answer"
	case s.located && s.next > uint64(f.head.Number):
		// The contract says that there is one, so the endpoint lies, or has no logs of
		// that time. The next round begins earlier, at another endpoint.
		f.told = f.progress() + ", and it is in none of them; they are searched again"
		*s = search{names: s.names, hits: s.hits, rounds: s.rounds + 1, avoid: s.rounds%max(1, l.tracker.chains.Endpoints(f.key.network)) + 1}
	default:
		f.told = f.progress()
	}
	return s.hits
}

func (f *searching) progress() string {
	s := f.search
	if s.next == s.first {
		return fmt.Sprintf("Its event is not found yet: the search up to block %d has begun", f.head.Number)
	}
	return fmt.Sprintf("Its event is not found yet: blocks %d to %d of %d were searched", s.first, s.next-1, f.head.Number)
}

// locate narrows down where the search begins: at a block that is older than the
// source, and not by much.
func (l *lookup) locate(ctx context.Context, f *searching) error {
	s, span := f.search, l.tracker.span(f.key.network)
	// Each round in vain begins earlier: a minute, an hour, two and a half days.
	target := f.since.Add(-clockSkew)
	for range min(s.rounds, 2) {
		target = target.Add(-60 * f.since.Sub(target))
	}
	if s.high.number == 0 {
		s.top = mark{uint64(f.head.Number), time.Unix(int64(f.head.Time), 0)}
		s.high = s.top
	}
	pace := s.pace(f.key.network)
	begin := func(number uint64) error {
		s.located, s.first, s.next = true, number, number
		return nil
	}
	age := s.high.at.Sub(target)
	switch {
	case age <= 0:
		return begin(s.high.number)
	case uint64(age/fastest) <= span: // so few blocks that there is no need to ask
		return begin(s.high.number - min(s.high.number, uint64(age/fastest)))
	case s.high.number-s.low.number <= span || !s.low.at.IsZero() && target.Sub(s.low.at)/pace <= time.Duration(span):
		return begin(s.low.number)
	}
	// A little before where the block should be if blocks come evenly; in the middle
	// once that has not helped.
	back := (s.high.number - s.low.number) / 2
	if s.probes < 4 {
		back = uint64(s.high.at.Sub(target)/pace) + span/2
	}
	guess := s.high.number - min(max(back, 1), s.high.number-s.low.number-1)
	l.steps--
	var block *rpc.Block
	err := l.tracker.chains.Ask(ctx, f.key.network, rpc.Searches, func(ctx context.Context, e *rpc.Endpoint) error {
		if err := e.ReadAll(ctx, rpc.ReadBlock(guess, &block)); err != nil {
			return err
		}
		if block == nil || uint64(block.Number) != guess {
			return &rpc.Failure{Reason: rpc.Declined, Text: "it does not have an earlier block"}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.probes++
	m := mark{guess, time.Unix(int64(min(block.Time, hexutil.Uint64(1<<40))), 0)}
	if m.at.After(target) {
		s.high = m
	} else {
		s.low = m
	}
	return nil
}

// pace is how long a block takes, as far as is known.
func (s *search) pace(network chain.ID) time.Duration {
	from, to := s.low, s.high
	if from.at.IsZero() {
		from, to = s.high, s.top
	}
	if to.number <= from.number {
		return network.BlockTime()
	}
	return max(to.at.Sub(from.at)/time.Duration(to.number-from.number), time.Millisecond)
}

// advance asks for the logs of one more range.
func (l *lookup) advance(ctx context.Context, f *searching) error {
	l.steps--
	s, last, refused := f.search, uint64(0), false
	topics := slices.Repeat([][]common.Hash{{}}, f.place+1) // any
	topics[0], topics[f.place] = []common.Hash{f.key.topic}, s.names
	err := l.tracker.chains.Ask(ctx, f.key.network, rpc.Searches, func(ctx context.Context, e *rpc.Endpoint) error {
		if l.tracker.chains.Endpoints(f.key.network) > 1 && (e.Place == s.avoid || l.tracker.known(e).old) {
			return &rpc.Failure{Reason: rpc.Declined, Text: "it has shown no such event before, or stands still"}
		}
		last = min(uint64(f.head.Number), s.next+l.tracker.widest(e)-1)
		var logs []rpc.Log
		reads := []rpc.Read{rpc.ReadLogs(f.contracts, topics, s.next, last, &logs)}
		err := e.Batch(ctx, reads)
		if failure := reads[0].Err; failure != nil {
			if failure.Reason == rpc.Declined && last > s.next {
				refused = true
				l.tracker.narrow(e, last-s.next+1)
			}
			return failure
		}
		if err != nil {
			return err
		}
		return l.take(ctx, e, f, logs, last)
	})
	if err != nil && refused {
		s.located = s.next > s.first // a shorter range is worth a better beginning
		return nil
	}
	if err == nil {
		s.next = last + 1
	}
	return err
}

// take keeps the logs that are what was asked for.
func (l *lookup) take(ctx context.Context, e *rpc.Endpoint, f *searching, logs []rpc.Log, last uint64) error {
	times := make(map[common.Hash]time.Time)
	for i := range logs[:min(len(logs), mostHits)] {
		log := logs[i]
		n := uint64(log.BlockNumber)
		if len(log.Data) > longestLog || log.Removed || n < f.search.next || n > last || !slices.Contains(f.contracts, log.Address) ||
			len(log.Topics) <= f.place || log.Topics[0] != f.key.topic || !slices.Contains(f.search.names, log.Topics[f.place]) {
			continue
		}
		at, known := times[log.BlockHash]
		if !known {
			var block *rpc.Block
			if err := e.ReadAll(ctx, rpc.ReadBlock(n, &block)); err != nil {
				return err
			}
			var err error
			if at, err = blockTime(block, n, log.BlockHash); err != nil {
				return err
			}
			times[log.BlockHash] = at
		}
		if name := log.Topics[f.place]; f.search.hits[name] == nil {
			f.search.hits[name] = &found{log, at, e.Place}
		}
	}
	return nil
}

// widest is how many blocks an endpoint is asked for the logs of.
func (t *Tracker) widest(e *rpc.Endpoint) uint64 {
	n := t.learn(e, func(n *knownNode) {
		if n.rung > 0 && t.Now().Sub(n.rungAt) > rungAge {
			n.rung, n.rungAt = n.rung-1, t.Now()
		}
	})
	return rungs[n.rung]
}

// narrow remembers that an endpoint refuses so many blocks.
func (t *Tracker) narrow(e *rpc.Endpoint, blocks uint64) {
	t.learn(e, func(n *knownNode) {
		for n.rung < len(rungs)-1 && rungs[n.rung] >= blocks {
			n.rung++
		}
		n.rungAt = t.Now()
	})
}

// span is the shortest range that an endpoint of a chain is known to want.
func (t *Tracker) span(network chain.ID) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	rung := 0
	for e, n := range t.nodes {
		if e.Network == network {
			rung = max(rung, n.rung)
		}
	}
	return rungs[rung]
}
