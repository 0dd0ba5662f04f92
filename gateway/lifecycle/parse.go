package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/words"
)

// planFile is a plan as an operator writes it. Its values are parsed one by one,
// so that a wrong type in one of them does not hide the other faults.
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
	Immediate  json.RawMessage   `json:"immediate"`
}

type brownoutFile struct {
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
	Share json.RawMessage `json:"share"`
}

type gateFile struct {
	MaxClients     json.RawMessage `json:"maxClients"`
	MaxCallsPerDay json.RawMessage `json:"maxCallsPerDay"`
	Days           json.RawMessage `json:"days"`
}

// Parse reads a plan for the versions that are served. The error lists all
// faults, one per line.
func Parse(data []byte, versions []string) (*Plan, error) {
	var file planFile
	shape := jsonfile.Decode(data, &file)
	p := parser{served: versions}
	plan := &Plan{Versions: map[string]*Schedule{}, served: slices.Clone(versions)}
	if file.Versions == nil && shape == nil {
		p.fault("versions: missing; write {\"versions\": {}} to leave every version active")
	}
	for _, name := range slices.Sorted(maps.Keys(file.Versions)) {
		at := "versions." + name
		if !slices.Contains(versions, name) {
			p.fault("%s: unknown version; this gateway serves %s", at, strings.Join(versions, ", "))
		}
		if raw := file.Versions[name]; raw == nil {
			p.fault("%s: empty; leave the version out if it is active", at)
		} else {
			plan.Versions[name] = p.schedule(at, name, raw)
		}
	}
	p.successors(plan)
	if err := errors.Join(shape, errors.Join(p.faults...)); err != nil {
		return nil, err
	}
	return plan, nil
}

type parser struct {
	served []string
	faults []error
}

func (p *parser) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf(format, args...))
}

func (p *parser) schedule(at, name string, raw *scheduleFile) *Schedule {
	s := &Schedule{
		Deprecated: value(p, at+".deprecated", raw.Deprecated, quoted(parseTime)),
		Successor:  value(p, at+".successor", raw.Successor, quoted(p.successorOf(name))),
		Docs:       value(p, at+".docs", raw.Docs, quoted(parseDocs)),
		Brownouts:  []Brownout{},
		Exempt:     []caller.Pattern{},
	}
	if present(raw.Sunset) {
		s.Sunset = value(p, at+".sunset", raw.Sunset, quoted(parseTime))
		if !s.Sunset.IsZero() && s.Sunset.Before(s.Deprecated) {
			p.fault("%s.sunset: %s is before the version is deprecated, %s", at, words.Stamp(s.Sunset), words.Stamp(s.Deprecated))
		}
	} else {
		if len(raw.Brownouts) > 0 {
			p.fault("%s.brownouts: they prepare clients for a sunset, and there is none; give one", at)
		}
		if raw.Gate != nil {
			p.fault("%s.gate: there is no sunset for it to hold; give one", at)
		}
	}
	for i, w := range raw.Brownouts {
		s.Brownouts = append(s.Brownouts, p.brownout(fmt.Sprintf("%s.brownouts[%d]", at, i), s, w))
	}
	p.overlaps(at, s.Brownouts)
	slices.SortFunc(s.Brownouts, func(a, b Brownout) int { return a.From.Compare(b.From) })
	for i, text := range raw.Exempt {
		at := fmt.Sprintf("%s.exempt[%d]", at, i)
		pattern := value(p, at, text, quoted(caller.ParsePattern))
		if pattern != (caller.Pattern{}) && slices.Contains(s.Exempt, pattern) {
			p.fault("%s: repeats an earlier entry, %s", at, pattern)
		}
		s.Exempt = append(s.Exempt, pattern)
	}
	if present(raw.Immediate) {
		s.Immediate = value(p, at+".immediate", raw.Immediate, parseBool)
	}
	if g := raw.Gate; g != nil {
		s.Gate = &Gate{
			MaxClients:     value(p, at+".gate.maxClients", g.MaxClients, parseLimit),
			MaxCallsPerDay: value(p, at+".gate.maxCallsPerDay", g.MaxCallsPerDay, parseLimit),
			Days:           defaultGateDays,
		}
		if present(g.Days) {
			s.Gate.Days = value(p, at+".gate.days", g.Days, parseDays)
		}
	}
	return s
}

func (p *parser) brownout(at string, s *Schedule, raw brownoutFile) Brownout {
	b := Brownout{
		From:  value(p, at+".from", raw.From, quoted(parseTime)),
		To:    value(p, at+".to", raw.To, quoted(parseTime)),
		Share: value(p, at+".share", raw.Share, parseShare),
	}
	switch {
	case b.From.IsZero() || b.To.IsZero():
	case !b.From.Before(b.To):
		p.fault("%s: ends at %s, which is not after it begins, %s", at, words.Stamp(b.To), words.Stamp(b.From))
	case !s.Deprecated.IsZero() && b.From.Before(s.Deprecated):
		p.fault("%s.from: %s is before the version is deprecated, %s", at, words.Stamp(b.From), words.Stamp(s.Deprecated))
	case !s.Sunset.IsZero() && b.To.After(s.Sunset):
		p.fault("%s.to: %s is after the sunset, %s", at, words.Stamp(b.To), words.Stamp(s.Sunset))
	}
	return b
}

// overlaps reports windows that overlap. It skips windows with faulty times.
func (p *parser) overlaps(at string, brownouts []Brownout) {
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
			p.fault("%s.brownouts[%d]: overlaps brownouts[%d]", at, max(i, last), min(i, last))
		}
		if last < 0 || brownouts[i].To.After(brownouts[last].To) {
			last = i
		}
	}
}

// successors checks that no client is sent to a version that is retired by then,
// nor in a circle.
func (p *parser) successors(plan *Plan) {
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
			p.fault("%s: %s has its own sunset, %s, which is not after that of %s", at, p.versionOf(s.Successor), words.Stamp(after.Sunset), name)
			continue
		}
		for range plan.Versions {
			if after == nil {
				break
			}
			if after == s {
				p.fault("%s: leads back to %s in the end", at, name)
				break
			}
			after = next(after)
		}
	}
}

// versionOf is the version that a path belongs to: the first segment that is
// the name of a version.
func (p *parser) versionOf(path string) string {
	for segment := range strings.SplitSeq(path, "/") {
		if slices.Contains(p.served, segment) {
			return segment
		}
	}
	return ""
}
