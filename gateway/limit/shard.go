package limit

import (
	"slices"
	"sync"
	"time"
)

// clientLog is the log of one client. All its times lie within a minute before
// last.
type clientLog struct {
	client     clientKey
	last       int64      // tick of the newest request ever counted
	times      []uint32   // stamps of the counted requests, oldest first
	prev, next *clientLog // neighbours in one of the shard's lists
}

// stamp is the low 31 bits of a tick, which is enough for an exact age, and the
// mark of a polled request.
func stamp(at int64, polled bool) uint32 {
	s := uint32(at) << 1
	if polled {
		s |= polledMark
	}
	return s
}

const polledMark = 1

// age is how many ticks before now request i was counted. now must not be before
// last.
func (log *clientLog) age(i int, now int64) int64 {
	return now - log.last + int64((stamp(log.last, false)-log.times[i]&^polledMark)>>1)
}

// forget drops the requests that have left the minute.
func (log *clientLog) forget(now int64) {
	n := 0
	for n < len(log.times) && log.age(n, now) >= windowTicks {
		n++
	}
	log.times = slices.Delete(log.times, 0, n)
}

// wait is the time until request i leaves the minute.
func (log *clientLog) wait(i int, now int64) time.Duration {
	return time.Duration(windowTicks-log.age(i, now)) * tick
}

// polled counts the polled requests. If there are most or more, it also returns
// which one has to leave before there are fewer, and else -1.
func (log *clientLog) polled(most int) (n, leaves int) {
	leaves = -1
	for i, t := range slices.Backward(log.times) {
		if t&polledMark == 0 {
			continue
		}
		if n++; n == most {
			leaves = i
		}
	}
	return n, leaves
}

// add counts a request. It allocates room for at most as many as the limit.
func (log *clientLog) add(now int64, q question) {
	if n := len(log.times); n == cap(log.times) {
		log.times = append(make([]uint32, 0, min(max(2, 2*n), q.limit)), log.times...)
	}
	log.times = append(log.times, stamp(now, q.polled))
	log.last = now
}

// remove deletes a request with this stamp, if it is still there.
func (log *clientLog) remove(stamp uint32) {
	for i, t := range slices.Backward(log.times) {
		if t == stamp {
			log.times = slices.Delete(log.times, i, i+1)
			return
		}
	}
}

// shard holds some of the clients under one lock. Each client is in one of two
// circular lists, sorted by the time of its last accepted request.
type shard struct {
	mu        sync.Mutex
	logs      map[clientKey]*clientLog
	room      int       // most clients it will hold
	seenOnce  clientLog // head of the list of clients with one request within the minute
	seenAgain clientLog // head of the list of clients with more
}

func (s *shard) init(room int) {
	s.room = room
	s.logs = make(map[clientKey]*clientLog)
	s.seenOnce.prev, s.seenOnce.next = &s.seenOnce, &s.seenOnce
	s.seenAgain.prev, s.seenAgain.next = &s.seenAgain, &s.seenAgain
}

// find returns the log of a client, and makes one for a new client. It returns
// nil if the shard is full of clients seen more than once within the minute.
func (s *shard) find(q question, now int64) *clientLog {
	s.expire(&s.seenOnce, now)
	s.expire(&s.seenAgain, now)
	log := s.logs[q.client]
	if log != nil {
		return log
	}
	if len(s.logs) < s.room {
		log = &clientLog{}
		log.prev, log.next = log, log
	} else if log = s.seenOnce.next; log == &s.seenOnce {
		return nil
	} else { // the new client takes over its memory, unless it is too large for it
		s.drop(log)
		if cap(log.times) > q.limit {
			log.times = nil
		}
	}
	log.client, log.last, log.times = q.client, now, log.times[:0]
	s.logs[q.client] = log
	return log
}

// expire drops the first client of a list if its minute has passed. One per
// request is enough, as a request adds at most one client.
func (s *shard) expire(list *clientLog, now int64) {
	if log := list.next; log != list && now-log.last >= windowTicks {
		s.drop(log)
	}
}

// accepted moves a client to the end of its list.
func (s *shard) accepted(log *clientLog) {
	list := &s.seenOnce
	if len(log.times) > 1 {
		list = &s.seenAgain
	}
	log.unlink()
	log.prev, log.next = list.prev, list
	log.prev.next, log.next.prev = log, log
}

func (s *shard) drop(log *clientLog) {
	delete(s.logs, log.client)
	log.unlink()
}

// unlink takes an entry out of its list.
func (log *clientLog) unlink() {
	log.prev.next, log.next.prev = log.next, log.prev
	log.prev, log.next = log, log
}
