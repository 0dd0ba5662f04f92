package usage

import (
	"hash/maphash"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/shared/fault"
)

// The outcome of a call.
const (
	served    = "served"
	refused   = "refused"   // in a brownout, or because the version is retired
	rehearsed = "rehearsed" // refused because the client asked for a rehearsal
	failed    = "failed"    // any other error
)

// otherClients stands for all clients that have no entry of their own.
const otherClients = "(other clients)"

const (
	shards        = 64
	shardEntries  = 512 // 64 × 512 = 32,768 clients and outcomes
	otherEntries  = 2048
	maxClientText = 512
	maxParamText  = 32
)

const hour = 3600 // seconds

// entry is the key by which calls are counted.
type entry struct {
	began   int64 // start of the hour
	version string
	client  string
	outcome string
	finding gateway.Finding
}

// tally is how many calls there were since the last take, and the times of the
// first and the last.
type tally struct{ calls, first, last int64 }

func (t *tally) add(at int64) {
	if t.calls == 0 {
		t.first, t.last = at, at
	}
	t.calls++
	t.first, t.last = min(t.first, at), max(t.last, at)
}

// row is an entry as it is written.
type row struct {
	entry
	tally
}

// buffer counts calls until they are written. Its size is bounded. Clients that
// do not fit are counted together. If even that does not fit, which takes days
// without the database, calls are lost.
type buffer struct {
	seed   maphash.Seed
	shards [shards]shard // by client
	others shard
	lost   struct {
		sync.Mutex
		tally
	}
}

// shard holds some of the entries under one lock. An entry stays until its hour
// is over, so that a client's next call in that hour allocates nothing.
type shard struct {
	sync.Mutex
	entries map[entry]*tally
	most    int
}

func newBuffer(perShard, others int) *buffer {
	b := &buffer{seed: maphash.MakeSeed(), others: shard{entries: map[entry]*tally{}, most: others}}
	for i := range b.shards {
		b.shards[i].entries, b.shards[i].most = map[entry]*tally{}, perShard
	}
	return b
}

func (b *buffer) add(e entry, at int64) {
	if b.shards[maphash.String(b.seed, e.client)%shards].add(e, at) {
		return
	}
	e.client, e.finding.Param = otherClients, ""
	if b.others.add(e, at) {
		return
	}
	b.lost.Lock()
	b.lost.add(at)
	b.lost.Unlock()
}

func (s *shard) add(e entry, at int64) bool {
	s.Lock()
	defer s.Unlock()
	t := s.entries[e]
	if t == nil {
		if len(s.entries) >= s.most || !printable(e.client, maxClientText) || !printable(e.finding.Param, maxParamText) {
			return false
		}
		e.client, e.finding.Param = strings.Clone(e.client), strings.Clone(e.finding.Param)
		t = &tally{}
		s.entries[e] = t
	}
	t.add(at)
	return true
}

// printable keeps out text that a database may refuse.
func printable(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// take returns the counts since the last take, and drops the entries of past
// hours.
func (b *buffer) take(now int64) (rows []row, lost tally) {
	rows = b.others.take(rows, now)
	for i := range b.shards {
		rows = b.shards[i].take(rows, now)
	}
	b.lost.Lock()
	defer b.lost.Unlock()
	lost, b.lost.tally = b.lost.tally, tally{}
	return rows, lost
}

func (s *shard) take(rows []row, now int64) []row {
	s.Lock()
	defer s.Unlock()
	for e, t := range s.entries {
		if t.calls > 0 {
			rows = append(rows, row{e, *t})
			t.calls = 0
		} else if e.began != now-now%hour {
			delete(s.entries, e)
		}
	}
	return rows
}

// outcome is empty for an answer that is not counted: one that is neither a
// quote nor an error of a route that quotes.
func outcome(e *gateway.Event) string {
	switch {
	case e.Code == "" && e.Pair != nil:
		return served
	case e.Code == "" || !e.Quotes:
		return ""
	case e.Rehearsal:
		return rehearsed
	case e.Code == fault.VersionBrownout, e.Code == fault.VersionRetired:
		return refused
	}
	return failed
}
