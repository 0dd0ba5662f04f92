package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
)

// hashOf names a plan by the text of its file, so that instances can be seen to
// follow the same one. It is empty without a file.
func hashOf(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// abrupt returns why a changed plan is refused while the service runs: it would
// refuse clients of a version the moment it is read, which is more often a wrong
// year than a decision. A version that says "immediate" is taken at its word.
func (k *Keeper) abrupt(before, after *Plan) error {
	now := k.options.Now()
	var faults []error
	for _, name := range k.options.Versions {
		schedule := after.Versions[name]
		v := k.version(name, after)
		was, will := k.version(name, before).stage(now), schedule.Stage(now, v.gate == nil || !v.gate.Holds)
		if will == was || will != Retired && will != BrowningOut || schedule.Immediate {
			continue
		}
		what := fmt.Sprintf("retire the version at once: its sunset, %s, has passed", stamp(schedule.Sunset))
		if will == BrowningOut {
			window, _ := schedule.NextBrownout(now)
			what = fmt.Sprintf("refuse clients at once: the window from %s to %s is under way", stamp(window.From), stamp(window.To))
		}
		faults = append(faults, fmt.Errorf(`versions.%s: this would %s; correct the date, or add "immediate": true if it is meant`, name, what))
	}
	return errors.Join(faults...)
}

// differences says in words what changes from one plan to another.
func differences(before, after *Plan, versions []string) (words []string) {
	for _, name := range versions {
		old, new := before.Versions[name], after.Versions[name]
		switch {
		case old == nil && new == nil:
		case old == nil:
			words = append(words, name+" is in the plan")
		case new == nil:
			words = append(words, name+" is no longer in the plan")
		default:
			words = append(words, old.differences(name, new)...)
		}
	}
	return words
}

func (s *Schedule) differences(version string, new *Schedule) (words []string) {
	add := func(differs bool, what string) {
		if differs {
			words = append(words, version+": "+what)
		}
	}
	add(!s.Deprecated.Equal(new.Deprecated), "deprecated "+stamp(s.Deprecated)+" becomes "+stamp(new.Deprecated))
	switch {
	case s.Sunset.Equal(new.Sunset):
	case s.Sunset.IsZero():
		add(true, "sunset "+stamp(new.Sunset))
	case new.Sunset.IsZero():
		add(true, "no sunset any more")
	default:
		add(true, "sunset "+stamp(s.Sunset)+" becomes "+stamp(new.Sunset))
	}
	add(s.Successor != new.Successor, "another successor")
	add(s.Docs != new.Docs, "other docs")
	add(!reflect.DeepEqual(s.Brownouts, new.Brownouts), fmt.Sprintf("%d brownouts become %d, or others", len(s.Brownouts), len(new.Brownouts)))
	add(!reflect.DeepEqual(s.Exempt, new.Exempt), fmt.Sprintf("%d exempt clients become %d, or others", len(s.Exempt), len(new.Exempt)))
	add(!reflect.DeepEqual(s.Gate, new.Gate), "another gate")
	add(s.Immediate != new.Immediate, fmt.Sprintf("immediate becomes %t", new.Immediate))
	return words
}
