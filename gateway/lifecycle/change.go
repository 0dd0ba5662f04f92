package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"github.com/quotegate/quotegate/shared/words"
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
		what := fmt.Sprintf("retire the version at once: its sunset, %s, has passed", words.Stamp(schedule.Sunset))
		if will == BrowningOut {
			window, _ := schedule.NextBrownout(now)
			what = fmt.Sprintf("refuse clients at once: the window from %s to %s is under way", words.Stamp(window.From), words.Stamp(window.To))
		}
		faults = append(faults, fmt.Errorf(`versions.%s: this would %s; correct the date, or add "immediate": true if it is meant`, name, what))
	}
	return errors.Join(faults...)
}

// differences says in words what changes from one plan to another.
func differences(before, after *Plan, versions []string) (changed []string) {
	for _, name := range versions {
		old, new := before.Versions[name], after.Versions[name]
		switch {
		case old == nil && new == nil:
		case old == nil:
			changed = append(changed, name+" is in the plan")
		case new == nil:
			changed = append(changed, name+" is no longer in the plan")
		default:
			changed = append(changed, old.differences(name, new)...)
		}
	}
	return changed
}

func (s *Schedule) differences(version string, new *Schedule) (changed []string) {
	add := func(differs bool, what string) {
		if differs {
			changed = append(changed, version+": "+what)
		}
	}
	add(!s.Deprecated.Equal(new.Deprecated), "deprecated "+words.Stamp(s.Deprecated)+" becomes "+words.Stamp(new.Deprecated))
	switch {
	case s.Sunset.Equal(new.Sunset):
	case s.Sunset.IsZero():
		add(true, "sunset "+words.Stamp(new.Sunset))
	case new.Sunset.IsZero():
		add(true, "no sunset any more")
	default:
		add(true, "sunset "+words.Stamp(s.Sunset)+" becomes "+words.Stamp(new.Sunset))
	}
	add(s.Successor != new.Successor, "another successor")
	add(s.Docs != new.Docs, "other docs")
	add(!reflect.DeepEqual(s.Brownouts, new.Brownouts), fmt.Sprintf("%d brownouts become %d, or others", len(s.Brownouts), len(new.Brownouts)))
	add(!reflect.DeepEqual(s.Exempt, new.Exempt), fmt.Sprintf("%d exempt clients become %d, or others", len(s.Exempt), len(new.Exempt)))
	add(!reflect.DeepEqual(s.Gate, new.Gate), "another gate")
	add(s.Immediate != new.Immediate, fmt.Sprintf("immediate becomes %t", new.Immediate))
	return changed
}
