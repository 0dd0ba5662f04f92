package lifecycle

import (
	"fmt"
	"time"
)

// Counts is the part of Usage that changes nothing.
type Counts interface {
	Evidence(version string, days int) Evidence
	Released(version string, sunset time.Time) (time.Time, error)
}

// readOnly is Usage that records nothing.
type readOnly struct{ Counts }

func (readOnly) Release(string, time.Time) error { return nil }
func (readOnly) Follow(string, []string)         {}

// Inspect describes a plan as a Keeper would, without putting it in force: no gate
// lets a sunset pass because of it. Without a file every version is active.
func Inspect(file string, versions []string, counts Counts, now time.Time) (Snapshot, error) {
	plan, text := &Plan{Versions: map[string]*Schedule{}, served: versions}, ""
	if file != "" {
		var err error
		if plan, text, err = read(file, versions); err != nil {
			return Snapshot{}, fmt.Errorf("LIFECYCLE_FILE: %w", err)
		}
	}
	k := &Keeper{options: Options{File: file, Versions: versions, Usage: readOnly{counts}, Now: func() time.Time { return now }}}
	inForce := &planInForce{plan: plan, text: text, loadedAt: now.UTC()}
	for _, name := range versions {
		inForce.versions = append(inForce.versions, k.version(name, plan))
	}
	k.inForce.Store(inForce)
	return k.Snapshot(), nil
}
