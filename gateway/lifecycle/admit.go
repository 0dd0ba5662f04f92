package lifecycle

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	brownoutHeader    = "API-Brownout"
	rehearseHeader    = "API-Rehearse"
	canonicalRehearse = "Api-Rehearse" // as net/http stores it
)

// ResponseHeaders lists the headers that Admit may set, for CORS: a web page can
// read only headers that are listed.
func ResponseHeaders() []string {
	return []string{"Deprecation", "Sunset", "Link", brownoutHeader, rehearseHeader}
}

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

// version is a version that is served, and its part of the plan.
type version struct {
	name     string
	schedule *Schedule    // nil: no plan, so active
	headers  http.Header  // of every response; shared, so never changed
	gate     *GateReading // nil without a gate
}

// versionsOf are all versions that are served, under a plan and with readings of
// its gates.
func versionsOf(p *Plan, readings map[string]*GateReading) (all []*version) {
	for _, name := range p.served {
		v := &version{name, p.Versions[name], http.Header{}, readings[name]}
		all = append(all, v)
		s := v.schedule
		if s == nil {
			continue
		}
		v.headers.Set("Deprecation", fmt.Sprintf("@%d", s.Deprecated.Unix()))
		sunset := ""
		if !s.Sunset.IsZero() {
			v.headers.Set("Sunset", s.Sunset.Format(http.TimeFormat))
			sunset = `<` + s.Docs + `>; rel="sunset", `
		}
		v.headers.Set("Link", `<`+s.Docs+`>; rel="deprecation", `+sunset+`<`+s.Successor+`>; rel="successor-version"`)
	}
	return all
}

// stage is the current stage, with the gate taken into account. A gate is released
// only when it is read, so a sunset takes effect some seconds late.
func (v *version) stage(now time.Time) Stage {
	return v.schedule.Stage(now, v.gate == nil || !v.gate.Released.IsZero())
}

// announce sets the headers that say what is planned, even before the version is
// deprecated. Dates and the share have the format of RFC 9651.
func (v *version) announce(h http.Header, now time.Time) {
	maps.Copy(h, v.headers)
	if b, ok := v.schedule.NextBrownout(now); ok {
		share := strconv.FormatFloat(b.Share, 'f', -1, 64)
		if !strings.Contains(share, ".") {
			share += ".0"
		}
		h.Set(brownoutHeader, fmt.Sprintf("from=@%d, to=@%d, share=%s", b.From.Unix(), b.To.Unix(), share))
	}
}

// retired is the answer once the version is gone.
func (v *version) retired(now time.Time) *fault.Error {
	return v.refusal(fault.VersionRetired, "was retired"+v.onSunset(now, " on ", ""))
}

// brownout is the answer to the clients in the share of a window.
func (v *version) brownout(now, until time.Time) *fault.Error {
	e := v.refusal(fault.VersionBrownout, "is switched off for a while, until "+words.Stamp(until)+
		v.onSunset(now, ", and for good on ", ", and for good once few enough clients are left"))
	e.Until = until
	return e
}

// onSunset says when the version goes. The date of a version that is held has
// passed and says nothing; it is rehearsed without.
func (v *version) onSunset(now time.Time, before, held string) string {
	switch s := v.schedule; {
	case s == nil || s.Sunset.IsZero():
		return ""
	case v.stage(now) == Held:
		return held
	default:
		return before + words.Stamp(s.Sunset)
	}
}

// refusal says what happened to the version, and where to go instead, as far as
// the plan knows.
func (v *version) refusal(code fault.Code, what string) *fault.Error {
	e := fault.New(code, "Version %s %s", v.name, what)
	if s := v.schedule; s != nil {
		e.Message += "; use " + s.Successor + " instead, as " + s.Docs + " explains"
		e.Successor = s.Successor
	}
	return e
}
