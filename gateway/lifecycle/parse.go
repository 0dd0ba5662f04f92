package lifecycle

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	defaultGateDays = 7
	maxGateDays     = 90
)

// Read reads a plan from a file.
func Read(path string, versions []string) (*Plan, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, func(data []byte) (*Plan, error) { return Parse(data, versions) })
}

// Parse reads a plan for the versions that are served. The error lists all
// faults, one per line.
func Parse(data []byte, versions []string) (*Plan, error) {
	plan := &Plan{served: slices.Clone(versions)}
	p := parser{jsonfile.Decode(data, plan), versions}
	if plan.Versions == nil {
		p.Add("versions", `missing; write {"versions": {}} to leave every version active`)
	}
	for _, name := range plan.planned() {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.Add(at, "unknown version; this gateway serves %s", strings.Join(versions, ", "))
		}
		if s := plan.Versions[name]; s == nil {
			p.Add(at, "empty; leave the version out if it is active")
		} else {
			p.check(at, name, s)
		}
	}
	p.successors(plan)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

type parser struct {
	*jsonfile.Problems
	served []string
}

// check reports what is wrong with a schedule, and completes it.
func (p parser) check(at, name string, s *Schedule) {
	p.time(at+".deprecated", &s.Deprecated)
	if !p.checkSuccessor(at+".successor", name, s.Successor) {
		s.Successor = ""
	}
	p.checkDocs(at+".docs", s.Docs)
	if !s.Sunset.IsZero() {
		p.time(at+".sunset", &s.Sunset)
		if s.Sunset.Before(s.Deprecated) {
			p.Add(at+".sunset", "%s is before the version is deprecated, %s", words.Stamp(s.Sunset), words.Stamp(s.Deprecated))
		}
	} else if !p.Has(at + ".sunset") {
		if len(s.Brownouts) > 0 {
			p.Add(at+".brownouts", "they prepare clients for a sunset, and there is none; give one")
		}
		if s.Gate != nil {
			p.Add(at+".gate", "there is no sunset for it to hold; give one")
		}
	}
	s.Brownouts, s.Exempt = append([]Brownout{}, s.Brownouts...), append([]caller.Pattern{}, s.Exempt...)
	for i := range s.Brownouts {
		p.brownout(fmt.Sprintf("%s.brownouts[%d]", at, i), s, &s.Brownouts[i])
	}
	p.overlaps(at, s.Brownouts)
	slices.SortFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	for i, pattern := range s.Exempt {
		switch at := fmt.Sprintf("%s.exempt[%d]", at, i); {
		case pattern == caller.Pattern{}:
			p.Add(at, "missing")
		case slices.Contains(s.Exempt[:i], pattern):
			p.Add(at, "repeats an earlier entry, %s", pattern)
		}
	}
	if g := s.Gate; g != nil {
		if g.Days == 0 {
			g.Days = defaultGateDays
		}
		p.number(at+".gate.maxClients", g.MaxClients, 0, math.MaxInt, "a whole number of 0 or more")
		p.number(at+".gate.maxCallsPerDay", g.MaxCallsPerDay, 0, math.MaxInt, "a whole number of 0 or more")
		p.number(at+".gate.days", g.Days, 1, maxGateDays, fmt.Sprintf("a number of days from 1 to %d", maxGateDays))
	}
}

func (p parser) number(at string, n, least, most int, what string) {
	if n < least || n > most {
		p.Add(at, "%d is not %s", n, what)
	}
}

// time checks a time that is needed, and writes it in UTC. A faulty one becomes
// zero.
func (p parser) time(at string, t *time.Time) {
	*t = t.UTC()
	switch {
	case t.IsZero():
		p.Add(at, "missing")
		return
	case t.Nanosecond() != 0:
		p.Add(at, "%s has a fraction of a second, which the headers cannot carry", t.Format(time.RFC3339Nano))
	case t.Year() < 1970 || t.Year() > 9999:
		p.Add(at, "%s is outside the years 1970 to 9999", words.Stamp(*t))
	default:
		return
	}
	*t = time.Time{}
}

