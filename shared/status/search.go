package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/rpc"
)

// An event is searched for forward from the block of its source's time, because most
// swaps are paid out soon. The steps of a look-up are bounded; the next one goes on
// where this one was.
const (
	firstSteps = 3                      // of the first look-up of a transaction
	laterSteps = 8                      // of each later one
	fastest    = 200 * time.Millisecond // hardly a chain makes blocks faster; see chain.ID.FastestBlock
	mostHits   = 2 * MostSwaps          // logs that one answer is read for
	longestLog = 4096                   // bytes of data; the events have a few hundred
)

// earlier is how long before the source a search begins, since the clocks of chains
// differ. A search in vain is repeated from farther back.
var earlier = [...]time.Duration{2 * time.Minute, time.Hour, 60 * time.Hour}

// rungs are the ranges of blocks that providers answer. One that refuses a range is
// asked for the next shorter one. After rungAge a longer one is tried again, and from
// then on with each answer, until it refuses.
var rungs = [...]uint64{10_000, 2_000, 1_000, 500, 100, 10, 1}

const (
	rungAge  = 5 * time.Minute
	slowLogs = 2 * time.Second // what logs take if there are too many blocks to look at
)

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
	tail      uint64 // where the last range began
	repeated  bool   // the last range was asked for once more
	rounds    int    // how often it went through all blocks in vain
	avoid     int    // the endpoint that showed nothing, or a lie

	hits map[common.Hash]*found
}

type mark struct {
	number uint64
	at     time.Time
}

type found struct {
	log       rpc.Log
	time      time.Time
	place     int  // of the endpoint that showed it
	deep      bool // it had its confirmations when it was read
	witnessed bool // another endpoint shows it too, or there is no other; never if it is not deep
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
	l.resume(f)
	s := f.search
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
	l.conclude(f, err)
	return s.hits
}

// resume goes on with the search of an earlier look-up, or begins one.
func (l *lookup) resume(f *searching) {
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
		if hit.deep {
			continue
		}
		delete(s.hits, name) // its block may have been replaced since
		block := uint64(hit.log.BlockNumber)
		again := block - min(block, l.tracker.deployment.Confirmations(f.key.network))
		if !s.located || again < s.next {
			s.located = true
			s.first = min(again, s.first)
			s.next = again
		}
	}
}

// conclude says what was searched, if an event is missing, and where the next look-up
// goes on. err is why the search has ended early.
func (l *lookup) conclude(f *searching, err error) {
	s := f.search
	switch {
	case len(s.hits) == len(s.names):
	case s.located && s.next > uint64(f.head.Number) && !s.repeated:
		// The node that answered may be behind the one that told the head. What came last
		// is asked for once more, at another endpoint if there is one.
		f.told = f.progress() + ", and it is in none of them; the last of them are searched again"
		s.repeated = true
		s.next = max(s.tail, s.first)
		s.avoid = l.nextAvoided(f)
		l.passing = true
	case err != nil && !s.located:
		f.told = "Its event is not found yet: the chain did not answer"
	case err != nil:
		f.told = f.progress() + ", and the chain did not answer"
	case s.located && s.next > uint64(f.head.Number):
		// The contract says that there is one, so the endpoint lies, or has no logs of
		// that time. The next round begins earlier, at another endpoint.
		f.told = f.progress() + ", and it is in none of them; they are searched again"
		*s = search{names: s.names, hits: s.hits, rounds: s.rounds + 1, avoid: l.nextAvoided(f)}
	default:
		f.told = f.progress()
	}
}

// nextAvoided is the endpoint that is not asked in the next round: each in turn.
func (l *lookup) nextAvoided(f *searching) int {
	return f.search.rounds%max(1, l.tracker.chains.Endpoints(f.key.network)) + 1
}

// topics are those that the events must have.
func (f *searching) topics() [][]common.Hash {
	topics := make([][]common.Hash, f.place+1)
	topics[0] = []common.Hash{f.key.topic}
	topics[f.place] = f.names
	return topics
}

func (f *searching) progress() string {
	s := f.search
	if s.next == s.first {
		return fmt.Sprintf("Its event is not found yet: the search up to block %d has begun", f.head.Number)
	}
	return fmt.Sprintf("Its event is not found yet: blocks %d to %d of %d were searched",
		s.first, s.next-1, f.head.Number)
}

// locate narrows down where the search begins: at a block that is older than the
// source, and not by much.
func (l *lookup) locate(ctx context.Context, f *searching) error {
	s := f.search
	target := f.since.Add(-earlier[min(s.rounds, len(earlier)-1)])
	if s.high.number == 0 {
		s.top = mark{uint64(f.head.Number), f.head.At()}
		s.high = s.top
	}
	guess, begins := s.guess(target, l.tracker.span(f.key.network), f.key.network)
	if begins {
		s.located = true
		s.first = guess
		s.next = guess
		return nil
	}
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
	m := mark{guess, block.At()}
	if m.at.After(target) {
		s.high = m
	} else {
		s.low = m
	}
	return nil
}

