package limit

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// poll asks about a subject, and answers the question.
func poll(t *testing.T, l *Limiter, who Client, subject string, exists, ours bool, next time.Duration) (time.Duration, *fault.Error) {
	t.Helper()
	p, refused := l.AdmitPolled(t.Context(), http.Header{}, who, subject)
	if refused != nil {
		return 0, refused
	}
	defer p.End()
	return p.Next(exists, ours, next), nil
}

// use spends the whole budget for polled questions on invented subjects.
func use(t *testing.T, l *Limiter, who Client) {
	t.Helper()
	for i := 0; ; i++ {
		if _, refused := poll(t, l, who, fmt.Sprintf("invented %d", i), false, false, 0); refused != nil {
			return
		}
	}
}

// What exists and is asked for on time costs nothing, and is let in when the budget is
// used up. Asked for too early it counts.
func TestOnTimeIsNeverRefused(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("redis=%t", shared), func(t *testing.T) {
			c, pass := newClock(), func(time.Duration) {}
			l := newTestLimiter(t, Config{PerMinute: 30}, c)
			a := Address(peerOf(alice))
			if shared {
				s := startRedis(t)
				l = newSharedLimiter(t, s.url(), quiet, c, calm)
				pass = func(d time.Duration) { s.pass(keyPrefix+"ticket:203.0.113.1:swap", d) }
			}
			advance := func(d time.Duration) {
				pass(d)
				c.advance(d)
			}
			if next, refused := poll(t, l, a, "swap", true, true, 5*time.Second); refused != nil || next != 5*time.Second {
				t.Fatalf("got %v, %v", next, refused)
			}
			use(t, l, a)
			for i := range 30 {
				advance(4 * time.Second)
				if _, refused := poll(t, l, a, "swap", true, true, 5*time.Second); i < 10 && refused == nil {
					t.Fatalf("question %d: a second too early, it passed beyond the budget", i+1)
				}
				advance(time.Second)
				if next, refused := poll(t, l, a, "swap", true, true, 5*time.Second); refused != nil || next != 5*time.Second {
					t.Fatalf("question %d: got %v, %v", i+1, next, refused)
				}
				if i == 9 {
					break
				}
			}
		})
	}
}

// Several people behind one address follow one swap: each has a ticket of its own.
func TestTicketsOfOneSubject(t *testing.T) {
	c := newClock()
	l := newTestLimiter(t, Config{PerMinute: 30}, c)
	a := Address(peerOf(alice))
	for range ticketsPerSubject {
		poll(t, l, a, "swap", true, true, 5*time.Second)
		c.advance(time.Second)
	}
	use(t, l, a)
	for i := range 40 {
		c.advance(time.Second)
		if i%5 == ticketsPerSubject {
			continue // nobody asks in this second
		}
		if _, refused := poll(t, l, a, "swap", true, true, 5*time.Second); refused != nil {
			t.Fatalf("after %d seconds: %v", i+1, refused)
		}
	}
	if got := len(l.polls.known.Keys()); got != 1 {
		t.Errorf("%d subjects have tickets, want 1", got)
	}
}

// Who follows subjects that nobody knows is told later and later times, so that all
// questions together fit into the budget, and is never refused when it keeps to them.
func TestInventedSubjectsAreSpaced(t *testing.T) {
	c := newClock()
	l := newTestLimiter(t, Config{PerMinute: 30}, c)
	a := Address(peerOf(alice))
	due := map[string]time.Duration{}
	asked, start := []time.Duration{}, c.now()
	for i := range 15 {
		due[strconv.Itoa(i)] = 0
	}
	for now := time.Duration(0); now < 20*time.Minute; now = c.now().Sub(start) {
		for subject, at := range due {
			if now < at {
				continue
			}
			next, refused := poll(t, l, a, subject, false, false, 5*time.Second)
			if refused != nil {
				t.Fatalf("%v after %v", refused, now)
			}
			due[subject] = now + next
			asked = append(asked, now)
		}
		c.advance(time.Second)
	}
	for i := 30; i < len(asked); i++ { // the first questions, and those that were promised
		if asked[i]-asked[i-30] < time.Minute {
			t.Fatalf("%d questions within %v", 31, asked[i]-asked[i-30])
		}
	}
	if later := asked[15:]; len(later) > 20*15 || len(later) < 15*15 {
		t.Errorf("%d questions in 20 minutes, want 15 a minute", len(later))
	}
	use(t, l, a)
	c.advance(time.Minute)
	if _, refused := poll(t, l, Address(peerOf(bob)), "x", false, false, 5*time.Second); refused != nil {
		t.Errorf("another client: %v", refused)
	}
}

