package limit

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// model is the rule itself: the accepted times of every source within the last minute.
type model map[id][]time.Time

func (m model) allow(from id, limit int, now time.Time) (allowed bool, used int, wait time.Duration) {
	var counted []time.Time
	for _, at := range m[from] {
		if now.Sub(at) < window {
			counted = append(counted, at)
		}
	}
	m[from] = counted
	used = len(counted)
	if used >= limit {
		return false, used, window - now.Sub(counted[used-limit])
	}
	m[from] = append(counted, now)
	return true, used, window - now.Sub(m[from][0])
}

func TestBudgetAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	c := newClock()
	b := newBudget(maxSources, c.Now)
	m := model{}
	refused := 0
	// Times that look the same, as they are held in 32 bits, and almost so.
	const around = (1 << 32) * time.Microsecond
	whole := []time.Duration{around, around - time.Microsecond, around + time.Second, 10 * around}
	for range 50_000 {
		from := source(random.IntN(5)).id
		if random.IntN(4) == 0 {
			from = Key(uint64(1+random.IntN(3)), 0).id
		}
		limit := []int{1, 3, 30}[random.IntN(3)] // also one that changes
		allowed, used, wait := m.allow(from, limit, c.Now())
		d := b.allow(from, limit)
		if d.allowed != allowed || d.used != used || d.wait != wait {
			t.Fatalf("%s, %d a minute: got %+v, want allowed %v, used %d, wait %s", from, limit, d, allowed, used, wait)
		}
		if !allowed {
			refused++
		}
		switch random.IntN(10) {
		case 0:
			c.Advance(time.Duration(random.Int64N(int64(window / 4))).Truncate(time.Microsecond))
		case 1: // to the very moment at which the next may pass
			c.Advance(wait)
		case 2:
			c.Advance(time.Microsecond)
		case 3:
			c.Advance(whole[random.IntN(len(whole))])
		}
	}
	if refused < 1000 {
		t.Errorf("got %d refusals, want enough of them to compare", refused)
	}
}

func TestBudgetIsExactForAllThatFit(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := newBudget(maxSources, c.Now)
	key := Key(7, 0).id
	b.allow(key, 30)
	for n := range maxSources {
		b.allow(source(n).id, 30)
	}
	for n := range maxSources {
		if d := b.allow(source(n).id, 30); d.used != 1 {
			t.Fatalf("source %d: got %+v, want one request counted before", n, d)
		}
	}
	if held, forgotten := b.size(); held != maxSources+1 || forgotten != 0 {
		t.Errorf("got %d held and %d forgotten, want all and none", held, forgotten)
	}

	// As many again within the minute: they take the place of the first, but of no holder of a key.
	c.Advance(window / 2)
	for n := range maxSources {
		c.Advance(1)
		b.allow(source(maxSources+n).id, 30)
	}
	if held, forgotten := b.size(); held != b.max+1 || forgotten != uint64(2*maxSources-b.max) {
		t.Errorf("got %d held and %d forgotten, want %d held and the rest forgotten", held, forgotten, b.max+1)
	}
	for n := range maxSources {
		if d := b.allow(source(2*maxSources-1-n).id, 30); d.used != 1 {
			t.Fatalf("source %d of those seen last: got %+v, want it counted", n, d)
		}
	}
	if d := b.allow(key, 30); d.used != 1 {
		t.Errorf("the holder of a key: got %+v, want it counted", d)
	}

	// When their minute is over, all are dropped, and none is forgotten early.
	_, before := b.size()
	c.Advance(window)
	if held, forgotten := b.size(); held != 0 || forgotten != before {
		t.Errorf("got %d held and %d forgotten after the minute, want none and %d", held, forgotten, before)
	}
}

// A shard that is full forgets the address seen longest ago. It counts that, if its minute had not passed.
// Holders of keys take no place and lose none.
func TestShardForgets(t *testing.T) {
	t.Parallel()
	s := &shard{max: 2, addresses: map[id]history{}, holders: map[id]history{}}
	ids := map[string]id{"a": source(1).id, "b": source(2).id, "c": source(3).id, "key": Key(1, 0).id}
	for _, step := range []struct {
		seconds   float64
		from      string
		used      int
		forgotten uint64
		held      int // addresses
	}{
		{0, "a", 0, 0, 1},
		{1, "b", 0, 0, 2},
		{2, "a", 1, 0, 2},
		{2, "key", 0, 0, 2},
		{3, "c", 0, 1, 2}, // in the place of b
		{4, "a", 2, 1, 2}, // is refused, and seen all the same
		{5, "b", 0, 2, 2}, // in the place of c
		{5, "key", 1, 2, 2},
		{60, "c", 0, 3, 2},   // in the place of a
		{65.2, "c", 1, 3, 2}, // b has not been swept yet
		{65.5, "a", 0, 3, 2}, // in the place of b, whose minute has passed
		{120, "key", 0, 3, 2},
		{126, "c", 0, 3, 2},
		{180, "c", 1, 3, 1}, // a is dropped, as it was not seen for a minute
	} {
		d := s.allow(ids[step.from], 2, time.Duration(step.seconds*float64(time.Second)))
		if d.used != step.used || s.forgotten != step.forgotten || len(s.addresses) != step.held {
			t.Errorf("%+v: got %+v, %d forgotten, %d held", step, d, s.forgotten, len(s.addresses))
		}
	}
}

func TestBudgetGivesBack(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]id{"address": source(1).id, "key": Key(1, 0).id} {
		c := newClock()
		b := newBudget(maxSources, c.Now)
		var counted []micros
		for range 3 {
			counted = append(counted, b.allow(from, 3).at)
			c.Advance(10 * time.Second)
		}
		b.giveBack(from, counted[1])
		b.giveBack(from, counted[1]) // was given back already
		b.giveBack(source(2).id, counted[1])
		b.giveBack(Key(2, 0).id, counted[1])
		d := b.allow(from, 3)
		if !d.allowed || d.used != 2 || d.wait != 30*time.Second {
			t.Errorf("%s: got %+v, want the first and the third counted", name, d)
		}
		b.giveBack(from, d.at)
		b.giveBack(from, counted[2])
		b.giveBack(from, counted[0])
		if d := b.allow(from, 3); d.used != 0 {
			t.Errorf("%s: got %+v, want nothing left", name, d)
		}
	}
}

func TestConcurrentRequestsAreCountedExactly(t *testing.T) {
	t.Parallel()
	b := newBudget(maxSources, newClock().Now)
	var passed [3]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for n := range 100 {
				which := (worker + n) % len(passed)
				if b.allow(source(which).id, 30).allowed {
					passed[which].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for n := range passed {
		if got := passed[n].Load(); got != 30 {
			t.Errorf("source %d: got %d accepted, want 30", n, got)
		}
	}
}
