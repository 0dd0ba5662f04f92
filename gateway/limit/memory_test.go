package limit

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/journal"
)

// model is the limit in its plainest form.
type model map[clientKey][]int64

func (m model) take(c clientKey, now int64, perMinute int) (allowed bool, used int, wait int64) {
	var times []int64
	for _, at := range m[c] {
		if now-at < windowTicks {
			times = append(times, at)
		}
	}
	used = len(times)
	if allowed = used < perMinute; allowed {
		times = append(times, now)
	}
	m[c] = times
	return allowed, used, times[0] + windowTicks - now
}

func TestMemoryAgreesWithTheModel(t *testing.T) {
	gaps := []int64{0, 1, 1000, windowTicks / 30, windowTicks/30 - 1, windowTicks - 1, windowTicks, windowTicks + 1,
		1<<31 - windowTicks, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1 << 32, 3 << 32}
	for _, perMinute := range []int{1, 2, 3, 30, 31} {
		t.Run(fmt.Sprint(perMinute), func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			m, want, now := newMemory(perMinute), model{}, int64(0)
			for step := range 50_000 {
				switch rng.IntN(40) {
				case 0:
					now += gaps[rng.IntN(len(gaps))]
				case 1, 2, 3, 4:
					now += rng.Int64N(windowTicks / 20)
				}
				c := clientKey(rng.IntN(5))
				v := m.take(asked(c, perMinute), at(now))
				allowed, used, wait := want.take(c, now, perMinute)
				if v.allowed != allowed || v.used != used || v.wait != time.Duration(wait)*tick || v.uncounted {
					t.Fatalf("seed %d, step %d: got %+v, want allowed %v, used %d, wait %v", seed, step, v, allowed, used, time.Duration(wait)*tick)
				}
				if v.allowed && rng.IntN(4) == 0 {
					m.giveBack(asked(c, perMinute), v.at)
					want[c] = want[c][:len(want[c])-1]
				}
				if step%100 == 0 {
					checkBlocks(t, m)
				}
			}
		})
	}
}

// checkBlocks: each block is free, or has times of one budget.
func checkBlocks(t *testing.T, m *memory) {
	t.Helper()
	for i := range m.shards {
		s := &m.shards[i]
		found := 0
		for b := s.freeBlocks; b != 0; b = s.blocks[b].next {
			found++
		}
		for _, e := range s.index {
			if inBlocks := int(s.entries[e].used) - 1; e != 0 && inBlocks > 0 {
				found += (int(s.entries[e].skipped) + inBlocks + blockTimes - 1) / blockTimes
			}
		}
		if want := len(s.blocks) - 1; found != want {
			t.Fatalf("shard %d: %d blocks are free or in use, want all %d", i, found, want)
		}
	}
}

// TestIndexFindsWhatIsThere adds and drops budgets at random, and compares the index
// with a map after each.
func TestIndexFindsWhatIsThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &newMemory(30).shards[0]
	s.room = 300
	there := map[clientKey]bool{}
	for range 20_000 {
		key := clientKey(rng.IntN(400))
		if i := s.index[s.place(key)]; (i != 0) != there[key] || i != 0 && s.entries[i].key != key {
			t.Fatalf("budget %d: the index has %d, and it is there: %t", key, i, there[key])
		} else if i != 0 {
			s.drop(i)
			delete(there, key)
		} else if len(there) < s.room {
			s.find(key, 0)
			there[key] = true
		}
		if s.budgets != len(there) {
			t.Fatalf("got %d budgets, want %d", s.budgets, len(there))
		}
	}
	for key := range clientKey(400) {
		if got := s.index[s.place(key)] != 0; got != there[key] {
			t.Errorf("budget %d: found %t, want %t", key, got, there[key])
		}
	}
}

