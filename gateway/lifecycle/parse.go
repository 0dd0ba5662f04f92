package lifecycle

import (
	"errors"
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

// scheduleFile is a schedule as an operator writes it.
type scheduleFile struct {
	Deprecated string         `json:"deprecated"`
	Sunset     *string        `json:"sunset"`
	Successor  string         `json:"successor"`
	Docs       string         `json:"docs"`
	Brownouts  []brownoutFile `json:"brownouts"`
	Exempt     []string       `json:"exempt"`
	Gate       *gateFile      `json:"gate"`
	Immediate  bool           `json:"immediate"`
}

type brownoutFile struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Share *float64 `json:"share"`
}

type gateFile struct {
	MaxClients     *int `json:"maxClients"`
	MaxCallsPerDay *int `json:"maxCallsPerDay"`
	Days           *int `json:"days"`
	Released       bool `json:"released"`
}

// Read reads a plan from a file.
func Read(path string, versions []string) (*Plan, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, func(data []byte) (*Plan, error) { return Parse(data, versions) })
}

// Parse reads a plan for the versions that are served. The error lists all
// faults, one per line.
func Parse(data []byte, versions []string) (*Plan, error) {
	var file struct {
		Versions map[string]*scheduleFile `json:"versions"`
	}
	p := parser{jsonfile.Decode(data, &file), versions}
	plan := &Plan{Versions: map[string]*Schedule{}, served: slices.Clone(versions)}
	if file.Versions == nil && p.Err() == nil {
		p.Add("versions", `missing; write {"versions": {}} to leave every version active`)
	}
	for _, name := range slices.Sorted(maps.Keys(file.Versions)) {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.Add(at, "unknown version; this gateway serves %s", strings.Join(versions, ", "))
		}
		if raw := file.Versions[name]; raw == nil {
			p.Add(at, "empty; leave the version out if it is active")
		} else {
			plan.Versions[name] = p.schedule(at, name, raw)
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

// value parses one text of a plan. If that fails, it reports the fault with its
// place and returns zero.
func value[V any](p parser, at, text string, parse func(string) (V, error)) V {
	err := errors.New("missing")
	if text != "" {
		var v V
		if v, err = parse(text); err == nil {
			return v
		}
	}
	p.Add(at, "%w", err)
	return *new(V)
}

func (p parser) schedule(at, name string, raw *scheduleFile) *Schedule {
	s := &Schedule{
		Deprecated: value(p, at+".deprecated", raw.Deprecated, parseTime),
		Successor:  value(p, at+".successor", raw.Successor, p.successorOf(name)),
		Docs:       value(p, at+".docs", raw.Docs, parseDocs),
		Brownouts:  []Brownout{},
		Exempt:     []caller.Pattern{},
		Immediate:  raw.Immediate,
	}
	if raw.Sunset != nil {
		s.Sunset = value(p, at+".sunset", *raw.Sunset, parseTime)
		if !s.Sunset.IsZero() && s.Sunset.Before(s.Deprecated) {
			p.Add(at+".sunset", "%s is before the version is deprecated, %s", words.Stamp(s.Sunset), words.Stamp(s.Deprecated))
		}
	} else {
		if len(raw.Brownouts) > 0 {
			p.Add(at+".brownouts", "they prepare clients for a sunset, and there is none; give one")
		}
		if raw.Gate != nil {
			p.Add(at+".gate", "there is no sunset for it to hold; give one")
		}
	}
	for i, w := range raw.Brownouts {
		s.Brownouts = append(s.Brownouts, p.brownout(fmt.Sprintf("%s.brownouts[%d]", at, i), s, w))
	}
	p.overlaps(at, s.Brownouts)
	slices.SortFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	for i, text := range raw.Exempt {
		at := fmt.Sprintf("%s.exempt[%d]", at, i)
		pattern, err := caller.ParsePattern(text)
		if err != nil {
			p.Add(at, "%w", err)
		} else if slices.Contains(s.Exempt, pattern) {
			p.Add(at, "repeats an earlier entry, %s", pattern)
		}
		s.Exempt = append(s.Exempt, pattern)
	}
	if g := raw.Gate; g != nil {
		s.Gate = &Gate{Days: defaultGateDays, Confirmed: g.Released}
		s.Gate.MaxClients = p.number(at+".gate.maxClients", g.MaxClients, 0, math.MaxInt, "a whole number of 0 or more")
		s.Gate.MaxCallsPerDay = p.number(at+".gate.maxCallsPerDay", g.MaxCallsPerDay, 0, math.MaxInt, "a whole number of 0 or more")
		if g.Days != nil {
			s.Gate.Days = p.number(at+".gate.days", g.Days, 1, maxGateDays, fmt.Sprintf("a number of days from 1 to %d", maxGateDays))
		}
	}
	return s
}

func (p parser) number(at string, n *int, least, most int, what string) int {
	switch {
	case n == nil:
		p.Add(at, "missing")
	case *n < least || *n > most:
		p.Add(at, "%d is not %s", *n, what)
	default:
		return *n
	}
	return 0
}

func (p parser) brownout(at string, s *Schedule, raw brownoutFile) Brownout {
	b := Brownout{From: value(p, at+".from", raw.From, parseTime), To: value(p, at+".to", raw.To, parseTime)}
	switch share := raw.Share; {
	case share == nil:
		p.Add(at+".share", "missing")
	case !(*share > 0 && *share <= 1):
		p.Add(at+".share", "%v is not a number above 0 and at most 1", *share)
	case math.Round(*share*1000)/1000 != *share:
		p.Add(at+".share", "%v has more than three decimals, which the header cannot carry", *share)
	default:
		b.Share = *share
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
	return b
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

// rfc3339 is stricter than time.Parse, which accepts "1:02:03" and a decimal
// comma.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return t, fmt.Errorf("%.40q is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z", text)
	}
	t = t.UTC()
	if t.Nanosecond() != 0 {
		return t, fmt.Errorf("%q has a fraction of a second, which the headers cannot carry", text)
	}
	if t.Year() < 1970 || t.Year() > 9999 {
		return t, fmt.Errorf("%q is outside the years 1970 to 9999", text)
	}
	return t, nil
}

// What is allowed between the angle brackets of a Link header.
var (
	plainPath = regexp.MustCompile(`^/[a-zA-Z0-9/._~-]*$`)
	plainURL  = regexp.MustCompile(`^(?i:https)://[a-zA-Z0-9:/?#\[\]@!$&'()*+,;=._~%-]+$`)
)

const maxLink = 1024

// successorOf reads the path that a version sends its clients to.
func (p parser) successorOf(name string) func(string) (string, error) {
	return func(text string) (string, error) {
		switch {
		case len(text) > maxLink || path.Clean(text) != text || !plainPath.MatchString(text):
			return "", fmt.Errorf("%.80q is not a plain path on this host, like /v3/swap/quote", text)
		case slices.Contains(strings.Split(text, "/"), name):
			return "", fmt.Errorf("%q belongs to %s itself", text, name)
		case p.versionOf(text) == "":
			return "", fmt.Errorf("%q leads to no version this gateway serves, which are %s", text, strings.Join(p.served, ", "))
		}
		return text, nil
	}
}

// parseDocs reads the address of a migration page.
func parseDocs(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || len(text) > maxLink || !plainURL.MatchString(text) {
		return "", fmt.Errorf("%.80q is not an https address, like https://example.org/migrate-v1", text)
	}
	return text, nil
}
