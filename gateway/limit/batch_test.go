package limit

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowRedis answers when it is told to. It remembers how large the batches were.
type slowRedis struct {
	started chan int // the size of each batch, when it starts
	release chan struct{}
}

func (s *slowRedis) run(batch []*ask) {
	s.started <- len(batch)
	<-s.release
	for _, a := range batch {
		a.decision = decision{used: int(a.question.client)}
	}
}

func startSlowBatcher(t *testing.T) (*slowRedis, *batcher) {
	t.Helper()
	s := &slowRedis{started: make(chan int, 1000), release: make(chan struct{})}
	b := startBatcher(s.run, nil)
	t.Cleanup(b.close)
	return s, b
}

// Requests that wait are asked together, each gets its own answer, and an answer
// that is late does not keep the others waiting.
func TestBatches(t *testing.T) {
	s, b := startSlowBatcher(t)
	var wg sync.WaitGroup
	ask := func(c clientKey) {
		wg.Go(func() {
			if got, err := b.ask(asked(c, 30), time.Minute); err != nil || got.used != int(c) {
				t.Errorf("client %d: got %+v, %v", c, got, err)
			}
		})
	}
	for i := range batchesAtOnce {
		ask(clientKey(i))
		if n := <-s.started; n != 1 {
			t.Errorf("batch %d has %d questions, want 1", i, n)
		}
	}
	for i := range maxBatch {
		ask(clientKey(100 + i))
	}
	eventually(t, "all questions", func() bool { return len(b.queue) == maxBatch })
	close(s.release)
	wg.Wait()
	if n := <-s.started; n != maxBatch {
		t.Errorf("got a batch of %d, want all %d", n, maxBatch)
	}
}

// Nobody waits longer than its timeout, whether its question was sent or not.
func TestBatchesThatAreLate(t *testing.T) {
	s, b := startSlowBatcher(t)
	const waiting = 2*maxBatch + batchesAtOnce
	var wg sync.WaitGroup
	for i := range waiting {
		wg.Go(func() {
			if got, err := b.ask(asked(clientKey(i), 30), 20*time.Millisecond); err != errLate {
				t.Errorf("client %d: got %+v, %v, want no answer", i, got, err)
			}
		})
	}
	wg.Wait()
	close(s.release)
	for i := range 10 { // the late answers went nowhere
		if got, err := b.ask(asked(clientKey(1000+i), 30), time.Minute); err != nil || got.used != 1000+i {
			t.Errorf("client %d: got %+v, %v", 1000+i, got, err)
		}
	}
}

