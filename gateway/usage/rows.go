package usage

import "slices"

// row is one client with many calls.
type row struct {
	hash        uint64 // of the identity
	name        name
	first, last int64 // Unix seconds
	rank        uint64
	known       bool             // to the sketches of the current slots
	day         [daySlots]uint64 // calls, at the places of the rings
	week        [weekSlots]uint64

	place int // in the heap
}

// keepOnly clears the counts at places that were not taken.
func (r *row) keepOnly(taken [windows][]bool) {
	for i := range r.day {
		if !taken[day][i] {
			r.day[i] = 0
		}
	}
	for i := range r.week {
		if !taken[week][i] {
			r.week[i] = 0
		}
	}
}

// rows are the heaviest clients, by the space-saving algorithm: every call
// adds to the rank of its client's row, and a client without a row takes that
// of the lowest rank, and its rank. So of as many rows as there may be, a
// client with more than its even part of the calls always has one, however
// many others come and go.
//
// A rank halves every day, so that a client which has gone makes room. The
// counts of a row are not estimates: they are the calls since the client last
// got a row.
type rows struct {
	most   int
	byHash map[uint64]*row
	heap   []*row // the lowest rank first
}

// maxRows is how many clients of a version are told apart.
const maxRows = 512

func newRows(most int) rows { return rows{most: most, byHash: make(map[uint64]*row)} }

// call adds a call to the row of a hash. It gives the row, and whether that is
// new and wants its name.
func (t *rows) call(hash uint64) (r *row, fresh bool) {
	r, ok := t.byHash[hash]
	if !ok {
		r = t.take(hash)
	}
	r.rank++
	t.sink(r.place)
	return r, !ok
}

// take makes room for a hash.
func (t *rows) take(hash uint64) *row {
	if len(t.heap) < t.most {
		r := &row{hash: hash}
		t.put(r)
		return r
	}
	r := t.heap[0]
	delete(t.byHash, r.hash)
	*r = row{hash: hash, rank: r.rank}
	t.byHash[hash] = r
	return r
}

// put adds a row that has no like.
func (t *rows) put(r *row) {
	r.place = len(t.heap)
	t.heap = append(t.heap, r)
	t.byHash[r.hash] = r
	for r.place > 0 {
		parent := (r.place - 1) / 2
		if t.heap[parent].rank <= r.rank {
			return
		}
		t.swap(parent, r.place)
	}
}

// sink restores the order below a row whose rank has grown.
func (t *rows) sink(i int) {
	for {
		low := 2*i + 1
		if low >= len(t.heap) {
			return
		}
		if right := low + 1; right < len(t.heap) && t.heap[right].rank < t.heap[low].rank {
			low = right
		}
		if t.heap[i].rank <= t.heap[low].rank {
			return
		}
		t.swap(i, low)
		i = low
	}
}

func (t *rows) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].place, t.heap[j].place = i, j
}

// add merges a row of another instance. Its counts must be of slots that are
// at the same places here. When there is no room, the lower rank goes.
func (t *rows) add(other row) {
	if r, ok := t.byHash[other.hash]; ok {
		r.first, r.last = min(r.first, other.first), max(r.last, other.last)
		r.rank += other.rank
		for i, n := range other.day {
			r.day[i] += n
		}
		for i, n := range other.week {
			r.week[i] += n
		}
		t.sink(r.place)
		return
	}
	if len(t.heap) < t.most {
		t.put(&other)
		return
	}
	lowest := t.heap[0]
	if lowest.rank >= other.rank {
		return
	}
	delete(t.byHash, lowest.hash)
	*lowest = other
	lowest.place = 0
	t.byHash[other.hash] = lowest
	t.sink(0)
}

// age halves the ranks so many times, and drops the rows not seen since.
func (t *rows) age(halvings uint, since int64) {
	kept := t.heap[:0]
	for _, r := range t.heap {
		if r.last < since {
			delete(t.byHash, r.hash)
			continue
		}
		r.rank >>= halvings
		kept = append(kept, r)
	}
	clear(t.heap[len(kept):])
	t.heap = kept
	t.order()
}

// forget clears the counts at a place that stands for another time from now on.
func (t *rows) forget(window, place int) {
	for _, r := range t.heap {
		switch window {
		case day:
			r.day[place] = 0
		case week:
			r.week[place] = 0
		}
	}
}

// rehash gives rows their hash under another key, as far as that can be known.
func (t *rows) rehash(k key) {
	old := t.heap
	*t = newRows(t.most)
	for _, r := range old {
		if r.name.clear() {
			r.hash = k.hash(string(r.name.kind), r.name.text)
		}
		t.add(*r)
	}
}

// order makes a heap of rows in any order.
func (t *rows) order() {
	slices.SortFunc(t.heap, func(a, b *row) int {
		if a.rank < b.rank {
			return -1
		} else if a.rank > b.rank {
			return 1
		}
		return 0
	})
	for i, r := range t.heap {
		r.place = i
	}
}

func (t *rows) clone() rows {
	c := rows{most: t.most, byHash: make(map[uint64]*row, len(t.heap)), heap: make([]*row, len(t.heap))}
	room := make([]row, len(t.heap))
	for i, r := range t.heap {
		room[i] = *r
		c.heap[i] = &room[i]
		c.byHash[r.hash] = &room[i]
	}
	return c
}
