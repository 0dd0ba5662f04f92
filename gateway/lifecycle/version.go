package lifecycle

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

const (
	brownoutHeader = "API-Brownout"
	rehearseHeader = "API-Rehearse"
)

// ResponseHeaders lists the headers that Admit may set, for CORS: a web page can
// read only headers that are listed.
func ResponseHeaders() []string {
	return []string{"Deprecation", "Sunset", "Link", brownoutHeader, rehearseHeader}
}

// version is a version that is served, and its part of the plan.
type version struct {
	name     string
	schedule *Schedule    // nil: no plan, so active
	headers  http.Header  // of every response; shared, so never changed
	gate     *GateReading // nil without a gate
}

func newVersion(name string, s *Schedule) *version {
	v := &version{name: name, schedule: s, headers: http.Header{}}
	if s == nil {
		return v
	}
	v.headers.Set("Deprecation", fmt.Sprintf("@%d", s.Deprecated.Unix()))
	sunset := ""
	if !s.Sunset.IsZero() {
		v.headers.Set("Sunset", s.Sunset.Format(http.TimeFormat))
		sunset = `<` + s.Docs + `>; rel="sunset", `
	}
	v.headers.Set("Link", `<`+s.Docs+`>; rel="deprecation", `+sunset+`<`+s.Successor+`>; rel="successor-version"`)
	return v
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
