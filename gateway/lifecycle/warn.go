package lifecycle

import (
	"fmt"
	"time"

	"github.com/quotegate/quotegate/shared/words"
)

const (
	shortNotice = 90 * day // between announcing a version's end and the end
	soon        = 7 * day
	day         = 24 * time.Hour
)

// warnings returns what is valid in a plan, but may be a mistake.
func (s *Schedule) warnings(at time.Time) (warnings []string) {
	warn := func(text string, args ...any) { warnings = append(warnings, fmt.Sprintf(text, args...)) }
	if s.Sunset.IsZero() {
		warn("no sunset is set: clients are told to move, but not by when")
		return warnings
	}
	switch left := s.Sunset.Sub(at); {
	case left <= 0 && s.Gate != nil:
		warn("the sunset has passed: the version is retired as soon as its gate lets it")
	case left <= 0:
		warn("the sunset has passed: a gateway that starts with this plan retires the version at once")
	case left < soon:
		warn("the sunset is only %s away", words.Span(left))
	}
	if notice := s.Sunset.Sub(s.Deprecated); notice < shortNotice {
		warn("clients have %s between the announcement and the sunset; give them at least %s", words.Span(notice), words.Span(shortNotice))
	}
	most := 0.0
	for _, b := range s.Brownouts {
		most = max(most, b.Share)
	}
	switch {
	case most == 0:
		warn("no brownout comes before the sunset: clients that read no headers get no warning")
	case most < 1:
		warn("no brownout reaches more than %s of clients: for the others the sunset is the first 410", words.Percent(most))
	}
	if s.Gate != nil {
		from := s.Sunset.Add(-time.Duration(s.Gate.Days) * day)
		if covered := s.covered(from); covered*2 > s.Sunset.Sub(from) {
			warn("brownouts take up %s of the %s that the gate looks at: a client that gives up during them looks like one that has moved", words.Span(covered), words.Span(s.Sunset.Sub(from)))
		}
	}
	return warnings
}

// covered is how much of the time from then to the sunset brownouts take up.
func (s *Schedule) covered(from time.Time) (sum time.Duration) {
	for _, b := range s.Brownouts {
		begin := b.From
		if begin.Before(from) {
			begin = from
		}
		sum += max(0, b.To.Sub(begin))
	}
	return sum
}
