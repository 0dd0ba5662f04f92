package lifecycle

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

// Describe writes a plan as text: the timeline of every version, its stage at a
// time, and what each group of clients sees then.
func Describe(p *Plan, at time.Time, w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, name := range p.served {
		newVersion(name, p.Versions[name]).describe(out, at.UTC())
	}
	return out.Flush()
}

// describe does not know the usage, so it describes both cases: the gate holds,
// and it does not.
func (v *version) describe(w io.Writer, at time.Time) {
	s := v.schedule
	if s == nil {
		fmt.Fprintf(w, "%s: active, not in the plan\n\n", v.name)
		return
	}
	now := words.Stamp(at)
	stage := string(v.stage(at))
	if v.stage(at) == Retired && s.Gate != nil {
		stage = "retired, unless its gate holds,"
	}
	fmt.Fprintf(w, "%s: %s at %s\n\n  timeline\n", v.name, stage, now)
	changes := v.changes()
	position := sort.Search(len(changes), func(i int) bool { return changes[i].At.After(at) })
	for i, c := range slices.Insert(changes, position, Change{At: at, What: "the time asked about"}) {
		mark := " "
		if i == position {
			mark = ">"
		}
		fmt.Fprintf(w, "  %s %s  %s\n", mark, words.Stamp(c.At), c.What)
	}
	for _, warning := range s.warnings(at) {
		fmt.Fprintf(w, "    warning: %s\n", warning)
	}
	fmt.Fprintf(w, "\n  who sees what at %s\n", now)
	v.groups(at, func(who, sees string) { fmt.Fprintf(w, "    %-40s  %s\n", who, sees) })
	fmt.Fprintf(w, "\n  headers of every answer at %s\n", now)
	h := http.Header{}
	v.announce(h, at)
	for _, name := range ResponseHeaders() {
		for _, value := range h.Values(name) {
			fmt.Fprintf(w, "    %s: %s\n", name, value)
		}
	}
	fmt.Fprintln(w)
}

// groups writes one line for each group of clients that are treated alike.
func (v *version) groups(at time.Time, line func(who, sees string)) {
	const served = "served as always, with the headers below"
	s := v.schedule
	retired := "410 VERSION_RETIRED, successor " + s.Successor
	switch stage := v.stage(at); {
	case stage == Retired && s.Gate != nil:
		line("everyone, while the gate holds", served)
		line("everyone, once it does not", retired)
		line("the gate holds", "while there are "+s.Gate.limits())
	case stage == Retired:
		line("everyone, exempt or not", retired)
	case stage == BrowningOut:
		b, _ := s.NextBrownout(at)
		line("clients in the share of "+words.Percent(b.Share), "410 VERSION_BROWNOUT until "+words.Stamp(b.To)+", successor "+s.Successor)
		if len(s.Exempt) > 0 {
			line(fmt.Sprintf("exempt clients (%d in the plan)", len(s.Exempt)), served)
		}
		if b.Share < 1 {
			line("all other clients", served)
		}
	default:
		line("everyone", served)
	}
}
