package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// Report is what the survey has found.
type Report struct {
	Versions []Version `json:"versions"`
}

// Version is what would become of one version's calls.
type Version struct {
	Version   string    `json:"version"`
	Successor string    `json:"successor"`
	Summary   string    `json:"summary"`
	Since     time.Time `json:"since"`
	Works     uint64    `json:"works"`
	Fails     uint64    `json:"fails"`
	Unknown   uint64    `json:"unknown"`   // the trial failed for a reason of our own
	Dropped   uint64    `json:"dropped"`   // answered, but never tried
	Reasons   []Count   `json:"reasons"`   // the most frequent first
	Clients   []Client  `json:"clients"`   // those that fail, most failures first
	Forgotten uint64    `json:"forgotten"` // clients that fail and lost their place to others
}

// Count is how often a reason came up.
type Count struct {
	Reason Reason `json:"reason"`
	Calls  uint64 `json:"calls"`
}

// Client is one whose calls would fail.
type Client struct {
	Client  string  `json:"client"`
	Works   uint64  `json:"works"` // since its first failure
	Fails   uint64  `json:"fails"`
	Reasons []Count `json:"reasons"`
}

// Report gives what was found within the last one to two days.
func (s *Survey) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	report := Report{Versions: make([]Version, 0, len(s.subjects))}
	for _, subject := range s.subjects {
		report.Versions = append(report.Versions, subject.report(now))
	}
	return report
}

func (s *Subject) report(now time.Time) Version {
	v := Version{Version: s.version, Successor: s.successor}
	fails := map[Reason]uint64{}
	rows := map[string]*row{}
	s.roll(now)
	for _, t := range []*tally{s.newer, s.older} {
		if t == nil {
			continue
		}
		v.Since = t.since
		v.Works += t.works
		v.Unknown += t.unknown
		v.Dropped += t.dropped
		v.Forgotten += t.forgotten
		add(fails, t.fails)
		for id, r := range t.rows {
			if rows[id] == nil {
				rows[id] = &row{fails: map[Reason]uint64{}}
			}
			rows[id].works += r.works
			add(rows[id].fails, r.fails)
		}
	}
	v.Reasons, v.Fails = counts(fails)
	v.Clients = make([]Client, 0, len(rows))
	for id, r := range rows {
		reasons, failures := counts(r.fails)
		v.Clients = append(v.Clients, Client{id, r.works, failures, reasons})
	}
	slices.SortFunc(v.Clients, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Fails, a.Fails), cmp.Compare(a.Client, b.Client))
	})
	v.Summary = v.summary()
	return v
}

func add(sum, part map[Reason]uint64) {
	for r, n := range part {
		sum[r] += n
	}
}

func counts(m map[Reason]uint64) (list []Count, total uint64) {
	list = make([]Count, 0, len(m))
	for r, n := range m {
		list = append(list, Count{r, n})
		total += n
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Reason.String(), b.Reason.String()))
	})
	return list, total
}

// How much of the findings a sentence can hold.
const (
	summaryReasons = 3
	summaryClients = 5
)

// summary says in a sentence what an operator wants to know first.
func (v *Version) summary() string {
	tried := v.Works + v.Fails
	if tried == 0 {
		return fmt.Sprintf("no %s call is known to work or to fail on %s yet%s", v.Version, v.Successor, v.caveat())
	}
	parts := []string{fmt.Sprintf("%s of %s calls work on %s with a new URL", proportion(v.Works, tried), v.Version, v.Successor)}
	for i, c := range v.Reasons {
		if i == summaryReasons {
			parts = append(parts, "besides "+plural(uint64(len(v.Reasons)-i), "other reason", "other reasons"))
			break
		}
		parts = append(parts, v.blame(c.Reason))
	}
	return strings.Join(parts, "; ") + v.caveat()
}

// proportion rounds down: what is not everything never reads as 100 %.
func proportion(part, whole uint64) string {
	if percent := part * 100 / whole; percent > 0 || part == 0 {
		return fmt.Sprintf("%d %%", percent)
	}
	return "less than 1 %"
}

// blame names the clients that fail for a reason.
func (v *Version) blame(r Reason) string {
	var names []string
	for _, c := range v.Clients {
		if slices.ContainsFunc(c.Reasons, func(n Count) bool { return n.Reason == r }) {
			names = append(names, c.Client)
		}
	}
	n := len(names)
	who := plural(uint64(n), "client", "clients")
	either := func(one, many string) string {
		if n == 1 {
			return one
		}
		return many
	}
	if n == 0 {
		who = "clients not listed"
	} else if v.Forgotten > 0 {
		who = "at least " + who
	}
	var what string
	switch {
	case r.Code == fault.MissingParameter && r.Param != "":
		what = either("omits ", "omit ") + r.Param
	case r.Param != "":
		what = either("sends", "send") + fmt.Sprintf(" a value of %s that %s refuses (%s)", r.Param, v.Successor, r.Code)
	default:
		what = either("gets ", "get ") + string(r.Code)
	}
	if n == 0 {
		return who + " " + what
	}
	if n > summaryClients {
		names = append(names[:summaryClients], fmt.Sprintf("and %d more", n-summaryClients))
	}
	return who + " " + what + ": " + strings.Join(names, ", ")
}

// caveat says what the sentence does not cover.
func (v *Version) caveat() string {
	var parts []string
	if v.Dropped > 0 {
		parts = append(parts, plural(v.Dropped, "call was not tried", "calls were not tried"))
	}
	if v.Unknown > 0 {
		parts = append(parts, plural(v.Unknown, "trial failed on our side", "trials failed on our side"))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
