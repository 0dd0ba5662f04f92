package limit

import (
	"runtime"
	"sync"
	"time"
)

const (
	maxBatch      = 64
	batchesAtOnce = 4
	patience      = 2 * time.Millisecond // how long a batch keeps the next one waiting, so that a late answer delays few
)

// batcher puts the questions of requests that run at the same time together,
// since a round trip to Redis costs much more than a decision. A request that is
// alone does not wait for others.
type batcher struct {
	run   runBatch
	queue chan *ask
	turn  chan struct{} // is full while a batch gathers, or keeps the next one waiting
	asks  sync.Pool     // of *ask
	done  chan struct{}
	ended sync.WaitGroup
}

// runBatch puts questions to Redis and sets every answer, before the deadline.
type runBatch func(deadline time.Time, questions []question, answers []answer)

// ask is one question and where its answer goes.
type ask struct {
	question question
	deadline time.Time
	answer   chan answer // has room for one
	timer    *time.Timer // for the deadline
}

// answer is a decision of Redis, or why there is none.
type answer struct {
	decision decision
	err      error
}

func startBatcher(run runBatch) *batcher {
	b := &batcher{run: run, queue: make(chan *ask, maxBatch), turn: make(chan struct{}, 1), done: make(chan struct{})}
	b.asks.New = func() any {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return &ask{answer: make(chan answer, 1), timer: timer}
	}
	for range batchesAtOnce {
		b.ended.Go(b.work)
	}
	return b
}

// ask waits for the answer to a question. It returns false if there was none in
// time.
func (b *batcher) ask(q question, timeout time.Duration) (answer, bool) {
	a := b.asks.Get().(*ask)
	a.question, a.deadline = q, time.Now().Add(timeout)
	a.timer.Reset(timeout)
	select {
	case b.queue <- a:
	case <-a.timer.C:
		b.asks.Put(a)
		return answer{}, false
	}
	select {
	case got := <-a.answer:
		a.timer.Stop()
		b.asks.Put(a)
		return got, true
	case <-a.timer.C: // a may still be answered, so it is not used again
		return answer{}, false
	}
}

func (b *batcher) work() {
	batch := make([]*ask, 0, maxBatch)
	questions := make([]question, 0, maxBatch)
	answers := make([]answer, maxBatch)
	endTurn := func() { <-b.turn }
	for {
		b.turn <- struct{}{}
		select {
		case <-b.done:
			endTurn()
			return
		case a := <-b.queue:
			batch = b.gather(append(batch[:0], a))
		}
		longest := time.AfterFunc(patience, endTurn)
		questions = questions[:0]
		for _, a := range batch {
			questions = append(questions, a.question)
		}
		b.run(batch[0].deadline, questions, answers[:len(batch)])
		if longest.Stop() {
			endTurn()
		}
		for i, a := range batch {
			a.answer <- answers[i]
		}
	}
}

// gather adds the questions that wait, and those of requests that are about to ask.
func (b *batcher) gather(batch []*ask) []*ask {
	runtime.Gosched()
	for len(batch) < maxBatch {
		select {
		case a := <-b.queue:
			batch = append(batch, a)
		default:
			return batch
		}
	}
	return batch
}

// close waits for the batches under way. Questions asked later get no answer.
func (b *batcher) close() {
	close(b.done)
	b.ended.Wait()
}