func (p parser) brownout(at string, s *Schedule, b *Brownout) {
	p.time(at+".from", &b.From)
	p.time(at+".to", &b.To)
	switch {
	case !(b.Share > 0 && b.Share <= 1):
		p.Add(at+".share", "%v is not a number above 0 and at most 1", b.Share)
	case math.Round(b.Share*1000)/1000 != b.Share:
		p.Add(at+".share", "%v has more than three decimals, which the header cannot carry", b.Share)
	}
	switch {
	case b.From.IsZero() || b.To.IsZero():
	case !b.From.Before(b.To):
		p.Add(at, "ends at %s, which is not after it begins, %s", words.Stamp(b.To), words.Stamp(b.From))
	case !s.Deprecated.IsZero() && b.From.Before(s.Deprecated):
		p.Add(at+".from", "%s is before the version is deprecated, %s", words.Stamp(b.From), words.Stamp(s.Deprecated))
	case !s.Sunset.IsZero() && b.To.After(s.Sunset):
		p.Add(at+".to", "%s is after the sunset, %s", words.Stamp(b.To), words.Stamp(s.Sunset))
	}
}

// overlaps reports windows that overlap. It skips windows with faulty times.
func (p parser) overlaps(at string, brownouts []Brownout) {
	var order []int // the windows by their start
	for i, b := range brownouts {
		if !b.From.IsZero() && b.From.Before(b.To) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return brownouts[i].From.Compare(brownouts[j].From) })
	last := -1 // the window that ends last so far
	for _, i := range order {
		if last >= 0 && brownouts[i].From.Before(brownouts[last].To) {
			p.Add(fmt.Sprintf("%s.brownouts[%d]", at, max(i, last)), "overlaps brownouts[%d]", min(i, last))
		}
		if last < 0 || brownouts[i].To.After(brownouts[last].To) {
			last = i
		}
	}
}

// successors checks that no client is sent to a version that is retired by then,
// nor in a circle.
func (p parser) successors(plan *Plan) {
	next := func(s *Schedule) *Schedule {
		if s.Successor == "" { // already reported
			return nil
		}
		return plan.Versions[p.versionOf(s.Successor)]
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Versions)) {
		s, at := plan.Versions[name], "versions."+name+".successor"
		if s == nil {
			continue
		}
		after := next(s)
		if after != nil && !after.Sunset.IsZero() && (s.Sunset.IsZero() || !after.Sunset.After(s.Sunset)) {
			p.Add(at, "%s has its own sunset, %s, which is not after that of %s", p.versionOf(s.Successor), words.Stamp(after.Sunset), name)
			continue
		}
		for range plan.Versions {
			if after == nil {
				break
			}
			if after == s {
				p.Add(at, "leads back to %s in the end", name)
				break
			}
			after = next(after)
		}
	}
}

// versionOf is the version that a path belongs to: the first segment that is
// the name of a version.
func (p parser) versionOf(path string) string {
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains(p.served, segment) {
			return segment
		}
	}
	return ""
}

// What is allowed between the angle brackets of a Link header.
var (
	plainPath = regexp.MustCompile(`^/[a-zA-Z0-9/._~-]*$`)
	plainURL  = regexp.MustCompile(`^(?i:https)://[a-zA-Z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$`)
)

const maxLink = 1024

// checkSuccessor checks the path that a version sends its clients to.
func (p parser) checkSuccessor(at, name, text string) (ok bool) {
	switch {
	case text == "":
		p.Add(at, "missing")
	case len(text) > maxLink || path.Clean(text) != text || !plainPath.MatchString(text):
		p.Add(at, "%.80q is not a plain path on this host, like /v3/swap/quote", text)
	case slices.Contains(strings.Split(text, "/"), name):
		p.Add(at, "%q belongs to %s itself", text, name)
	case p.versionOf(text) == "":
		p.Add(at, "%q leads to no version this gateway serves, which are %s", text, strings.Join(p.served, ", "))
	default:
		return true
	}
	return false
}

// checkDocs checks the address of a migration page.
func (p parser) checkDocs(at, text string) {
	u, err := url.Parse(text)
	if text == "" {
		p.Add(at, "missing")
	} else if err != nil || u.Hostname() == "" || u.User != nil || len(text) > maxLink || !plainURL.MatchString(text) {
		p.Add(at, "%.80q is not an https address, like https://example.org/migrate-v1", text)
	}
}