// A flood of invented subjects gets no more than the budget, also all at once.
func TestFloodOfInventedSubjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		var mu sync.Mutex
		var wg sync.WaitGroup
		passed := 0
		for i := range 500 {
			wg.Go(func() {
				p, refused := l.AdmitPolled(t.Context(), http.Header{}, Address(peerOf(alice)), strconv.Itoa(i))
				if refused != nil {
					return
				}
				defer p.End()
				time.Sleep(100 * time.Millisecond) // the look-up
				p.Next(false, false, 5*time.Second)
				mu.Lock()
				defer mu.Unlock()
				passed++
			})
		}
		wg.Wait()
		if passed != 15 {
			t.Errorf("%d of 500 passed, want 15", passed)
		}
		if len(l.polls.lines) != 0 {
			t.Errorf("%d lines are left", len(l.polls.lines))
		}
		if got := l.Stats(); got.Allowed != 15 || got.Refused != 485 {
			t.Errorf("got %+v, want 15 allowed and 485 refused", got)
		}
	})
}

// Twenty first questions about swaps at once: those beyond the budget wait until the
// others have turned out to cost nothing.
func TestFirstQuestionsWaitInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				h := http.Header{}
				p, refused := l.AdmitPolled(t.Context(), h, Address(peerOf(alice)), strconv.Itoa(i))
				if refused != nil {
					t.Error(refused)
					return
				}
				defer p.End()
				time.Sleep(100 * time.Millisecond)
				p.Next(true, true, 5*time.Second)
			})
		}
		wg.Wait()
		if v := l.memory.take(question{client: clientKeyOf(peerOf(alice)), limit: 15, polled: true}, l.clock); v.used != 0 {
			t.Errorf("%d of the budget are used, want none", v.used)
		}
	})
}

// A swap that the nodes see only after a while gives back what it has cost until then.
func TestFoundLaterCostsNothing(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a := Address(peerOf(alice))
		for range 2 {
			poll(t, l, a, "swap", false, false, 5*time.Second)
			poll(t, l, a, "another", false, false, 5*time.Second)
		}
		poll(t, l, a, "swap", true, true, 5*time.Second)
		poll(t, l, a, "another", true, false, 5*time.Second)
		wantAdmitted(t, l, a, true, 1, 1, "11") // three for the other one, and this
	})
}

// Nobody waits for ever for a look-up that does not end.
func TestTheLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		var under []*Poll
		for i := range 15 {
			p, refused := l.AdmitPolled(t.Context(), http.Header{}, Address(peerOf(alice)), strconv.Itoa(i))
			if refused != nil {
				t.Fatal(refused)
			}
			under = append(under, p)
		}
		start := time.Now()
		if _, refused := l.AdmitPolled(t.Context(), http.Header{}, Address(peerOf(alice)), "one more"); refused == nil || time.Since(start) != longestPoll {
			t.Errorf("got %v after %v, want a refusal after %v", refused, time.Since(start), longestPoll)
		}
		for _, p := range under {
			p.End()
		}
		if len(l.polls.lines) != 0 {
			t.Errorf("%d lines are left", len(l.polls.lines))
		}
	})
}

// An error that does not tell whether the subject exists is not held against one that
// has been seen.
func TestRetryAfterAnError(t *testing.T) {
	c := newClock()
	l := newTestLimiter(t, Config{PerMinute: 30}, c)
	a := Address(peerOf(alice))
	poll(t, l, a, "swap", true, true, 5*time.Second)
	for i := range 14 {
		poll(t, l, a, strconv.Itoa(i), false, false, 5*time.Second)
	}
	c.advance(5 * time.Second)
	p, refused := l.AdmitPolled(t.Context(), http.Header{}, a, "swap")
	if refused != nil {
		t.Fatal(refused)
	}
	if got := p.Retry(7 * time.Second); got != 7*time.Second {
		t.Errorf("a swap is told %v, want 7s", got)
	}
	p.End()
	p, refused = l.AdmitPolled(t.Context(), http.Header{}, a, "0")
	if refused != nil {
		t.Fatal(refused)
	}
	if got := p.Retry(7 * time.Second); got < 50*time.Second {
		t.Errorf("an invented one is told %v, want it behind the others", got)
	}
	p.End()
}

