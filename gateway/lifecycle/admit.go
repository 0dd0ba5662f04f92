package lifecycle

import (
	"net/http"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

// Admit sets the headers a request's answer must carry and says why the
// request is refused, if it is. It must come before anything is written.
func (k *Keeper) Admit(h http.Header, r *http.Request, version string) *fault.Error {
	l, ok := k.inForce.Load().lives[version]
	if !ok || l.schedule == nil && !Rehearsing(r) {
		return nil
	}
	now := k.now()
	l.announce(h, now)
	e := k.refuse(h, r, l, now)
	if e != nil {
		// A cache may keep a 410, and would give it to clients outside the
		// share, after the window, or of another version at the same path.
		h.Set("Cache-Control", "no-store")
	}
	return e
}

func (k *Keeper) refuse(h http.Header, r *http.Request, l *life, now time.Time) *fault.Error {
	if Rehearsing(r) {
		return l.rehearse(h, r, now)
	}
	switch k.stage(l, now) {
	case Retired:
		return l.retired()
	case BrowningOut:
		b, _ := l.schedule.NextBrownout(now)
		if l.schedule.Hits(l.version, b.Share, k.caller(r)) {
			return l.brownout(b.To)
		}
	}
	return nil
}

// stage is where the version stands now, its gate included.
func (k *Keeper) stage(l *life, now time.Time) Stage {
	return l.schedule.Stage(now, func() bool { return l.reading(now, k.usage, k.usageSince).Holds })
}

// Rehearsing says whether a request asks for a rehearsal. It is refused
// whatever the stage, and says nothing about how much a version is used.
func Rehearsing(r *http.Request) bool { return len(r.Header[canonicalRehearse]) > 0 }

// canonicalRehearse is how net/http stores the header.
var canonicalRehearse = http.CanonicalHeaderKey(rehearseHeader)

// rehearsalLength is how long a rehearsed brownout claims to last where the
// plan has none to take the end from.
const rehearsalLength = 15 * time.Minute

// rehearse gives a client what it would get in a later stage, spared or not.
// The answer carries the request's header, so that nobody who reads it in a
// log takes it for the real thing.
func (l *life) rehearse(h http.Header, r *http.Request, now time.Time) *fault.Error {
	values := r.Header[canonicalRehearse]
	stage := Stage(strings.ToLower(strings.TrimSpace(values[0])))
	if len(values) > 1 || (stage != Retired && stage != BrowningOut) {
		return fault.New(fault.InvalidParameter, "The header %s must be given once, as %s or %s", rehearseHeader, Retired, BrowningOut)
	}
	h.Set(rehearseHeader, string(stage))
	if stage == Retired {
		return l.retired()
	}
	until := now.Add(rehearsalLength).UTC().Truncate(time.Second)
	if l.schedule != nil {
		if b, ok := l.schedule.NextBrownout(now); ok {
			until = b.To
		}
	}
	return l.brownout(until)
}
