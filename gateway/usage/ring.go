package usage

import (
	"slices"

	"github.com/axiomhq/hyperloglog"
)

// A window slides by slots. One slot more than the window is long is kept, so
// that it is always covered: the oldest slot is whole, the newest is not.
const (
	hour = iota
	day
	week
	windows
)

const (
	minute = 60 // seconds

	dayWidth, daySlots   = 60 * minute, 24 + 1
	weekWidth, weekSlots = 6 * 60 * minute, 7*4 + 1
	hourWidth, hourSlots = 5 * minute, 12 + 1
)

var widths = [windows]int64{hourWidth, dayWidth, weekWidth}
var lengths = [windows]int{hourSlots, daySlots, weekSlots}

// precision makes a sketch of 4 KiB with a standard error of 1.6 %. Below
// about 1,300 clients it holds their hashes, and is all but exact.
const precision = 12

func newSketch() *hyperloglog.Sketch {
	s, err := hyperloglog.NewSketch(precision, true)
	if err != nil {
		panic(err) // the precision is a constant within its bounds
	}
	return s
}

// slot is what was seen within one stretch of time.
type slot struct {
	start   int64 // Unix seconds, a multiple of the width
	calls   uint64
	clients *hyperloglog.Sketch // nil for none
}

// ring holds the latest slots of a window. A slot's place follows from its
// start, so that slots of the same time are at the same place in every ring.
type ring struct {
	width int64
	slots []slot
}

func newRing(w int) ring { return ring{width: widths[w], slots: make([]slot, lengths[w])} }

func (r *ring) start(at int64) int64 { return at - at%r.width }

func (r *ring) place(start int64) int { return int(start / r.width % int64(len(r.slots))) }

// open gives the place of the slot of a time. Whatever else was there is gone,
// and fresh tells so.
func (r *ring) open(at int64) (place int, fresh bool) {
	start := r.start(at)
	place = r.place(start)
	if r.slots[place].start == start && r.slots[place].clients != nil {
		return place, false
	}
	r.slots[place] = slot{start: start, clients: newSketch()}
	return place, true
}

// believes tells whether a slot can be true now. One that lies ahead is of a
// clock that was wrong, and must not take the place of another; the clocks of
// two machines may differ by up to a slot.
func (r *ring) believes(s *slot, now int64) bool {
	return s.clients != nil && s.start <= r.start(now)+r.width
}

// covers tells whether a slot belongs to the window that ends now.
func (r *ring) covers(s *slot, now int64) bool {
	current := r.start(now)
	return s.clients != nil && s.start <= current && s.start > current-r.width*int64(len(r.slots))
}

// count gives the calls and the distinct clients of the window that ends now.
func (r *ring) count(now int64) (c Count) {
	union := newSketch()
	for i := range r.slots {
		s := &r.slots[i]
		if r.covers(s, now) {
			c.Calls += s.calls
			_ = union.Merge(s.clients) // the precisions are the same
		}
	}
	c.Clients = union.Estimate()
	return c
}

// merge adds the slots of another ring. It tells which of them it took, and
// which of its own places stand for another time from now on.
func (r *ring) merge(other *ring, now int64, reopened func(place int)) (taken []bool) {
	taken = make([]bool, len(r.slots))
	for i := range other.slots {
		mine, theirs := &r.slots[i], &other.slots[i]
		if !r.believes(theirs, now) || r.believes(mine, now) && mine.start > theirs.start {
			continue
		}
		if _, fresh := r.open(theirs.start); fresh {
			reopened(i)
		}
		mine.calls += theirs.calls
		_ = mine.clients.Merge(theirs.clients) // the precisions are the same
		taken[i] = true
	}
	return taken
}

func (r *ring) clone() ring {
	c := ring{width: r.width, slots: slices.Clone(r.slots)}
	for i := range c.slots {
		if c.slots[i].clients != nil {
			c.slots[i].clients = c.slots[i].clients.Clone()
		}
	}
	return c
}