// The tickets of two instances are the same.
func TestTicketsCountAtEveryInstance(t *testing.T) {
	t.Parallel()
	s := startRedis(t)
	one := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	other := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	a := Address(peerOf(alice))
	const due = 45 * time.Second // longer than a busy machine takes for this test
	const ticket = keyPrefix + "ticket:203.0.113.1:swap"
	poll(t, one, a, "swap", true, true, due)
	if n := s.LLen(t.Context(), keyPrefix+"polled:203.0.113.1").Val(); n != 0 {
		t.Errorf("a swap has cost %d, want nothing", n)
	}
	use(t, one, a)
	if _, refused := poll(t, other, a, "swap", true, true, due); refused == nil {
		t.Error("asked too early, it passed")
	}
	for range 5 {
		s.pass(ticket, due)
		for _, l := range []*Limiter{other, one} {
			_, refused := poll(t, l, a, "swap", true, true, due)
			if l == other && refused != nil {
				t.Errorf("asked on time at the other instance: %v", refused)
			}
			if l == one && refused == nil {
				t.Error("one ticket was used twice")
			}
		}
	}
	if ttl := s.TTL(t.Context(), ticket).Val(); ttl < time.Minute || ttl > 6*time.Minute {
		t.Errorf("the ticket lives for %v", ttl)
	}
	for i := range 10 {
		poll(t, one, Address(peerOf(bob)), "swap", true, true, time.Duration(i+1)*time.Second)
	}
	if n := s.LLen(t.Context(), keyPrefix+"ticket:203.0.113.2:swap").Val(); n != ticketsPerSubject {
		t.Errorf("got %d tickets, want %d", n, ticketsPerSubject)
	}
}

