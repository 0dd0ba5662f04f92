package usage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Report is who calls what, as far as known.
type Report struct {
	At        time.Time `json:"at"`
	Since     time.Time `json:"since"`     // calls before this are not known
	Instances int       `json:"instances"` // that run now and are counted, this one among them
	Notes     []string  `json:"notes"`     // what these numbers do not show
	Versions  []Version `json:"versions"`
}

// Version is the use of one version.
type Version struct {
	Version string   `json:"version"`
	Hour    Count    `json:"hour"`
	Day     Count    `json:"day"`
	Week    Count    `json:"week"`
	Clients []Client `json:"clients"` // the heaviest of the week, in order
}

// Count is how many calls how many clients made.
type Count struct {
	Calls   uint64 `json:"calls"`
	Clients uint64 `json:"clients"`
}

// Client is one of the heaviest.
type Client struct {
	Client    string    `json:"client"` // as Name gives it
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Day       uint64    `json:"day"` // calls
	Week      uint64    `json:"week"`
	Share     float64   `json:"share"` // of the version's calls of the week, to four decimals
}

// heaviest is how many clients of a version a report names.
const heaviest = 50

// Report gives what is known now. It asks nobody.
func (c *Census) Report() Report {
	now := c.now()
	others := c.others()
	own := c.snapshot()
	r := Report{At: now.UTC(), Since: c.Since(), Instances: 1, Notes: c.Notes(), Versions: make([]Version, 0, len(c.versions))}
	if others != nil {
		r.Instances += others.alive
	}
	for _, version := range c.versions {
		b := own.books[version]
		if others != nil {
			b.rows.most += mostOthers
			b.merge(others.books[version], now.Unix())
		}
		r.Versions = append(r.Versions, b.report(version, now.Unix()))
	}
	return r
}

// Notes says what a reader of the numbers has to know. There are none while
// all is well.
func (c *Census) Notes() []string {
	notes, others := []string{}, c.others()
	if failure := c.unsaved.Load(); failure != nil {
		notes = append(notes, *failure)
	}
	if c.shared == nil {
		return notes
	}
	if down := c.shared.down.Load(); down != nil {
		known := "and the other instances are not counted"
		if others != nil {
			known = fmt.Sprintf("and the other instances are counted up to %s", others.collected.UTC().Format(time.RFC3339))
		}
		notes = append(notes, fmt.Sprintf("Redis does not answer since %s, %s", down.Format(time.RFC3339), known))
	}
	if others == nil {
		return notes
	}
	if others.foreign > 0 {
		notes = append(notes, fmt.Sprintf("%d other instances hash with another key, so that their clients may count twice: give all the same USAGE_KEY, or none", others.foreign))
	}
	if others.unusable > 0 {
		notes = append(notes, fmt.Sprintf("%d other instances left counts that cannot be read: do they run another release?", others.unusable))
	}
	if others.leftOut {
		notes = append(notes, fmt.Sprintf("only the %d instances that wrote last are counted", maxInstances))
	}
	return notes
}

func (b *book) report(version string, now int64) Version {
	v := Version{
		Version: version,
		Hour:    b.rings[hour].count(now),
		Day:     b.rings[day].count(now),
		Week:    b.rings[week].count(now),
		Clients: make([]Client, 0, len(b.rows.heap)),
	}
	for _, r := range b.rows.heap {
		c := Client{
			Client:    r.name.String(),
			FirstSeen: time.Unix(r.first, 0).UTC(), LastSeen: time.Unix(r.last, 0).UTC(),
			Day: total(r.day[:], &b.rings[day], now), Week: total(r.week[:], &b.rings[week], now),
		}
		if c.Week == 0 {
			continue
		}
		c.Share = share(c.Week, v.Week.Calls)
		v.Clients = append(v.Clients, c)
	}
	slices.SortFunc(v.Clients, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Week, a.Week), cmp.Compare(a.Client, b.Client))
	})
	v.Clients = slices.Clip(v.Clients[:min(len(v.Clients), heaviest)])
	return v
}

// share is at most 1, whatever other instances claim.
func share(part, whole uint64) float64 {
	if part >= whole {
		return 1
	}
	return math.Round(float64(part)/float64(whole)*10_000) / 10_000
}

// total adds up the counts of the places that the window covers.
func total(counts []uint64, r *ring, now int64) (sum uint64) {
	for i, n := range counts {
		if r.covers(&r.slots[i], now) {
			sum += n
		}
	}
	return sum
}
