package lifecycle

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
)

// Admit sets the lifecycle headers of the response. If the request is refused,
// it returns the reason. It must be called before anything is written.
func (k *Keeper) Admit(h http.Header, r *http.Request, name string, c caller.Caller) *fault.Error {
	versions := k.inForce.Load().versions
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
		refusal = v.refuse(c, now)
	}
	if refusal != nil {
		// A cache may keep a 410 and return it to clients outside the share,
		// after the window, or of another version at the same path.
		h.Set("Cache-Control", "no-store")
	}
	return refusal
}

// Exempts reports whether the plan spares a caller in the brownouts of a version.
func (k *Keeper) Exempts(name string, c caller.Caller) bool {
	return k.inForce.Load().plan.Versions[name].Exempts(Calling(name, c))
}

func (v *version) refuse(c caller.Caller, now time.Time) *fault.Error {
	switch v.stage(now) {
	case Retired:
		return v.retired(now)
	case BrowningOut:
		if b, _ := v.schedule.NextBrownout(now); v.schedule.Hits(b, Calling(v.name, c)) {
			return v.brownout(now, b.To)
		}
	}
	return nil
}

// Rehearsing reports whether a request asks for a rehearsal. A rehearsal is
// refused in every stage, and does not count as use of the version.
func Rehearsing(r *http.Request) bool { return len(r.Header[canonicalRehearse]) > 0 }

// canonicalRehearse is how net/http stores the header.
var canonicalRehearse = http.CanonicalHeaderKey(rehearseHeader)

// rehearsalLength is how long a rehearsed brownout claims to last if the plan
// has no window left.
const rehearsalLength = 15 * time.Minute

// rehearse returns the refusal that a client would get in a later stage, exempt
// or not. The response repeats the request's header, so that a reader of a log
// does not mistake it for a real refusal.
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