// Tickets do not fill the memory, and invented subjects displace no others.
func TestTicketsAreBounded(t *testing.T) {
	c := newClock()
	l := newTestLimiter(t, Config{PerMinute: 30}, c)
	a := Address(peerOf(alice))
	poll(t, l, a, "swap", true, true, 5*time.Second)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 50_000 {
		who := Address(netip.AddrFrom4([4]byte{198, byte(i >> 16), byte(i >> 8), byte(i)}))
		subject := fmt.Sprintf("369:0x%064x", i)
		if _, refused := poll(t, l, who, subject, false, false, 5*time.Second); refused != nil {
			t.Fatal(refused)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 10<<20 {
		t.Errorf("50,000 clients take %d bytes", grown)
	}
	use(t, l, a)
	c.advance(5 * time.Second)
	if _, refused := poll(t, l, a, "swap", true, true, 5*time.Second); refused != nil {
		t.Errorf("the flood has displaced a swap: %v", refused)
	}
}

// A ticket is good from a quarter of a second before its time, and once.
func TestATicketIsDue(t *testing.T) {
	const due = int64(10 * time.Second / tick)
	p, k := newPolls(), ticketKey{client: 1}
	for _, known := range []bool{false, true} {
		p.promise(k, known, due)
		for _, tt := range []struct {
			before time.Duration
			want   bool
		}{{10 * time.Second, false}, {250*time.Millisecond + tick, false}, {250 * time.Millisecond, true}, {0, false}} {
			promised, was := p.redeem(k, due-int64(tt.before/tick))
			if promised != tt.want || was != (tt.want && known) {
				t.Errorf("known %t, %v before: got %t and %t, want %t", known, tt.before, promised, was, tt.want)
			}
		}
	}
}

// Of more tickets than there are places, those for the earliest times are kept.
func TestTheLatestTicketGivesWay(t *testing.T) {
	p, k := newPolls(), ticketKey{client: 1}
	for _, due := range []int64{400, 100, 300, 200, 500, 50, 350, 350} {
		p.promise(k, true, due*int64(time.Second/tick))
	}
	held, _ := p.known.Get(k)
	slices.Sort(held[:])
	for i, want := range []int64{50, 100, 200, 300} {
		if got := held[i] / int64(time.Second/tick); got != want {
			t.Errorf("ticket %d is for second %d, want %d", i+1, got, want)
		}
	}
}

// A ticket takes the place of one that was used, also if later ones are held.
func TestATicketTakesAFreePlace(t *testing.T) {
	p, k := newPolls(), ticketKey{client: 1}
	const second = int64(time.Second / tick)
	for _, due := range []int64{10, 20, 30, 40} {
		p.promise(k, true, due*second)
	}
	if promised, _ := p.redeem(k, 10*second); !promised {
		t.Fatal("a ticket was not good when it was due")
	}
	p.promise(k, true, 50*second)
	for _, due := range []int64{20, 30, 40, 50} {
		if promised, _ := p.redeem(k, due*second); !promised {
			t.Errorf("the ticket for second %d is gone", due)
		}
	}
}

// A subject that has come to be known keeps its tickets, and none is there twice.
func TestTicketsOfASubjectThatIsFound(t *testing.T) {
	p, k := newPolls(), ticketKey{client: 1}
	p.promise(k, false, 100)
	p.promise(k, true, 200)
	if p.others.Len() != 0 || p.known.Len() != 1 {
		t.Errorf("got %d invented and %d known subjects, want it to be known", p.others.Len(), p.known.Len())
	}
	const late = int64(time.Minute / tick)
	for i, want := range []bool{true, true, false} {
		if promised, known := p.redeem(k, late); promised != want || known != want {
			t.Errorf("ticket %d: got %t and %t, want %t", i+1, promised, known, want)
		}
	}
	if p.known.Len() != 0 {
		t.Error("a subject without tickets is kept")
	}
}

// Questions about invented subjects are spaced as the budget has it: 15 a minute are 4
// seconds apart, in whole seconds, and five minutes away at most.
func TestSpace(t *testing.T) {
	q := question{client: 1, limit: 15, polled: true}
	p := newPolls()
	for i := range 75 {
		want := time.Duration(4+4*i) * time.Second
		if next, promise := p.space(q, 1000, 4*time.Second); next != want || !promise {
			t.Fatalf("question %d: got %v and %t, want %v", i+1, next, promise, want)
		}
	}
	for range 2 {
		if next, promise := p.space(q, 1000, 4*time.Second); next != 5*time.Minute || promise {
			t.Errorf("got %v and %t, want no promise before five minutes", next, promise)
		}
	}
	now := 1000 + int64(4*time.Second/tick)
	if next, promise := p.space(q, now, 4*time.Second); next != 5*time.Minute || !promise {
		t.Errorf("4 seconds later: got %v and %t, want a promise", next, promise)
	}
	other := question{client: 2, limit: 15, polled: true}
	for _, tt := range []struct{ next, want time.Duration }{
		{5 * time.Second, 5 * time.Second},
		{9*time.Second + tick, 10 * time.Second},
		{20 * time.Minute, 20 * time.Minute}, // what the answer says anyway
	} {
		if next, promise := p.space(other, 0, tt.next); next != tt.want || !promise {
			t.Errorf("%v: got %v and %t, want %v", tt.next, next, promise, tt.want)
		}
	}
}

// Who is told never to ask again has no ticket and takes nobody's turn.
func TestNeverAskAgain(t *testing.T) {
	l := newTestLimiter(t, Config{PerMinute: 30}, newClock())
	a := Address(peerOf(alice))
	poll(t, l, a, "invented", false, false, 5*time.Second)
	for _, exists := range []bool{false, true} {
		if next, refused := poll(t, l, a, "over", exists, false, 0); next != 0 || refused != nil {
			t.Errorf("exists %t: got %v and %v, want never", exists, next, refused)
		}
	}
	if known, others := l.polls.known.Len(), l.polls.others.Len(); known != 0 || others != 1 {
		t.Errorf("got tickets for %d known and %d invented subjects, want one for the first", known, others)
	}
	if next, _ := poll(t, l, a, "invented too", false, false, 5*time.Second); next != 9*time.Second {
		t.Errorf("the next invented subject is told %v, want 9s", next)
	}
}

// A question that costs nothing says so: the headers tell what is left without it.
func TestWhatIsGivenBackIsTold(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a := Address(peerOf(alice))
		for i, ours := range []bool{false, true, false} {
			h := http.Header{}
			p, refused := l.AdmitPolled(t.Context(), h, a, strconv.Itoa(i))
			if refused != nil {
				t.Fatal(refused)
			}
			before := []string{"14", "13", "13"}[i]
			if got := h.Get("RateLimit-Remaining"); got != before {
				t.Errorf("question %d: %s remain, want %s", i, got, before)
			}
			p.Next(true, ours, 5*time.Second)
			after := []string{"14", "14", "13"}[i]
			if got := h.Get("RateLimit-Remaining"); got != after {
				t.Errorf("question %d: %s remain after the answer, want %s", i, got, after)
			}
			p.End()
		}
	})
}

