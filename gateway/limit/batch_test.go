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

func (s *slowRedis) run(_ time.Time, questions []question, answers []answer) {
	s.started <- len(questions)
	<-s.release
	for i, q := range questions {
		answers[i] = answer{decision: decision{used: int(q.client)}}
	}
}

func startSlowBatcher(t *testing.T) (*slowRedis, *batcher) {
	t.Helper()
	s := &slowRedis{started: make(chan int, 1000), release: make(chan struct{})}
	b := startBatcher(s.run)
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
			if got, ok := b.ask(asked(c, 30), time.Minute); !ok || got.err != nil || got.decision.used != int(c) {
				t.Errorf("client %d: got %+v, %v", c, got, ok)
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
			if got, ok := b.ask(asked(clientKey(i), 30), 20*time.Millisecond); ok {
				t.Errorf("client %d: got %+v, want no answer", i, got)
			}
		})
	}
	wg.Wait()
	close(s.release)
	for i := range 10 { // the late answers went nowhere
		if got, ok := b.ask(asked(clientKey(1000+i), 30), time.Minute); !ok || got.decision.used != 1000+i {
			t.Errorf("client %d: got %+v, %v", 1000+i, got, ok)
		}
	}
}
