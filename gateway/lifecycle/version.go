package lifecycle

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/humanize"
)

const (
	brownoutHeader = "API-Brownout"
	rehearseHeader = "API-Rehearse"
)

// ResponseHeaders lists the headers that Admit may set, for CORS.
func ResponseHeaders() []string {
	return []string{"Deprecation", "Sunset", "Link", brownoutHeader, rehearseHeader}
}

// Admit sets the lifecycle headers of the response. If the request is refused,
// it returns the reason. It must be called before anything is written.
func (k *Keeper) Admit(h http.Header, r *http.Request, name string, c caller.Caller) *fault.Error {
	versions := k.inForce.Load().versions
	i := slices.IndexFunc(versions, func(v *served) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	v := versions[i]
	now := k.options.Now()
	v.schedule.announce(h, now)
	stage := v.stage(now)
	var refusal *fault.Error
	switch {
	case Rehearsing(r):
		refusal = v.rehearse(h, r, now)
	case stage == Retired:
		refusal = v.retired()
	case stage == BrowningOut:
		b, _ := v.schedule.NextBrownout(now)
		if v.schedule.Hits(b, Calling(name, c)) {
			refusal = v.brownout(now, b.To)
		}
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

// Rehearsing reports whether a request asks for a rehearsal. A rehearsal is
// refused in every stage, and does not count as use of the version.
func Rehearsing(r *http.Request) bool { return len(r.Header.Values(rehearseHeader)) > 0 }

// rehearsalLength is that of a rehearsed brownout if the plan has no window left.
const rehearsalLength = 15 * time.Minute

// rehearse returns the refusal that a client would get in a later stage, exempt or not. The
// response repeats the header, so that nobody takes it for a real refusal.
func (v *served) rehearse(h http.Header, r *http.Request, now time.Time) *fault.Error {
	values := r.Header.Values(rehearseHeader)
	stage := Stage(strings.ToLower(strings.TrimSpace(values[0])))
	if len(values) > 1 || (stage != Retired && stage != BrowningOut) {
		return fault.New(fault.InvalidParameter, "The header %s must be given once, as %s or %s",
			rehearseHeader, Retired, BrowningOut)
	}
	h.Set(rehearseHeader, string(stage))
	if stage == Retired {
		return v.retired()
	}
	b, planned := v.schedule.NextBrownout(now)
	if !planned {
		b.To = now.Add(rehearsalLength).UTC().Truncate(time.Second)
	}
	return v.brownout(now, b.To)
}

// served is a version that is served, and its part of the plan.
type served struct {
	name     string
	schedule *Schedule    // nil: no plan, so active
	gate     *GateReading // nil without a gate
	carried  bool         // the plan has no line for it, but it was retired
	unknown  bool         // it is not known what is kept of the plan, so that it refuses nobody
}

// stage is the current stage, with the gate taken into account. A gate is released
// only when it is read, so a sunset takes effect some seconds late.
func (v *served) stage(now time.Time) Stage {
	stage := v.schedule.Stage(now, v.gate == nil || !v.gate.Released.IsZero())
	switch {
	case v.unknown && stage == Retired:
		return Held
	case v.unknown && stage == BrowningOut:
		return Deprecated
	}
	return stage
}

func (v *served) verdict(now time.Time) *Verdict {
	if v.unknown && v.stage(now) == Held {
		return unknownVerdict(v.name+" is retired", "the plan that was accepted has not been read yet")
	}
	return v.schedule.Verdict(v.name, v.gate, now)
}

// announce sets the headers that say what is planned, even before the version is
// deprecated. Dates and the share have the format of RFC 9651.
func (s *Schedule) announce(h http.Header, now time.Time) {
	if s == nil {
		return
	}
	h.Set("Deprecation", fmt.Sprintf("@%d", s.Deprecated.Unix()))
	sunset := ""
	if !s.Sunset.IsZero() {
		h.Set("Sunset", s.Sunset.Format(http.TimeFormat))
		sunset = `<` + s.Docs + `>; rel="sunset", `
	}
	h.Set("Link", `<`+s.Docs+`>; rel="deprecation", `+sunset+`<`+s.Successor+`>; rel="successor-version"`)
	if b, ok := s.NextBrownout(now); ok {
		share := strconv.FormatFloat(b.Share, 'f', -1, 64)
		if !strings.Contains(share, ".") {
			share += ".0"
		}
		h.Set(brownoutHeader, fmt.Sprintf("from=@%d, to=@%d, share=%s", b.From.Unix(), b.To.Unix(), share))
	}
}

// retired is the answer once the version is gone.
func (v *served) retired() *fault.Error {
	what := "was retired"
	if s := v.schedule; s != nil && !s.Sunset.IsZero() {
		what += " on " + humanize.Timestamp(s.Sunset)
	}
	return v.refusal(fault.VersionRetired, what)
}

// brownout is the answer to the clients in the share of a window.
func (v *served) brownout(now, until time.Time) *fault.Error {
	what := "is temporarily unavailable until " + humanize.Timestamp(until)
	if s := v.schedule; s != nil && s.Sunset.After(now) {
		what += ", and permanently on " + humanize.Timestamp(s.Sunset)
	}
	e := v.refusal(fault.VersionBrownout, what)
	e.Until = until
	return e
}

// refusal says what happened to the version and, if the plan knows, where to go instead.
func (v *served) refusal(code fault.Code, what string) *fault.Error {
	e := fault.New(code, "Version %s %s", v.name, what)
	if s := v.schedule; s != nil {
		e.Message += "; use " + s.Successor + " instead, as " + s.Docs + " explains"
		e.Successor = s.Successor
	}
	return e
}