// guess says at which block a search begins for what happened after a time: one that is
// older, and not by more than a span of blocks. Until enough is known for that, it is the
// block to read next.
func (s *search) guess(target time.Time, span uint64, network chain.ID) (number uint64, begins bool) {
	age := s.high.at.Sub(target)
	if age <= 0 {
		return s.high.number, true
	}
	between := s.high.number - s.low.number
	pace := s.pace(network)
	most := uint64(age / min(fastest, network.FastestBlock())) // blocks since then
	switch {
	case most <= span: // so few that there is no need to ask
		return s.high.number - min(s.high.number, most), true
	case between <= span:
		return s.low.number, true
	case !s.low.at.IsZero() && target.Sub(s.low.at)/pace <= time.Duration(span):
		return s.low.number, true
	}
	// A little before where the block should be if blocks come evenly; in the middle
	// once that has not helped.
	back := between / 2
	if s.probes < evenProbes {
		back = uint64(age/pace) + span/2
	}
	return s.high.number - min(max(back, 1), between-1), false
}

// evenProbes is how many guesses take it that blocks come evenly.
const evenProbes = 4

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
	s := f.search
	var last uint64
	var tooWide, passing bool
	err := l.tracker.chains.Ask(ctx, f.key.network, rpc.Searches, func(ctx context.Context, e *rpc.Endpoint) error {
		if l.tracker.chains.Endpoints(f.key.network) > 1 && (e.Place == s.avoid || l.tracker.known(e).old) {
			return &rpc.Failure{Reason: rpc.Declined, Text: "it has shown no such event before, or stands still"}
		}
		last = min(uint64(f.head.Number), s.next+l.tracker.widest(e)-1)
		var logs []rpc.Log
		begun := time.Now()
		err := e.ReadAll(ctx, rpc.ReadLogs(f.contracts, f.topics(), s.next, last, &logs))
		blocks := last - s.next + 1
		if err != nil {
			passing = passing || passes(err)
			fewer := l.tracker.narrow(e, blocks, err, time.Since(begun))
			tooWide = tooWide || fewer
			return err
		}
		l.tracker.answered(e, blocks)
		return l.take(ctx, e, f, logs, last)
	})
	if err != nil && tooWide {
		s.located = s.next > s.first // a shorter range is worth a better beginning
		return nil
	}
	if err == nil {
		s.tail = s.next
		s.next = last + 1
	} else {
		l.passing = l.passing || passing
	}
	return err
}

// passes tells whether a failure to give logs may be over in a moment.
func passes(err error) bool {
	failure, _ := errors.AsType[*rpc.Failure](err)
	switch {
	case errors.Is(err, rpc.ErrBehind):
		return true
	case failure.Reason == rpc.Declined || failure.Reason == rpc.TooWide:
		return false
	}
	return true
}

// asksFor reports whether a log is of a contract, an event and a name that was asked for.
func (f *searching) asksFor(log *rpc.Log) bool {
	return slices.Contains(f.contracts, log.Address) && len(log.Topics) > f.place &&
		log.Topics[0] == f.key.topic && slices.Contains(f.search.names, log.Topics[f.place])
}

// take keeps the logs that are what was asked for.
func (l *lookup) take(ctx context.Context, e *rpc.Endpoint, f *searching, logs []rpc.Log, last uint64) error {
	times := make(map[common.Hash]time.Time)
	for i := range logs[:min(len(logs), mostHits)] {
		log := logs[i]
		n := uint64(log.BlockNumber)
		outside := n < f.search.next || n > last
		if len(log.Data) > longestLog || log.Removed || outside || !f.asksFor(&log) {
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
			hit := &found{log: log, time: at, place: e.Place}
			hit.deep = l.deep(f.key.network, f.head, hit)
			f.search.hits[name] = hit
		}
	}
	return nil
}

// widest is how many blocks an endpoint is asked for the logs of.
func (t *Tracker) widest(e *rpc.Endpoint) uint64 {
	n := t.known(e)
	if n.rung > 0 && t.Now().Sub(n.refused) > rungAge {
		n.rung--
	}
	return rungs[n.rung]
}

// answered remembers that an endpoint gives the logs of so many blocks.
func (t *Tracker) answered(e *rpc.Endpoint, blocks uint64) {
	t.learn(e, func(n *knownNode) {
		for n.rung > 0 && rungs[n.rung] < blocks {
			n.rung--
		}
	})
}

// narrow remembers that an endpoint does not give the logs of so many blocks, and tells
// whether fewer may be asked for at once. A failure of the server may come of the range as
// well, and so may a time-out, unless another endpoint was asked instead after a moment.
func (t *Tracker) narrow(e *rpc.Endpoint, blocks uint64, err error, took time.Duration) (again bool) {
	failure, _ := errors.AsType[*rpc.Failure](err)
	again = failure.Reason == rpc.TooWide || errors.Is(err, rpc.ErrTooLong)
	slow := failure.Reason == rpc.Timeout && took >= slowLogs
	if blocks == 1 || !again && !slow && failure.Reason != rpc.Refused {
		return false
	}
	t.learn(e, func(n *knownNode) {
		for n.rung < len(rungs)-1 && rungs[n.rung] >= blocks {
			n.rung++
		}
		n.refused = t.Now()
	})
	return again
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
