package limit

import (
	"sync"
	"testing"
	"time"
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
