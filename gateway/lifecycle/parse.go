package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/jsonfile"
)

// planFile is a plan as an operator writes it. Its values are read one by one,
// so that a wrong type in one of them hides none of the other faults.
type planFile struct {
	Versions map[string]*scheduleFile `json:"versions"`
}

type scheduleFile struct {
	Deprecated json.RawMessage   `json:"deprecated"`
	Sunset     json.RawMessage   `json:"sunset"`
	Successor  json.RawMessage   `json:"successor"`
	Docs       json.RawMessage   `json:"docs"`
	Brownouts  []brownoutFile    `json:"brownouts"`
	Exempt     []json.RawMessage `json:"exempt"`
	Gate       *gateFile         `json:"gate"`
}

type brownoutFile struct {
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
	Share json.RawMessage `json:"share"`
}

type gateFile struct {
	MaxClients     json.RawMessage `json:"maxClients"`
	MaxCallsPerDay json.RawMessage `json:"maxCallsPerDay"`
}

// Read reads a plan from a file.
func Read(path string, versions []string) (*Plan, error) {
	data, err := jsonfile.Read(path)
	if err != nil {
		return nil, err
	}
	plan, err := Parse(data, versions)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", path, err)
	}
	return plan, nil
}

// Parse reads a plan for the versions that are served. The error joins every
// fault there is, one to a line.
func Parse(data []byte, versions []string) (*Plan, error) {
	var file planFile
	shape := jsonfile.Decode(data, &file)
	p := parser{known: versions}
	plan := &Plan{Versions: map[string]*Schedule{}, known: slices.Clone(versions)}
	if file.Versions == nil && shape == nil {
		p.fault("versions: missing; write {\"versions\": {}} to leave every version active")
	}
	for _, name := range sortedKeys(file.Versions) {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.fault("%s: unknown version; this gateway serves %s", at, strings.Join(versions, ", "))
		}
		if written := file.Versions[name]; written == nil {
			p.fault("%s: empty; leave the version out if it is active", at)
		} else {
			plan.Versions[name] = p.schedule(at, name, written)
		}
	}
	p.successors(plan)
	if err := errors.Join(shape, errors.Join(p.faults...)); err != nil {
		return nil, err
	}
	return plan, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

type parser struct {
	known  []string
	faults []error
}

func (p *parser) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

func (p *parser) schedule(at, name string, written *scheduleFile) *Schedule {
	s := &Schedule{
		Deprecated: p.time(at+".deprecated", written.Deprecated),
		Successor:  p.successor(at+".successor", name, written.Successor),
		Docs:       p.docs(at+".docs", written.Docs),
		Brownouts:  []Brownout{},
		Exempt:     []caller.Pattern{},
	}
	if given(written.Sunset) {
		s.Sunset = p.time(at+".sunset", written.Sunset)
		if !s.Sunset.IsZero() && s.Sunset.Before(s.Deprecated) {
			p.fault("%s.sunset: %s is before the version is deprecated, %s", at, stamp(s.Sunset), stamp(s.Deprecated))
		}
	} else {
		if len(written.Brownouts) > 0 {
			p.fault("%s.brownouts: they prepare clients for a sunset, and there is none; give one", at)
		}
		if written.Gate != nil {
			p.fault("%s.gate: there is no sunset for it to hold; give one", at)
		}
	}
	for i, w := range written.Brownouts {
		s.Brownouts = append(s.Brownouts, p.brownout(fmt.Sprintf("%s.brownouts[%d]", at, i), s, w))
	}
	p.apart(at, s.Brownouts)
	slices.SortStableFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	p.exempt(at+".exempt", s, written.Exempt)
	if g := written.Gate; g != nil {
		s.Gate = &Gate{p.limit(at+".gate.maxClients", g.MaxClients), p.limit(at+".gate.maxCallsPerDay", g.MaxCallsPerDay)}
	}
	return s
}

