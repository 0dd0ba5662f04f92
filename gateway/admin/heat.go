package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

// heatDays is how many days a heat map has, as many as a report.
const heatDays = 90

// heatRow is one client on one version, day by day.
type heatRow struct {
	Client  *usage.Client
	Path    string
	Label   string
	Levels  []heatLevel
	Windows []shade
	Days    int // with calls
}

// heatLevel is one path through all days with about the same number of calls. The
// path is as thick as the row is tall, so that each day is a box.
type heatLevel struct {
	Level int // 1 to 4
	Path  string
}

// heatAxis is the months above a heat map.
func heatAxis(now time.Time) []mark {
	first := heatStart(now)
	return months(first, first.Add(heatDays*day), func(t time.Time) float64 { return 100 * t.Sub(first).Hours() / 24 / heatDays })
}

func heatStart(now time.Time) time.Time {
	return now.UTC().Truncate(day).Add(-(heatDays - 1) * day)
}

// heatOf is 1 below 10 calls, 2 below 100, 3 below 1,000, else 4.
func heatOf(calls uint64) int {
	switch {
	case calls == 0:
		return 0
	case calls < 10:
		return 1
	case calls < 100:
		return 2
	case calls < 1000:
		return 3
	}
	return 4
}

func newHeatRow(c *usage.Client, s *lifecycle.Schedule, now time.Time) heatRow {
	row := heatRow{Client: c, Path: clientPath(c.Client), Days: len(c.Days)}
	first := heatStart(now)
	var levels [heatDays]int
	for _, d := range c.Days {
		if i := (int64(d.Day) - first.Unix()) / int64(day/time.Second); i >= 0 && i < heatDays {
			levels[i] = heatOf(d.Calls)
		}
	}
	row.Levels = heatLevels(levels)
	if s != nil {
		for _, b := range s.Brownouts {
			if !b.To.After(first) || !b.From.Before(first.Add(heatDays*day)) {
				continue
			}
			from, to := int(later(b.From, first).Sub(first)/day), int(b.To.Add(-time.Second).Sub(first)/day)
			row.Windows = append(row.Windows, shade{strconv.Itoa(from), strconv.Itoa(min(to, heatDays-1) - from + 1)})
		}
	}
	row.Label = fmt.Sprintf("Calls on %s of %d", words.Count(len(c.Days), "day", "days"), heatDays)
	if n := len(c.Days); n > 0 {
		row.Label += fmt.Sprintf(", the first %s, the last %s", c.Days[0].Day, c.Days[n-1].Day)
	}
	return row
}

// heatLevels draws runs of days with the same level as one stroke each.
func heatLevels(levels [heatDays]int) (all []heatLevel) {
	var paths [5]strings.Builder
	for i := 0; i < heatDays; {
		j := i
		for j < heatDays && levels[j] == levels[i] {
			j++
		}
		fmt.Fprintf(&paths[levels[i]], "M%d 5h%d", i, j-i)
		i = j
	}
	for l := 1; l < len(paths); l++ {
		if paths[l].Len() > 0 {
			all = append(all, heatLevel{l, paths[l].String()})
		}
	}
	return all
}

// heatRows draws clients in the order of the report.
func (f *Facts) heatRows(clients []*usage.Client) (rows []heatRow) {
	for _, c := range clients {
		rows = append(rows, newHeatRow(c, f.schedule(c.Version), f.Now))
	}
	return rows
}