// A crowd comes and leaves. What it needed is given back, and the budgets of those who
// stay are what they were.
func TestACrowdLeaves(t *testing.T) {
	const perMinute, crowd, stay = 30, 50_000, 1000
	m, want, now := newMemory(perMinute), model{}, int64(0)
	size := func() (bytes int) {
		for i := range m.shards {
			s := &m.shards[i]
			bytes += cap(s.entries)*40 + cap(s.blocks)*20 + cap(s.index)*4
		}
		return bytes
	}
	ask := func(c clientKey) {
		t.Helper()
		got := m.take(asked(c, perMinute), at(now))
		allowed, used, wait := want.take(c, now, perMinute)
		if got.allowed != allowed || got.used != used || got.wait != time.Duration(wait)*tick || got.uncounted {
			t.Fatalf("client %d at tick %d: got %+v, want allowed %v, used %d", c, now, got, allowed, used)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var most int
	for range 3 {
		for c := range clientKey(crowd) {
			now += windowTicks / 2 / crowd
			ask(stay + c)
			if rng.IntN(100) == 0 {
				ask(clientKey(rng.IntN(stay)))
			}
		}
		most = max(most, size())
		for range 4 * crowd { // those who stay go on
			now += 3 * windowTicks / crowd
			ask(clientKey(rng.ExpFloat64()*stay/8) % stay) // some often, some once
		}
		checkBlocks(t, m)
		if got := m.budgets(); got > stay {
			t.Errorf("got %d budgets, want at most %d: the crowd has left", got, stay)
		}
		if got := size(); got > most/6 {
			t.Errorf("got %d bytes for %d clients, where the crowd needed %d", got, stay, most)
		}
	}
}

func TestGiveBackRestoresTheBudget(t *testing.T) {
	m := newMemory(3)
	first := m.take(asked(1, 3), at(100))
	second := m.take(asked(1, 3), at(200))
	m.take(asked(1, 3), at(300))
	m.giveBack(asked(1, 3), second.at)
	if v := m.take(asked(1, 3), at(400)); !v.allowed || v.used != 2 {
		t.Errorf("got %+v, want the third of three allowed", v)
	}
	if v := m.take(asked(1, 3), at(400)); v.allowed || v.wait != time.Duration(100+windowTicks-400)*tick {
		t.Errorf("got %+v, want a refusal until the first leaves", v)
	}
	m.giveBack(asked(2, 3), 100) // an unknown client
	m.giveBack(asked(1, 3), 999) // a tick without a request
	m.giveBack(asked(1, 3), first.at)
	m.giveBack(asked(1, 3), 300)
	m.giveBack(asked(1, 3), 400)
	if got := m.budgets(); got != 0 {
		t.Errorf("got %d clients, want none left", got)
	}
}

// The clock is read before the lock is had, so a later request may come first.
func TestMemoryTakesALateClock(t *testing.T) {
	m := newMemory(2)
	m.take(asked(1, 2), at(1000))
	if v := m.take(asked(1, 2), at(500)); !v.allowed || v.at != 1000 {
		t.Errorf("got %+v, want it counted at 1000", v)
	}
	if v := m.take(asked(1, 2), at(700)); v.allowed || v.wait != window {
		t.Errorf("got %+v, want a refusal for a minute", v)
	}
}

func TestAMillionAddresses(t *testing.T) {
	skipIfShort(t)
	const established, newcomer, flood = clientKey(1), clientKey(2), 1_000_000
	m := newMemory(30)
	for i := range int64(30) {
		m.take(asked(established, 30), at(i))
	}
	now := int64(1000)
	for i := range clientKey(flood) {
		now++
		if v := m.take(asked(1000+i, 30), at(now)); !v.allowed || v.uncounted {
			t.Fatalf("address %d of the flood: got %+v, want it counted", i, v)
		}
		if got := m.budgets; i%100_000 == 0 && got() > m.ceiling() {
			t.Fatalf("got %d clients, want at most %d", got(), m.ceiling())
		}
		// Somebody new comes by during the flood, and is counted as ever.
		if i >= flood/2 && i < flood/2+31 {
			if v := m.take(asked(newcomer, 30), at(now)); v.allowed != (i < flood/2+30) {
				t.Fatalf("newcomer's request %d: got %+v", i-flood/2+1, v)
			}
		}
	}
	if v := m.take(asked(established, 30), at(now)); v.allowed {
		t.Errorf("got %+v, want the established client's count kept", v)
	}
	if got := m.budgets(); got != m.ceiling() {
		t.Errorf("got %d clients, want the %d of the ceiling", got, m.ceiling())
	}
	// A minute later all of it makes room.
	now += windowTicks
	for i := range clientKey(2 * flood / 5) {
		m.take(asked(2*flood+i, 30), at(now))
	}
	if v := m.take(asked(established, 30), at(now)); !v.allowed || v.used != 0 {
		t.Errorf("got %+v, want a fresh budget", v)
	}
}

// fill lets m hold a few clients only, and gives it as many, all established.
func fill(m *memory) {
	for i := range m.shards {
		m.shards[i].room = 2
	}
	for c := clientKey(1 << 40); m.budgets() < m.ceiling(); c++ {
		m.take(asked(c, 30), at(0))
		m.take(asked(c, 30), at(0))
	}
}

func TestWhereEveryoneIsEstablishedNewcomersPassUncounted(t *testing.T) {
	var j journal.Journal
	c := newClock()
	l, err := New(t.Context(), Config{PerMinute: 30}, logTo(&j), c.now)
	if err != nil {
		t.Fatal(err)
	}
	fill(l.memory)
	h := guarded(l)
	for range 100 {
		w := get(h, alice)
		wantStatus(t, w, 200)
		wantHeaders(t, w, 29, 60, "")
	}
	want := Stats{Backend: Memory, Uncounted: 100, Clients: l.memory.ceiling(), Ceiling: l.memory.ceiling()}
	if got := l.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := j.Count("newcomers pass uncounted"); got != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", got, j.String())
	}
	c.advance(time.Minute)
	for range 30 {
		wantStatus(t, get(h, alice), 200)
	}
	wantStatus(t, get(h, alice), 429)
}

// The figures of the package comment.
func TestMemoryStaysWithinItsBudget(t *testing.T) {
	skipIfShort(t)
	for _, tt := range []struct{ perMinute, requests int }{{30, 1}, {30, 17}, {1, 1}, {MaxPerMinute, 513}, {MaxPerMinute, MaxPerMinute}} {
		t.Run(fmt.Sprintf("%d of %d", tt.requests, tt.perMinute), func(t *testing.T) {
			before := heap()
			m := newMemory(tt.perMinute)
			for c := clientKey(0); m.budgets() < m.ceiling(); {
				for range 1000 {
					c++
					for range tt.requests {
						m.take(asked(c, tt.perMinute), at(0))
					}
				}
			}
			used := heap() - before
			t.Logf("%d clients with %d requests: %d bytes each, %.1f MiB", m.budgets(), tt.requests, used/m.budgets(), float64(used)/(1<<20))
			if tt.perMinute == 30 && m.ceiling() != 104_416 {
				t.Errorf("got a ceiling of %d, want 104416 as documented", m.ceiling())
			}
			if used > memoryBudget {
				t.Errorf("got %d bytes, want at most %d", used, memoryBudget)
			}
			runtime.KeepAlive(m)
		})
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// A key may have a limit above the configured one.
func TestALimitAboveTheConfiguredOne(t *testing.T) {
	m, want, now := newMemory(30), model{}, int64(0)
	big := func(c clientKey) question { return question{client: c, limit: MaxPerMinute} }
	for step := range 5_000 {
		now += windowTicks / 1200
		v := m.take(big(1), at(now))
		if allowed, used, wait := want.take(1, now, MaxPerMinute); v.allowed != allowed || v.used != used || v.wait != time.Duration(wait)*tick {
			t.Fatalf("step %d: got %+v, want allowed %v, used %d, wait %v", step, v, allowed, used, time.Duration(wait)*tick)
		}
	}
	// With a lower limit than before, the wait is for enough requests to leave.
	held := want[1]
	if v, wait := m.take(asked(1, 30), at(now)), held[len(held)-30]+windowTicks-now; v.allowed || v.used != len(held) || v.wait != time.Duration(wait)*tick {
		t.Errorf("got %+v, want a refusal for %v", v, time.Duration(wait)*tick)
	}
}

// TestRoomForBudgets: a budget of 30 has 40 bytes and 8 blocks of 20, an eighth more, and
// 16 bytes in the index; as many as fit into 24 MiB are held, the same number in each shard.
func TestRoomForBudgets(t *testing.T) {
	for perMinute, want := range map[int]int{1: 83, 30: 241, 34: 263} {
		if got := budgetBytes(perMinute); got != want {
			t.Errorf("a budget of %d takes %d bytes, want %d", perMinute, got, want)
		}
	}
	if got := newMemory(30).ceiling(); got != 104_416 {
		t.Errorf("memory holds %d budgets of 30, want 104416", got)
	}
}

// What is given back is the request of that time, and nothing where there is none.
func TestGiveBackIsThatRequest(t *testing.T) {
	m := newMemory(30)
	for _, tick := range []int64{0, 10, 20} {
		m.take(asked(1, 30), at(tick))
	}
	m.giveBack(asked(1, 30), 10)
	if d := m.take(asked(1, 30), at(windowTicks+15)); d.used != 1 {
		t.Errorf("%d are counted once the first has left, want the last one", d.used)
	}
	m.take(asked(2, 30), at(0))
	m.giveBack(asked(2, 30), 5)
	if d := m.take(asked(2, 30), at(6)); d.used != 1 {
		t.Errorf("%d are counted, want the one that was not given back", d.used)
	}
}

// inFirstShard are so many budgets of the first shard.
func inFirstShard(m *memory, n int) (keys []clientKey) {
	for c := clientKey(1); len(keys) < n; c++ {
		if m.shard(asked(c, 30)) == &m.shards[0] {
			keys = append(keys, c)
		}
	}
	return keys
}

// Room is made for an eighth more and eight, and where there is some, nothing is copied.
func TestWithRoom(t *testing.T) {
	for n, want := range map[int]int{0: 8, 8: 17, 64: 80, 800: 908} {
		full := make([]int, n)
		for i := range full {
			full[i] = i
		}
		got := withRoom(full)
		if !slices.Equal(got, full) || cap(got) != want {
			t.Errorf("%d: got %d with room for %d, want room for %d", n, len(got), cap(got), want)
		}
	}
	some := make([]int, 3, 4)
	if got := withRoom(some); cap(got) != 4 || &got[0] != &some[0] {
		t.Errorf("got a copy with room for %d, where there was room", cap(got))
	}
}

// The index is at most half full, and no larger than that needs.
func TestTheIndexIsHalfFull(t *testing.T) {
	s := &newMemory(30).shards[0]
	want := 8
	for n := 1; n <= 100; n++ {
		s.find(clientKey(n), 0)
		if 2*n > want {
			want *= 2
		}
		if got := len(s.index); got != want {
			t.Fatalf("%d budgets: the index has %d places, want %d", n, got, want)
		}
	}
}

// The budgets of a shard begin all over its index: were they to begin at a few places,
// each would be searched for.
func TestBudgetsSpreadOverTheIndex(t *testing.T) {
	m := newMemory(30)
	s := &m.shards[0]
	homes := map[int]bool{}
	for _, c := range inFirstShard(m, 100) {
		s.find(c, 0)
	}
	for _, c := range inFirstShard(m, 100) {
		homes[s.home(c)] = true
	}
	if len(s.index) != 256 || len(homes) < 50 {
		t.Errorf("100 budgets begin at %d of %d places, want more than 50 of 256", len(homes), len(s.index))
	}
}

// A shard with more than 256 entries, of which less than a quarter is in use, is made
// smaller.
func TestWhenAShardShrinks(t *testing.T) {
	for _, tt := range []struct {
		budgets, left int
		shrinks       bool
	}{
		{10, 1, false},
		{254, 1, false}, // 256 entries, with the heads of the lists
		{255, 1, true},
		{255, 64, true},
		{255, 65, false},
		{258, 64, true},
		{258, 65, false}, // a quarter of 260
	} {
		m := newMemory(30)
		s := &m.shards[0]
		keys := inFirstShard(m, tt.budgets)
		for _, c := range keys {
			m.take(asked(c, 30), at(0))
		}
		for _, c := range keys[tt.left:] {
			s.drop(s.index[s.place(c)])
		}
		if d := m.take(asked(keys[0], 30), at(0)); d.used != 1 {
			t.Errorf("%d of %d: got %+v, want the second request of the first", tt.left, tt.budgets, d)
		}
		want := 2 + tt.budgets
		if tt.shrinks {
			want = 2 + tt.left
		}
		if got := len(s.entries); got != want {
			t.Errorf("%d of %d are left: got %d entries, want %d", tt.left, tt.budgets, got, want)
		}
	}
}

// A shard that was made smaller has room for as many budgets again, in its entries and
// in its index, and a block for each piece of a log.
func TestRoomAfterShrinking(t *testing.T) {
	const requests = blockTimes + 2 // two blocks, and the latest in the entry
	for _, tt := range []struct{ budgets, places, room int }{{0, 8, 2}, {3, 8, 8}, {4, 16, 10}, {7, 16, 16}, {8, 32, 18}} {
		m := newMemory(30)
		s := &m.shards[0]
		keys := inFirstShard(m, tt.budgets)
		for _, c := range keys {
			for range requests {
				m.take(asked(c, 30), at(0))
			}
		}
		s.shrink()
		if len(s.index) != tt.places || cap(s.entries) != tt.room || len(s.blocks) != 1+2*tt.budgets {
			t.Errorf("%d budgets: got %d places, room for %d entries and %d blocks, want %d, %d and %d", tt.budgets,
				len(s.index), cap(s.entries), len(s.blocks), tt.places, tt.room, 1+2*tt.budgets)
		}
		for _, c := range keys {
			if d := m.take(asked(c, 30), at(0)); d.used != requests {
				t.Errorf("%d budgets: client %d has used %d, want %d", tt.budgets, c, d.used, requests)
			}
		}
	}
}

// A budget is forgotten a minute after its last request, and no earlier.
func TestABudgetIsForgottenAfterAMinute(t *testing.T) {
	for _, requests := range []int{1, 2} {
		m := newMemory(30)
		keys := inFirstShard(m, 3)
		for range requests {
			m.take(asked(keys[0], 30), at(0))
		}
		m.take(asked(keys[1], 30), at(windowTicks-1))
		if got := m.budgets(); got != 2 {
			t.Errorf("%d requests: got %d budgets before the minute has passed, want 2", requests, got)
		}
		m.take(asked(keys[2], 30), at(windowTicks))
		if got := m.budgets(); got != 2 {
			t.Errorf("%d requests: got %d budgets, want the second and the third", requests, got)
		}
	}
}

// What is given back leaves no blocks behind.
func TestGiveBackFreesBlocks(t *testing.T) {
	m := newMemory(30)
	s := &m.shards[0]
	keys := inFirstShard(m, 2)
	for i := range 100 {
		for _, c := range keys {
			first, second := m.take(asked(c, 30), at(int64(2*i))), m.take(asked(c, 30), at(int64(2*i+1)))
			m.giveBack(asked(c, 30), first.at)
			m.giveBack(asked(c, 30), second.at)
		}
	}
	if len(s.blocks) != 2 || len(s.entries) != 3 {
		t.Errorf("got %d blocks and %d entries, want one of each beside the 1 and 2 there always are", len(s.blocks), len(s.entries))
	}
}

// While memory is full, a warning comes at most once a minute, and then again.
func TestTheWarningAboutTheCeilingComesOnceAMinute(t *testing.T) {
	var j journal.Journal
	c := newClock()
	l, err := New(t.Context(), Config{PerMinute: 30}, logTo(&j), c.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after    time.Duration
		warnings int
	}{{0, 1}, {window - tick, 1}, {tick, 2}, {tick, 2}, {window, 3}} {
		c.advance(tt.after)
		l.record(decision{allowed: true, uncounted: true, at: l.clock()})
		if got := j.Count("newcomers pass uncounted"); got != tt.warnings {
			t.Errorf("at %v: got %d warnings, want %d", c.now(), got, tt.warnings)
		}
	}
}

// In a full shard a newcomer takes the place of the client seen longest ago among those
// seen once, and not that of one seen again.
func TestANewcomerDisplacesOneSeenOnce(t *testing.T) {
	m := newMemory(30)
	m.shards[0].room = 3
	keys := inFirstShard(m, 4)
	again, once, lately, newcomer := keys[0], keys[1], keys[2], keys[3]
	for i, c := range []clientKey{again, again, once, lately} {
		m.take(asked(c, 30), at(int64(i)))
	}
	if d := m.take(asked(newcomer, 30), at(10)); !d.allowed || d.uncounted || m.budgets() != 3 {
		t.Errorf("got %+v and %d budgets, want the newcomer counted as one of 3", d, m.budgets())
	}
	for _, tt := range []struct {
		c    clientKey
		used int
	}{{again, 2}, {newcomer, 1}, {lately, 1}} {
		if d := m.take(asked(tt.c, 30), at(11)); d.used != tt.used {
			t.Errorf("client %d: got %+v, want %d used", tt.c, d, tt.used)
		}
	}
	if d := m.take(asked(once, 30), at(12)); !d.uncounted {
		t.Errorf("got %+v, want it to pass uncounted, now that all others were seen again", d)
	}
}
