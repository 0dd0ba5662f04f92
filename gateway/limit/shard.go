package limit

import "sync"

// The first slots of a shard are the heads of circular lists, each in the order
// in which its clients were last accepted.
const (
	once  = iota // clients with one request within the minute
	again        // clients with more
	free         // slots of no client
	heads
)

// shard holds some of the clients under one lock.
type shard struct {
	mu    sync.Mutex
	index map[client]uint32
	slots []slot
	room  int // most clients it will hold
}

func (s *shard) init(room int) {
	s.room = room
	s.index = make(map[client]uint32)
	s.slots = make([]slot, heads)
	for i := range s.slots {
		s.slots[i].prev, s.slots[i].next = uint32(i), uint32(i)
	}
}

// expire drops a client or two whose minute has passed, which is enough to keep
// pace, as a request adds one at most.
func (s *shard) expire(now int64) {
	for _, list := range [...]uint32{once, again} {
		if i := s.slots[list].next; i != list && now-s.slots[i].last >= windowTicks {
			s.drop(i)
		}
	}
}

// admit finds a slot for a newcomer. It fails when every slot belongs to a
// client that has come again within the minute.
func (s *shard) admit(c client, now int64) (uint32, bool) {
	if s.slots[free].next == free {
		switch oldest := s.slots[once].next; {
		case len(s.slots) < heads+s.room:
			s.grow()
		case oldest != once:
			s.drop(oldest)
		default:
			return 0, false
		}
	}
	i := s.slots[free].next
	s.slots[i].client, s.slots[i].last = c, now
	s.index[c] = i
	return i, true
}

// grow adds a free slot, by doubling up to the ceiling.
func (s *shard) grow() {
	i := uint32(len(s.slots))
	if len(s.slots) == cap(s.slots) {
		s.slots = append(make([]slot, 0, min(2*len(s.slots), heads+s.room)), s.slots...)
	}
	s.slots = append(s.slots, slot{prev: i, next: i})
	s.move(i, free)
}

// file puts a client that was just accepted last in its list.
func (s *shard) file(i uint32) {
	if len(s.slots[i].times) == 1 {
		s.move(i, once)
	} else {
		s.move(i, again)
	}
}

// drop forgets a client. Its slot keeps the memory of its log for the next.
func (s *shard) drop(i uint32) {
	delete(s.index, s.slots[i].client)
	s.slots[i].times = s.slots[i].times[:0]
	s.move(i, free)
}

// move takes slot i out of its list and puts it last in another.
func (s *shard) move(i, list uint32) {
	k := &s.slots[i]
	s.slots[k.prev].next, s.slots[k.next].prev = k.next, k.prev
	last := s.slots[list].prev
	k.prev, k.next = last, list
	s.slots[last].next, s.slots[list].prev = i, i
}
