package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/humanize"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/safego"
)

// Accepted is the line of a version that came into force.
type Accepted struct {
	At     time.Time `json:"at"`
	Line   *Schedule `json:"line"`             // nil: the plan had none
	Before []string  `json:"before,omitempty"` // hashes of the lines that it and others replaced, the latest last
}

const (
	maxBefore = 16 // replaced lines are remembered

	ifMeant        = `; correct it, or add "immediate": true if it is meant`
	confirmedEarly = "the sunset has not come, so that there is nothing to confirm; take this out"
)

// lasting is a line without what is about one moment.
func (s *Schedule) lasting() *Schedule {
	if s == nil {
		return nil
	}
	line := *s
	line.Immediate = false
	return &line
}

// textOf is a line as it is kept; null without one.
func textOf(line *Schedule) []byte {
	text, _ := json.Marshal(line.lasting()) // of times, numbers and strings: it cannot fail
	return text
}

func isSame(a, b *Schedule) bool { return bytes.Equal(textOf(a), textOf(b)) }

// changes are the versions whose line differs between two plans.
func changes(before, after *Plan) (names []string) {
	for _, name := range after.served {
		if !isSame(before.Versions[name], after.Versions[name]) {
			names = append(names, name)
		}
	}
	return names
}

// abrupt returns why a plan must not follow one that is in force, going by a reading of the
// gates of both.
func abrupt(before, after []*served, changed []string, now time.Time) error {
	var faults jsonfile.Problems
	for i, v := range after {
		if !slices.Contains(changed, v.name) {
			continue
		}
		at := "versions." + v.name
		if v.gate != nil && v.gate.Confirmed && !v.schedule.ended(now) {
			faults.Add(at+".gate.released", confirmedEarly)
		}
		if change := judge(before[i], v, now); change != "" {
			faults.Add(at, "%s", change+ifMeant)
		}
	}
	return faults.Err()
}

// judge names what a changed line does to clients that the line before serves at this moment:
// it would refuse them, which is more often a mistake than a decision. It is empty if the line
// refuses no more clients than the one before, or says that it is meant.
func judge(before, after *served, now time.Time) string {
	s := after.schedule
	was := before.becomes(now)
	if s == nil || s.Immediate || was == Retired {
		return ""
	}
	switch after.becomes(now) {
	case Retired:
		return fmt.Sprintf("this would retire the version at once: its sunset, %s, has passed",
			humanize.Timestamp(s.Sunset))
	case BrowningOut:
		open, _ := s.NextBrownout(now)
		if was == BrowningOut {
			return s.widens(before.schedule, open, now)
		}
		return fmt.Sprintf("this would refuse clients at once: the window from %s to %s is under way",
			humanize.Timestamp(open.From), humanize.Timestamp(open.To))
	}
	return ""
}

// becomes is the stage of a version once its gate lets the sunset pass, unless it holds now.
func (v *served) becomes(now time.Time) Stage {
	return v.schedule.Stage(now, v.gate == nil || !v.gate.Holds)
}

// widens names what has an open window refuse more clients than the open one of the line before.
func (s *Schedule) widens(before *Schedule, open Brownout, now time.Time) string {
	was, _ := before.NextBrownout(now)
	until := "in the window that is open until " + humanize.Timestamp(open.To)
	if open.Share > was.Share {
		return fmt.Sprintf("share %v becomes %v %s", was.Share, open.Share, until)
	}
	var lost []string
	for _, p := range before.Exempt {
		if !slices.Contains(s.Exempt, p) {
			lost = append(lost, p.String())
		}
	}
	if lost == nil {
		return ""
	}
	return "no longer exempt " + until + ": " + strings.Join(lost, ", ")
}

// learn puts in force what is kept of the plan, once that can be read. The file is the
// change of it that comes next.
func (k *Keeper) learn() {
	if err := k.readKept(); err != nil {
		if k.options.Now().Sub(k.began) >= unreadableLimit {
			k.sayEvery(holdsEvery, "the accepted plan", slog.LevelError,
				"the accepted plan cannot be read from USAGE_DB; until then the plan refuses nobody here",
				"why", err)
		}
		k.know(func(string) bool { return true }) // what differs once it can be read is logged
		return
	}
	file := *k.inForce.Load()
	base := *file.plan
	base.Versions = maps.Clone(base.Versions)
	for _, name := range base.served {
		if a, isKept := k.kept[name]; isKept {
			base.Versions[name] = a.Line
		}
	}
	maps.DeleteFunc(base.Versions, func(_ string, s *Schedule) bool { return s == nil })
	text, _ := json.Marshal(base) // of lines that were read from JSON: it cannot fail
	k.gates.read(&base, false)
	k.publish(planInForce{plan: &base, hash: "kept " + Hash(text), loadedAt: k.options.Now().UTC(), kept: true})
	k.know(func(name string) bool {
		_, isKept := k.kept[name]
		return isKept
	})
	if k.options.File == "" {
		_ = k.use(file) // without a line, nothing is abrupt
	}
	k.watch.Forget()
}

// readKept reads what is kept.
func (k *Keeper) readKept() error {
	return safego.Try(k.options.Log, "reading the accepted plan", func() error {
		kept, err := k.options.Usage.Accepted()
		if err == nil {
			k.kept = kept
		}
		return err
	})
}

// keep writes the lines in force that differ from what is kept. What fails is tried again by
// the next poll.
func (k *Keeper) keep() {
	c := k.inForce.Load()
	isKept := func(name string) bool {
		a, found := k.kept[name]
		return found && isSame(a.Line, c.plan.Versions[name])
	}
	unkept := slices.DeleteFunc(slices.Clone(c.plan.served), isKept)
	if k.options.ReadOnly || c.unknown || len(unkept) == 0 {
		return
	}
	err := k.readKept() // another instance may have accepted another line since
	for _, name := range unkept {
		if err == nil && !isKept(name) {
			err = k.keepLine(name, c)
		}
	}
	if err != nil {
		k.sayEvery(holdsEvery, "keeping the plan", slog.LevelError,
			"the plan in force cannot be kept in USAGE_DB; until then, a restart compares with an older one",
			"error", err)
	}
}

// keepLine keeps the line in force of a version, unless the kept one is newer.
func (k *Keeper) keepLine(name string, c *planInForce) error {
	was, isKept := k.kept[name]
	if was.At.After(k.options.Now().Add(clockSkew)) { // by a wrong clock: older than anything
		was.At = time.Time{}
	}
	next := Accepted{At: c.loadedAt, Line: c.plan.Versions[name].lasting()}
	if was.At.After(c.loadedAt) || isKept && c.first && k.isOlder(next.Line, was) {
		k.sayEvery(remindEvery, name+" outdated", slog.LevelWarn,
			"lifecycle plan: this file is older than the line of the version that was accepted last, which stays kept "+
				"but is not followed here; give this instance the newest file",
			"version", name, "file", k.options.File, "accepted", was.At)
		return nil
	}
	if isKept {
		before := append(slices.Clone(was.Before), Hash(textOf(was.Line)))
		next.Before = before[max(0, len(before)-maxBefore):]
	}
	err := k.options.Usage.Accept(name, next)
	if err == nil {
		k.kept[name] = next
	}
	return err
}

// isOlder reports whether the line of a file, or that there is no file, is older than what is
// kept: the line was replaced after the file was written.
func (k *Keeper) isOlder(line *Schedule, kept Accepted) bool {
	if k.options.File == "" {
		return true
	}
	file, err := os.Stat(k.options.File)
	return err == nil && file.ModTime().Before(kept.At) && slices.Contains(kept.Before, Hash(textOf(line)))
}