// A batch has 64 questions at most, however many wait.
func TestBatchesAreBounded(t *testing.T) {
	s, b := startSlowBatcher(t)
	var wg sync.WaitGroup
	ask := func() {
		wg.Go(func() {
			if _, err := b.ask(asked(1, 30), time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	for range batchesAtOnce {
		ask()
		<-s.started
	}
	for range 2 * maxBatch { // half of them in the queue, and half waiting for a place in it
		ask()
	}
	eventually(t, "a full queue", func() bool { return len(b.queue) == maxBatch })
	close(s.release)
	wg.Wait()
	close(s.started)
	for n := range s.started {
		if n > maxBatch {
			t.Errorf("got a batch of %d, want %d at most", n, maxBatch)
		}
	}
}

// A batch that gets no answer keeps the next one waiting for two milliseconds, so that
// questions which come meanwhile are asked together.
func TestABatchWaitsForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowRedis{started: make(chan int, 10), release: make(chan struct{})}
		b := startBatcher(s.run, quiet)
		var wg sync.WaitGroup
		ask := func() {
			wg.Go(func() {
				if _, err := b.ask(asked(1, 30), time.Minute); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		ask()
		ask()
		time.Sleep(2*time.Millisecond - 1)
		ask()
		if got := len(s.started); got != 1 {
			t.Errorf("%d batches have begun within two milliseconds, want 1", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if first, second := <-s.started, <-s.started; first != 1 || second != 2 {
			t.Errorf("got batches of %d and %d, want 1 and the 2 that came meanwhile", first, second)
		}
		ask() // the second batch keeps it waiting, until it is answered
		close(s.release)
		wg.Wait()
		if got := <-s.started; got != 1 {
			t.Errorf("got a last batch of %d, want 1", got)
		}
		b.close()
	})
}

// What the script answers is believed if it can be true: what is allowed is below the
// limit, and a wait is a microsecond to a minute.
func TestWhatTheScriptMayAnswer(t *testing.T) {
	const minute = int64(window / time.Microsecond)
	for _, tt := range []struct {
		allowed, used, wait int64
		limit               int
		believed            bool
	}{
		{1, 0, minute, 30, true},
		{1, 29, 1, 30, true},
		{0, 30, 1, 30, true},
		{0, MaxPerMinute, minute, 30, true},
		{0, MaxPerMinute, 1, MaxPerMinute, true},
		{1, 30, 1, 30, false},
		{0, 29, 1, 30, false},
		{1, -1, 1, 30, false},
		{0, MaxPerMinute + 1, 1, 30, false},
		{1, 0, 0, 30, false},
		{1, 0, minute + 1, 30, false},
		{0, 30, 0, 30, false},
		{0, 30, minute + 1, 30, false},
	} {
		first, second := &ask{question: asked(1, 30)}, &ask{question: asked(2, tt.limit)}
		c := call{asks: []*ask{first, second}, reply: redis.NewIntSliceCmd(t.Context())}
		c.reply.SetVal([]int64{1, 3, 5, 7, tt.allowed, tt.used, tt.wait, 9})
		c.read(window)
		if want := (decision{allowed: true, used: 3, wait: 5 * time.Microsecond, stamp: 7}); first.err != nil || first.decision != want {
			t.Errorf("%+v: got %+v and %v for the other client, want %+v", tt, first.decision, first.err, want)
		}
		if !tt.believed {
			want := fmt.Sprintf("the script answered [%d %d %d 9], which cannot be true", tt.allowed, tt.used, tt.wait)
			if second.err == nil || second.err.Error() != want {
				t.Errorf("%+v: got %v, want %q", tt, second.err, want)
			}
			continue
		}
		want := decision{
			allowed: tt.allowed == 1, used: int(tt.used), wait: time.Duration(tt.wait) * time.Microsecond, stamp: 9,
		}
		if second.err != nil || second.decision != want {
			t.Errorf("%+v: got %+v and %v, want %+v", tt, second.decision, second.err, want)
		}
	}
}

// An error for all keys of a call is one for each question.
func TestAnErrorIsForAllOfACall(t *testing.T) {
	asks := []*ask{{question: asked(1, 30)}, {question: asked(2, 30)}, {question: asked(3, 30)}}
	c := call{asks: asks, reply: redis.NewIntSliceCmd(t.Context())}
	c.reply.SetVal([]int64{1, 0, 1, 1})
	c.read(window)
	for i, a := range asks {
		if a.err == nil || a.err.Error() != "the script answered 4 numbers for 3 keys" {
			t.Errorf("question %d: got %v and %+v", i, a.err, a.decision)
		}
	}
}

// In a cluster each question is a call of its own, and an error to one is none to the
// others. A server gets one call for all of them.
func TestCallsOfABatch(t *testing.T) {
	var calls atomic.Int64
	s := startScripted(t, func(command []string) (string, bool) {
		if command[0] == "evalsha" {
			calls.Add(1)
		}
		return badAnswers["a wrong type"], slices.Contains(command, "spoilt")
	})
	for url, want := range map[string]int64{"redis://" + s.addr: 1, "redis://" + s.addr + "?addr=" + s.addr: 3} {
		l := newSharedLimiter(t, url, quiet, newClock(), calm)
		asks := []*ask{{key: "one"}, {key: "spoilt"}, {key: "other"}}
		for _, a := range asks {
			a.question.limit = 30
		}
		before := calls.Load()
		l.redis.run(t.Context(), asks, window)
		if got := calls.Load() - before; got != want {
			t.Errorf("%s: got %d calls, want %d", url, got, want)
		}
		for _, a := range asks {
			if fails := a.key == "spoilt" || want == 1; (a.err != nil) != fails {
				t.Errorf("%s: %s got %v, want an error: %t", url, a.key, a.err, fails)
			}
		}
	}
}
