package survey

import (
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// Reason is why a call would fail on the successor.
type Reason struct {
	Code  fault.Code
	Param string // the query parameter at fault, if one is
}

// String is the code, and the parameter after a space.
func (r Reason) String() string {
	if r.Param == "" {
		return string(r.Code)
	}
	return string(r.Code) + " " + r.Param
}

// MarshalText is String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

const (
	day = 24 * time.Hour
	// Reasons beyond these many are counted by code alone, of which there are
	// few.
	maxReasons, maxClientReasons = 64, 8
)

// tally is what came of the calls of a version within a day. Only clients that
// fail have a row: there are few of them, and the many others would only push
// them out.
type tally struct {
	since                   time.Time
	works, unknown, dropped uint64
	fails                   map[Reason]uint64
	rows                    map[string]*row
	forgotten               uint64 // rows given up for others
}

// row is one client.
type row struct {
	rank  uint64 // failures, or more: a row that replaces another takes on its rank
	works uint64 // since the first failure
	fails map[Reason]uint64
}

func newTally(since time.Time) *tally {
	return &tally{since: since.UTC(), fails: map[Reason]uint64{}, rows: map[string]*row{}}
}

// roll begins a new day when the current one is over, and forgets those before
// the last.
func (s *Subject) roll(now time.Time) *tally {
	if age := now.Sub(s.newer.since); age >= day {
		s.older = s.newer
		if age >= 2*day {
			s.older = nil
		}
		s.newer = newTally(now)
	}
	s.newer.dropped += s.dropped.Swap(0)
	return s.newer
}

func (s *Subject) count(id string, o outcome, now time.Time) {
	t := s.roll(now)
	r := t.rows[id]
	switch {
	case o.unknown:
		t.unknown++
	case o.reason == Reason{}:
		t.works++
		if r != nil {
			r.works++
		}
	default:
		increment(t.fails, o.reason, maxReasons)
		if r == nil {
			r = t.open(id, s.survey.clients)
		}
		r.rank++
		increment(r.fails, o.reason, maxClientReasons)
	}
}

func increment(counts map[Reason]uint64, r Reason, most int) {
	if _, ok := counts[r]; !ok && len(counts) >= most {
		r.Param = ""
	}
	counts[r]++
}

// open makes a row. When there is no room, it takes the place of the one with
// the lowest rank, and its rank: that way, of as many rows as there are, a
// client with more than its even part of the failures always has one, however
// many others come and go.
func (t *tally) open(id string, most int) *row {
	r := &row{fails: map[Reason]uint64{}}
	if len(t.rows) >= most {
		var lowest string
		var found *row
		for other, candidate := range t.rows {
			if found == nil || candidate.rank < found.rank {
				lowest, found = other, candidate
			}
		}
		delete(t.rows, lowest)
		t.forgotten++
		r.rank = found.rank
	}
	t.rows[id] = r
	return r
}
