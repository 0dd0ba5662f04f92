package lifecycle

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

const (
	brownoutHeader = "API-Brownout"
	rehearseHeader = "API-Rehearse"
)

// ResponseHeaders lists the headers a version in a plan may add to an answer,
// for a front door that must name those a web page may read.
func ResponseHeaders() []string {
	return []string{"Deprecation", "Sunset", "Link", brownoutHeader, rehearseHeader}
}

// life is a version with its schedule, if it has one, in the words that every
// answer repeats.
type life struct {
	version  string
	schedule *Schedule // nil: active, with no plan to change that

	deprecation, sunset, link string
	gone                      fault.Error // the answer when retired

	gate gateWatch
}

func newLife(version string, s *Schedule) *life {
	l := &life{version: version, schedule: s}
	message := "Version " + version + " was retired"
	if s != nil && !s.Sunset.IsZero() {
		message += " on " + stamp(s.Sunset)
	}
	l.gone = *l.directed(fault.VersionRetired, message)
	if s == nil {
		return l
	}
	l.deprecation = date(s.Deprecated)
	links := []string{`<` + s.Docs + `>; rel="deprecation"`}
	if !s.Sunset.IsZero() {
		l.sunset = s.Sunset.Format(http.TimeFormat)
		links = append(links, `<`+s.Docs+`>; rel="sunset"`)
	}
	l.link = strings.Join(append(links, `<`+s.Successor+`>; rel="successor-version"`), ", ")
	return l
}

// announce tells a client what is coming, from the moment it is planned: the
// deprecation may lie ahead, which its header is made to say.
func (l *life) announce(h http.Header, now time.Time) {
	if l.schedule == nil {
		return
	}
	h.Set("Deprecation", l.deprecation)
	if l.sunset != "" {
		h.Set("Sunset", l.sunset)
	}
	h.Add("Link", l.link)
	if b, ok := l.schedule.NextBrownout(now); ok {
		h.Set(brownoutHeader, fmt.Sprintf("from=%s, to=%s, share=%s", date(b.From), date(b.To), decimal(b.Share)))
	}
}

// date writes a time as RFC 9651 wants a Date.
func date(t time.Time) string { return "@" + strconv.FormatInt(t.Unix(), 10) }

// decimal writes a share as RFC 9651 wants a Decimal.
func decimal(share float64) string {
	text := strconv.FormatFloat(share, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// percent writes a share of at most three decimals for a person.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + " %"
}

// retired is what the version answers when it is gone.
func (l *life) retired() *fault.Error {
	e := l.gone
	return &e
}

// brownout is what the version answers to those in the share of a window.
func (l *life) brownout(until time.Time) *fault.Error {
	message := "Version " + l.version + " is switched off for a while, until " + stamp(until)
	if s := l.schedule; s != nil && !s.Sunset.IsZero() {
		message += ", and for good on " + stamp(s.Sunset)
	}
	e := l.directed(fault.VersionBrownout, message)
	e.Until = until
	return e
}

// directed makes a fault that says where to go instead, if the plan knows.
func (l *life) directed(code fault.Code, message string) *fault.Error {
	s := l.schedule
	if s == nil {
		return fault.New(code, "%s", message)
	}
	e := fault.New(code, "%s; use %s instead, as %s explains", message, s.Successor, s.Docs)
	e.Successor = s.Successor
	return e
}

func stamp(t time.Time) string { return t.Format(time.RFC3339) }