func (p *parser) brownout(at string, s *Schedule, written brownoutFile) Brownout {
	b := Brownout{From: p.time(at+".from", written.From), To: p.time(at+".to", written.To), Share: p.share(at+".share", written.Share)}
	switch {
	case b.From.IsZero() || b.To.IsZero():
	case !b.From.Before(b.To):
		p.fault("%s: ends at %s, which is not after it begins, %s", at, stamp(b.To), stamp(b.From))
	case !s.Deprecated.IsZero() && b.From.Before(s.Deprecated):
		p.fault("%s.from: %s is before the version is deprecated, %s", at, stamp(b.From), stamp(s.Deprecated))
	case !s.Sunset.IsZero() && b.To.After(s.Sunset):
		p.fault("%s.to: %s is after the sunset, %s", at, stamp(b.To), stamp(s.Sunset))
	}
	return b
}

// apart reports windows that overlap another.
func (p *parser) apart(at string, brownouts []Brownout) {
	order := make([]int, 0, len(brownouts))
	for i, b := range brownouts {
		if !b.From.IsZero() && b.From.Before(b.To) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return brownouts[i].From.Compare(brownouts[j].From) })
	last := -1 // of the windows so far, the one that ends last
	for _, i := range order {
		if last >= 0 && brownouts[i].From.Before(brownouts[last].To) {
			p.fault("%s.brownouts[%d]: overlaps brownouts[%d]", at, max(i, last), min(i, last))
		}
		if last < 0 || brownouts[i].To.After(brownouts[last].To) {
			last = i
		}
	}
}

func (p *parser) exempt(at string, s *Schedule, written []json.RawMessage) {
	seen := map[caller.Pattern]bool{}
	for i, raw := range written {
		at := fmt.Sprintf("%s[%d]", at, i)
		text, ok := p.text(at, raw)
		if !ok {
			continue
		}
		pattern, err := caller.ParsePattern(text)
		switch {
		case err != nil:
			p.fault("%s: %w", at, err)
		case seen[pattern]:
			p.fault("%s: repeats an earlier entry, %s", at, pattern)
		default:
			seen[pattern] = true
			s.Exempt = append(s.Exempt, pattern)
		}
	}
}

func given(raw json.RawMessage) bool {
	return raw != nil && !bytes.Equal(raw, []byte("null"))
}

func (p *parser) text(at string, raw json.RawMessage) (text string, ok bool) {
	if !given(raw) {
		p.fault("%s: missing", at)
		return "", false
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		p.fault("%s: must be text in quotes", at)
		return "", false
	}
	return text, true
}

// rfc3339 is the shape that time.Parse takes more loosely: it lets "1:02:03"
// and a decimal comma pass.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// time reads an instant. Its result is zero if there is a fault.
func (p *parser) time(at string, raw json.RawMessage) time.Time {
	text, ok := p.text(at, raw)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		p.fault("%s: %.40q is not a time in RFC 3339; write it like 2027-03-01T00:00:00Z", at, text)
		return time.Time{}
	}
	t = t.UTC()
	switch {
	case t.Nanosecond() != 0:
		p.fault("%s: %q has a fraction of a second, which the headers cannot carry", at, text)
		return time.Time{}
	case t.Year() < 1970 || t.Year() > 9999:
		p.fault("%s: %q is outside the years 1970 to 9999", at, text)
		return time.Time{}
	}
	return t
}

func (p *parser) share(at string, raw json.RawMessage) (share float64) {
	if !given(raw) {
		p.fault("%s: missing", at)
		return 0
	}
	if err := json.Unmarshal(raw, &share); err != nil || !(share > 0 && share <= 1) {
		p.fault("%s: %.40s is not a number above 0 and at most 1", at, raw)
		return 0
	}
	rounded := math.Round(share*1000) / 1000
	if rounded != share {
		p.fault("%s: %.40s has more than three decimals, which the header cannot carry", at, raw)
		return 0
	}
	return share
}

func (p *parser) limit(at string, raw json.RawMessage) (n int) {
	if !given(raw) {
		p.fault("%s: missing", at)
		return 0
	}
	if err := json.Unmarshal(raw, &n); err != nil || n < 0 {
		p.fault("%s: %.40s is not a whole number of 0 or more", at, raw)
	}
	return n
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }
