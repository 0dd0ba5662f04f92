package limit

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// model is the rule itself: the accepted times of every source within the last minute.
type model map[id][]time.Time

func (m model) take(from id, limit int, now time.Time) (allowed bool, used int, wait time.Duration) {
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
	for range 50_000 {
		from := source(random.IntN(5)).id
		if random.IntN(4) == 0 {
			from = Key(uint64(1+random.IntN(3)), 0).id
		}
		limit := []int{1, 3, 30}[random.IntN(3)] // also one that changes
		allowed, used, wait := m.take(from, limit, c.Now())
		d := b.allow(from, limit)
		if d.allowed != allowed || d.used != used || d.wait != wait {
			t.Fatalf("%s, %d a minute: got %+v, want allowed %v, used %d, wait %s", from, limit, d, allowed, used, wait)
		}
		if !allowed {
			refused++
		}
		switch random.IntN(10) {
		case 0:
			c.Advance(time.Duration(random.Int64N(int64(window / 4))))
		case 1: // to the very moment at which the next may pass
			c.Advance(wait)
		case 2:
			c.Advance(1)
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
	holder := Key(7, 0).id
	b.allow(holder, 30)
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

	// As many again within the minute: they take the place of others, but of no holder.
	for n := range maxSources {
		b.allow(source(maxSources+n).id, 30)
	}
	if held, forgotten := b.size(); held != b.max || forgotten != uint64(2*maxSources+1-b.max) {
		t.Errorf("got %d sources and %d forgotten early, want %d and all others", held, forgotten, b.max)
	}
	if d := b.allow(source(2*maxSources-1).id, 30); d.used != 1 {
		t.Errorf("the source seen last: got %+v, want it counted", d)
	}
	if d := b.allow(holder, 30); d.used != 1 {
		t.Errorf("the holder of a key: got %+v, want it counted", d)
	}
}

// Only a source within its minute is forgotten too early. One that has left makes room
// without notice, and is dropped within a quarter of a minute.
func TestBudgetCountsWhatItForgets(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := newBudget(1, c.Now)
	sources := []id{source(0).id, source(1).id, Key(1, 0).id, Key(2, 0).id}
	for _, step := range []struct {
		later     time.Duration
		from      int
		used      int
		forgotten uint64
		held      int
	}{
		{0, 0, 0, 0, 1}, {0, 0, 1, 0, 1}, {0, 1, 0, 1, 1}, {0, 0, 0, 2, 1}, // each takes the place of the other
		{window, 1, 0, 2, 1},                  // the first is swept
		{sweepEvery - 1, 1, 1, 2, 1},          // not swept again yet
		{window - sweepEvery + 1, 1, 1, 2, 1}, // swept while it has one request left
		{sweepEvery - 1, 0, 0, 3, 1},
		{0, 2, 0, 3, 2}, {0, 3, 0, 3, 3}, // holders of keys take no place
		{0, 1, 0, 4, 3}, {0, 0, 0, 5, 3}, {0, 1, 0, 6, 3}, {0, 0, 0, 7, 3}, // nor lose theirs
		{0, 2, 1, 7, 3}, {0, 3, 1, 7, 3},
		{window + sweepEvery, 0, 0, 7, 1}, // and are dropped too
		{0, 2, 0, 7, 2},
		{window - 1, 0, 1, 7, 2},
		{1, 0, 1, 7, 2}, // the holder has left, and is held until the next sweep
		{sweepEvery - 1, 0, 2, 7, 1},
	} {
		c.Advance(step.later)
		d := b.allow(sources[step.from], 30)
		if held, forgotten := b.size(); d.used != step.used || forgotten != step.forgotten || held != step.held {
			t.Errorf("%+v: got %+v, %d forgotten and %d held", step, d, forgotten, held)
		}
	}
}

func TestBudgetTakesARequestBack(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]id{"address": source(1).id, "key": Key(1, 0).id} {
		c := newClock()
		b := newBudget(maxSources, c.Now)
		var taken []time.Duration
		for range 3 {
			taken = append(taken, b.allow(from, 3).at)
			c.Advance(10 * time.Second)
		}
		b.giveBack(from, taken[1])
		b.giveBack(from, taken[1]) // was taken back already
		b.giveBack(source(2).id, taken[1])
		if got, want := b.sources[from], (times{taken[0], taken[2]}); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		b.giveBack(from, taken[2])
		b.giveBack(from, taken[0])
		if got := b.sources[from]; len(got) != 0 {
			t.Errorf("%s: got %v, want nothing left", name, got)
		}
		c.Advance(sweepEvery)
		b.allow(from, 3) // drops a source of which nothing is left
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