// What has left the minute is not given back.
func TestNothingIsGivenBackAfterAMinute(t *testing.T) {
	for after, want := range map[time.Duration]int{window - tick: 0, window: 1} {
		c := newClock()
		l := newTestLimiter(t, Config{PerMinute: 30}, c)
		c.advance(time.Hour) // the gateway has run for a while
		a := Address(peerOf(alice))
		poll(t, l, a, "swap", false, false, 5*time.Second)
		c.advance(after)
		poll(t, l, a, "swap", true, true, 5*time.Second) // on a ticket
		if got := l.Stats().Clients; got != want {
			t.Errorf("%v later: got %d budgets, want %d", after, got, want)
		}
	}
}

// A decision that Redis has not counted is not taken out there.
func TestNothingIsTakenOutOfRedisThatIsNotThere(t *testing.T) {
	s := startRedis(t)
	l := newSharedLimiter(t, s.url(), quiet, newClock(), calm)
	q := question{client: 1, limit: 15, polled: true}
	l.giveBack(q, decision{allowed: true})
	if got := s.calls("lrem"); got != 0 {
		t.Errorf("Redis was asked %d times to take out what it has not counted", got)
	}
	d := l.take(q)
	l.giveBack(q, d)
	if got, left := s.calls("lrem"), s.LLen(t.Context(), keyPrefix+q.String()).Val(); got != 1 || left != 0 {
		t.Errorf("Redis was asked %d times and has %d left, want 1 and 0", got, left)
	}
}

// As many wait in line as the budget is large. One more is refused at once.
func TestTheLineIsAsLongAsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListingLimiter(t)
		a := Address(peerOf(alice))
		var underWay []*Poll
		for i := range 15 {
			p, refused := l.AdmitPolled(t.Context(), http.Header{}, a, strconv.Itoa(i))
			if refused != nil {
				t.Fatal(refused)
			}
			underWay = append(underWay, p)
		}
		var wg sync.WaitGroup
		passed := make(chan *Poll, 15)
		for i := range 15 {
			wg.Go(func() {
				p, refused := l.AdmitPolled(t.Context(), http.Header{}, a, strconv.Itoa(100+i))
				if refused == nil {
					passed <- p
				}
			})
		}
		synctest.Wait() // all of them wait
		start := time.Now()
		if _, refused := l.AdmitPolled(t.Context(), http.Header{}, a, "one more"); refused == nil || time.Since(start) != 0 {
			t.Errorf("got %v after %v, want a refusal at once", refused, time.Since(start))
		}
		for _, p := range underWay {
			p.Next(true, true, 5*time.Second)
			p.End()
		}
		wg.Wait()
		if len(passed) != 15 || time.Since(start) != 0 {
			t.Errorf("%d of 15 who waited have passed after %v, want all at once", len(passed), time.Since(start))
		}
		for range 15 {
			(<-passed).End()
		}
		if len(l.polls.lines) != 0 {
			t.Errorf("%d lines are left", len(l.polls.lines))
		}
	})
}

// A question about somebody else's subject costs what it costs, also if the subject turns
// out to be ours: only those that found nothing are given back.
func TestWhatWasFoundIsNotGivenBack(t *testing.T) {
	limiters(t, func(t *testing.T, l *Limiter) {
		a := Address(peerOf(alice))
		poll(t, l, a, "swap", true, false, 5*time.Second)
		poll(t, l, a, "swap", true, true, 5*time.Second)
		wantAdmitted(t, l, a, true, 1, 1, "13") // the first, and this
	})
}
