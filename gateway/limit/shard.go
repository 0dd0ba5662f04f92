package limit

import (
	"slices"
	"sync"
	"time"
)

// entry is the log of one client. A time holds the low 32 bits of its tick: as
// all of them lie within a minute before last, that is enough to tell their age
// exactly.
type entry struct {
	client     client
	last       int64    // tick of the newest request ever counted
	times      []uint32 // of the counted requests, oldest first
	prev, next *entry   // neighbours in one of the shard's lists
}

// age is how long before now, which is not before last, request i was counted.
func (e *entry) age(i int, now int64) int64 {
	return now - e.last + int64(uint32(e.last)-e.times[i])
}

// forget drops the requests that have left the minute.
func (e *entry) forget(now int64) {
	n := 0
	for n < len(e.times) && e.age(n, now) >= windowTicks {
		n++
	}
	e.times = slices.Delete(e.times, 0, n)
}

// wait is the time until the oldest request leaves the minute.
func (e *entry) wait(now int64) time.Duration {
	return time.Duration(windowTicks-e.age(0, now)) * tick
}

// add counts a request, and takes no more memory than most requests ever need.
func (e *entry) add(now int64, most int) {
	if n := len(e.times); n == cap(e.times) {
		e.times = append(make([]uint32, 0, min(max(2, 2*n), most)), e.times...)
	}
	e.times = append(e.times, uint32(now))
	e.last = now
}

// remove takes back a request counted at tick at, if it is still there.
func (e *entry) remove(at int64) {
	for i, t := range slices.Backward(e.times) {
		if t == uint32(at) {
			e.times = slices.Delete(e.times, i, i+1)
			return
		}
	}
}

// shard holds some of the clients under one lock. Each is in one of two
// circular lists, in the order in which the clients were last accepted.
type shard struct {
	mu      sync.Mutex
	entries map[client]*entry
	room    int   // most clients it will hold
	once    entry // head of the list of clients with one request within the minute
	again   entry // head of the list of clients with more
}

func (s *shard) init(room int) {
	s.room = room
	s.entries = make(map[client]*entry)
	s.once.prev, s.once.next = &s.once, &s.once
	s.again.prev, s.again.next = &s.again, &s.again
}

// find gives the entry of a client, and makes one for a newcomer. It gives nil
// when every entry belongs to a client that has come again within the minute.
func (s *shard) find(c client, now int64) *entry {
	s.expire(&s.once, now)
	s.expire(&s.again, now)
	e := s.entries[c]
	if e != nil {
		return e
	}
	if len(s.entries) < s.room {
		e = &entry{}
		e.prev, e.next = e, e
	} else if e = s.once.next; e == &s.once {
		return nil
	} else { // its memory serves the newcomer
		s.drop(e)
	}
	e.client, e.last, e.times = c, now, e.times[:0]
	s.entries[c] = e
	return e
}

// expire drops the first client of a list if its minute has passed. That keeps
// pace, as a request adds one client at most.
func (s *shard) expire(list *entry, now int64) {
	if e := list.next; e != list && now-e.last >= windowTicks {
		s.drop(e)
	}
}

// accepted puts a client last in its list.
func (s *shard) accepted(e *entry) {
	list := &s.once
	if len(e.times) > 1 {
		list = &s.again
	}
	e.unlink()
	e.prev, e.next = list.prev, list
	e.prev.next, e.next.prev = e, e
}

// drop forgets a client.
func (s *shard) drop(e *entry) {
	delete(s.entries, e.client)
	e.unlink()
}

// unlink takes an entry out of its list.
func (e *entry) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = e, e
}
