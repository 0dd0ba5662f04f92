package lifecycle

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"time"
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
	now := stamp(at)
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
		fmt.Fprintf(w, "  %s %s  %s\n", mark, stamp(c.At), c.What)
	}
	if note := s.note(); note != "" {
		fmt.Fprintf(w, "    note: %s\n", note)
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

// note warns of something valid in a plan that may be a mistake.
func (s *Schedule) note() string {
	most := 0.0
	for _, b := range s.Brownouts {
		most = max(most, b.Share)
	}
	switch {
	case s.Sunset.IsZero():
		return "no sunset is set: clients are told to move, but not by when"
	case most == 0:
		return "no brownout comes before the sunset: clients that read no headers get no warning"
	case most < 1:
		return "no brownout reaches more than " + percent(most) + " of clients: for the others the sunset is the first 410"
	}
	return ""
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
		line("clients in the share of "+percent(b.Share), "410 VERSION_BROWNOUT until "+stamp(b.To)+", successor "+s.Successor)
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

const checkUsage = "usage: gateway plan check FILE [-at TIME]"

// CheckCommand is `gateway plan check`: it reads the plan that args name and
// describes it, or returns all its faults.
func CheckCommand(args, versions []string, out io.Writer, now time.Time) error {
	flags := flag.NewFlagSet("gateway plan check", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says what is wrong
	moment := flags.String("at", stamp(now.UTC()), "the time to describe, in RFC 3339")
	var files []string
	for { // a flag may also come after the file
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			_, err := fmt.Fprintln(out, checkUsage)
			return err
		}
		if err != nil {
			return fmt.Errorf("%w; %s", err, checkUsage)
		}
		if flags.NArg() == 0 {
			break
		}
		files, args = append(files, flags.Arg(0)), flags.Args()[1:]
	}
	if len(files) != 1 {
		return fmt.Errorf("one plan is needed, and %d were named; %s", len(files), checkUsage)
	}
	at, err := time.Parse(time.RFC3339, *moment)
	if err != nil {
		return fmt.Errorf("-at %q is not a time in RFC 3339, like 2027-01-12T14:05:00Z", *moment)
	}
	plan, _, err := read(files[0], versions)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is a valid plan.\n\n", files[0]); err != nil {
		return err
	}
	return Describe(plan, at, out)
}
