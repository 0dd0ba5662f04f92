package lifecycle

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Describe writes a plan in words: the course of every version, where it
// stands at a time, and what each group of clients sees then.
func Describe(p *Plan, at time.Time, w io.Writer) error {
	at = at.UTC()
	out := bufio.NewWriter(w)
	for _, version := range p.served {
		describe(out, newLife(version, p.Versions[version]), at)
	}
	return out.Flush()
}

func describe(w io.Writer, l *life, at time.Time) {
	s := l.schedule
	if s == nil {
		fmt.Fprintf(w, "%s: active, not in the plan\n\n", l.version)
		return
	}
	// A plan alone does not know what is used, so both ways a gate can go are
	// described.
	stage := s.Stage(at, func() bool { return false })
	standing := string(stage)
	if stage == Retired && s.Gate != nil {
		standing = "retired, unless its gate holds,"
	}
	fmt.Fprintf(w, "%s: %s at %s\n", l.version, standing, stamp(at))
	fmt.Fprintf(w, "\n  timeline\n")
	asked := false
	for _, e := range s.events(l.version) {
		if !asked && e.At.After(at) {
			fmt.Fprintf(w, "  > %s  the time asked about\n", stamp(at))
			asked = true
		}
		fmt.Fprintf(w, "    %s  %s\n", stamp(e.At), e.What)
	}
	if !asked {
		fmt.Fprintf(w, "  > %s  the time asked about\n", stamp(at))
	}
	for _, note := range s.notes() {
		fmt.Fprintf(w, "    note: %s\n", note)
	}
	fmt.Fprintf(w, "\n  who sees what at %s\n", stamp(at))
	for _, g := range l.groups(stage, at) {
		fmt.Fprintf(w, "    %-40s  %s\n", g.who, g.sees)
	}
	fmt.Fprintf(w, "\n  headers of every answer at %s\n", stamp(at))
	h := http.Header{}
	l.announce(h, at)
	for _, name := range ResponseHeaders() {
		for _, value := range h.Values(name) {
			fmt.Fprintf(w, "    %s: %s\n", name, value)
		}
	}
	fmt.Fprintln(w)
}

// notes are what is lawful and yet may not be meant.
func (s *Schedule) notes() []string {
	if s.Sunset.IsZero() {
		return []string{"no sunset is set: clients are told to move, but not by when"}
	}
	if len(s.Brownouts) == 0 {
		return []string{"no brownout comes before the sunset: clients that read no headers get no warning"}
	}
	most := slices.MaxFunc(s.Brownouts, func(a, b Brownout) int { return int(a.Share*1000) - int(b.Share*1000) })
	if most.Share < 1 {
		return []string{"no brownout reaches more than " + percent(most.Share) + " of clients: for the others the sunset is the first 410"}
	}
	return nil
}

type group struct{ who, sees string }

// groups are the clients that are treated alike, and how.
func (l *life) groups(stage Stage, at time.Time) []group {
	const served = "served as always, with the headers below"
	s := l.schedule
	retired := "410 VERSION_RETIRED, successor " + s.Successor
	switch {
	case stage == Retired && s.Gate != nil:
		return []group{
			{"everyone, while the gate holds", served},
			{"everyone, once it does not", retired},
			{"the gate holds", "while there are " + s.Gate.limits()},
		}
	case stage == Retired:
		return []group{{"everyone, exempt or not", retired}}
	case stage == BrowningOut:
		b, _ := s.NextBrownout(at)
		groups := []group{{"clients in the share of " + percent(b.Share), "410 VERSION_BROWNOUT until " + stamp(b.To) + ", successor " + s.Successor}}
		if len(s.Exempt) > 0 {
			groups = append(groups, group{fmt.Sprintf("exempt clients (%d in the plan)", len(s.Exempt)), served})
		}
		if b.Share < 1 {
			groups = append(groups, group{"all other clients", served})
		}
		return groups
	}
	return []group{{"everyone", served}}
}

func (g *Gate) limits() string {
	return fmt.Sprintf("more than %d clients or %d calls in the last day", g.MaxClients, g.MaxCallsPerDay)
}

func (g *Gate) unless() string { return "unless there were " + g.limits() }

// span writes a duration without the zeros time.Duration puts at its end.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

const checkUsage = "usage: gateway plan check FILE [-at TIME]"

// CheckCommand is `gateway plan check`: it reads the plan that args name and
// describes it, or returns every fault it has.
func CheckCommand(args, versions []string, out io.Writer, now time.Time) error {
	flags := flag.NewFlagSet("gateway plan check", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is in the error
	moment := flags.String("at", stamp(now.UTC().Truncate(time.Second)), "the time to describe, in RFC 3339")
	var files []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				_, err := fmt.Fprintln(out, checkUsage)
				return err
			}
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
	plan, err := Read(files[0], versions)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is a valid plan.\n\n", files[0]); err != nil {
		return err
	}
	return Describe(plan, at, out)
}
