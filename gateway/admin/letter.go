package admin

import (
	"fmt"
	"strings"

	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/words"
)

const subjectPrefix = "Subject: "

// letter is a text to a client, with its own numbers and the steps that concern it.
func (f *Facts) letter(c *usage.Client) string {
	s, to := f.schedule(c.Version), f.current()
	var b strings.Builder
	line := func(format string, args ...any) {
		for text := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			b.WriteString(clean(text) + "\n")
		}
	}
	subject := fmt.Sprintf("Please move from version %s to %s", c.Version, to)
	if s != nil && s.Sunset.After(f.Now) {
		subject += " by " + words.Date(s.Sunset)
	}
	line(subjectPrefix+"%s\n\nHello,\n", subject)
	line("your client still calls version %s of our quote service: %s within the last 90 days, %s of them within the last 7, the last one on %s.",
		c.Version, words.Count(c.Calls90, "call", "calls"), words.Number(c.Calls7), words.Date(c.LastSeen))
	who := c.Name()
	if c.Software != "" {
		who += ", software " + c.Software
	}
	line("We know it as: %s.\n", who)
	f.dates(line, c, s)
	line("What to change:")
	for i, text := range f.changes(c, to) {
		line("  %d. %s", i+1, text)
	}
	line("\nApart from this, both versions give the same transaction and the same money for the same request.")
	line("To see today what your client gets then, send the header API-Rehearse: retired with any call to %s.", c.Version)
	if s != nil {
		line("All changes, field by field: %s", s.Docs)
	}
	line("\nIf you have a question, or if this is not your software, please answer this mail.")
	return b.String()
}

// dates says when the version goes, and which windows refuse this client before.
func (f *Facts) dates(line func(string, ...any), c *usage.Client, s *lifecycle.Schedule) {
	if s == nil || s.Sunset.IsZero() {
		line("Version %s has no end date yet. It will be retired, and a move now saves you a hurry later.\n", c.Version)
		return
	}
	if s.Sunset.After(f.Now) {
		line("Version %s is retired on %s. From then on every call to it is answered with HTTP status 410.", c.Version, words.Moment(s.Sunset))
	} else {
		line("The end of version %s was announced for %s. Every call to it is, or soon will be, answered with HTTP status 410.", c.Version, words.Moment(s.Sunset))
	}
	if !c.Last410.IsZero() {
		line("Your client has already had such an answer, last on %s.", words.Moment(c.Last410))
	}
	var windows []string
	for _, b := range s.Brownouts {
		if b.To.After(f.Now) && s.Hits(b, c.Subject()) {
			windows = append(windows, fmt.Sprintf("  - %s, for %s", words.Moment(b.From), words.Length(b.To.Sub(b.From))))
		}
	}
	if len(windows) > 0 {
		line("Before that it is switched off for a while, so that the end surprises nobody. This concerns your client:\n%s", strings.Join(windows, "\n"))
	}
	line("")
}

// changes are the steps for this client: what its calls showed, then what everyone
// has to do.
func (f *Facts) changes(c *usage.Client, to string) (all []string) {
	all = append(all, f.Moves[c.Version]...)
	if all == nil {
		all = append(all, fmt.Sprintf("Call %s instead of %s, and read the answer in its new shape.", to, c.Version))
	}
	return append(all, c.Steps(to)...)
}
