package lifecycle

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
)

// Admit sets the headers that the answer to a request must carry, and says why
// the request is refused, if it is. It must come before anything is written.
func (k *Keeper) Admit(h http.Header, r *http.Request, name string, who caller.Caller) *fault.Error {
	versions := k.current.Load().versions
	i := slices.IndexFunc(versions, func(v *version) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	v, now := versions[i], k.options.Now()
	v.announce(h, now)
	var refusal *fault.Error
	if Rehearsing(r) {
		refusal = v.rehearse(h, r, now)
	} else {
		refusal = v.refuse(who, now)
	}
	if refusal != nil {
		// A cache may keep a 410, and would give it to clients outside the
		// share, after the window, or of another version at the same path.
		h.Set("Cache-Control", "no-store")
	}
	return refusal
}

func (v *version) refuse(who caller.Caller, now time.Time) *fault.Error {
	switch v.stage(now) {
	case Retired:
		return v.retired(now)
	case BrowningOut:
		if b, _ := v.schedule.NextBrownout(now); v.schedule.Hits(v.name, b.Share, who) {
			return v.brownout(now, b.To)
		}
	}
	return nil
}

// Rehearsing says whether a request asks for a rehearsal. Such a request is
// refused in every stage, and does not count as use of the version.
func Rehearsing(r *http.Request) bool { return len(r.Header[canonicalRehearse]) > 0 }

// canonicalRehearse is how net/http stores the header.
var canonicalRehearse = http.CanonicalHeaderKey(rehearseHeader)

// rehearsalLength is how long a rehearsed brownout claims to last where the
// plan has no window to take the end from.
const rehearsalLength = 15 * time.Minute

// rehearse gives a client what it would get in a later stage, exempt or not.
// The answer repeats the request's header, so that whoever reads it in a log
// does not mistake it for the real refusal.
func (v *version) rehearse(h http.Header, r *http.Request, now time.Time) *fault.Error {
	values := r.Header[canonicalRehearse]
	stage := Stage(strings.ToLower(strings.TrimSpace(values[0])))
	if len(values) > 1 || (stage != Retired && stage != BrowningOut) {
		return fault.New(fault.InvalidParameter, "The header %s must be given once, as %s or %s", rehearseHeader, Retired, BrowningOut)
	}
	h.Set(rehearseHeader, string(stage))
	if stage == Retired {
		return v.retired(now)
	}
	b, planned := v.schedule.NextBrownout(now)
	if !planned {
		b.To = now.Add(rehearsalLength).UTC().Truncate(time.Second)
	}
	return v.brownout(now, b.To)
}
