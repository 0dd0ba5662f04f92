package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/fault"
)

const day = 24 * time.Hour

// number writes a number with a comma after each three digits.
func number[N int | uint64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func plural[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// date is empty for no time.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006")
}

// dayMonth is empty for no time. It is for times within 90 days, which need no year.
func dayMonth(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan")
}

// moment is empty for no time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2 Jan 2006, 15:04 UTC")
}

// ago says how far a time is from now.
func ago(t, now time.Time) string {
	if d := t.Sub(now); d >= 0 {
		return "in " + span(d)
	}
	return span(now.Sub(t)) + " ago"
}

func span(d time.Duration) string {
	switch {
	case d >= 2*day:
		return plural(int(d/day), "day", "days")
	case d >= 2*time.Hour:
		return plural(int(d/time.Hour), "hour", "hours")
	case d >= time.Minute:
		return plural(int(d/time.Minute), "minute", "minutes")
	}
	return plural(int(d/time.Second), "second", "seconds")
}

// length writes how long a window is, without the zeros time.Duration adds.
func length(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + " %" }

// clean replaces what a reader cannot see, such as marks that turn the direction
// of text around.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return ' '
		}
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

const (
	shortHead = 30
	shortTail = 12
)

// short leaves out the middle of a long text.
func short(text string) string {
	runes := []rune(clean(text))
	if len(runes) <= shortHead+shortTail+1 {
		return string(runes)
	}
	return string(runes[:shortHead]) + "…" + string(runes[len(runes)-shortTail:])
}

// finding is a finding in a few words, for a table.
func finding(f usage.FindingCount) string {
	switch {
	case f.Outcome == gateway.SameMoney:
		return "new shape only"
	case f.Outcome == gateway.DifferentMoney && f.Param != "":
		return "different money: sends " + f.Param
	case f.Outcome == gateway.DifferentMoney:
		return "different money"
	case f.Code == fault.MissingParameter && f.Param != "":
		return "refused: omits " + f.Param
	case f.Param != "":
		return fmt.Sprintf("refused: %s, %s", f.Param, f.Code)
	}
	return strings.TrimSpace("refused: " + string(f.Code))
}

// sentence says what a finding means for the calls of one client.
func sentence(f usage.FindingCount, version, successor string) string {
	calls := plural(f.Calls, "call", "calls")
	switch {
	case f.Outcome == gateway.SameMoney:
		return fmt.Sprintf("%s would get the same transaction and the same money from %s, in its new shape.", calls, successor)
	case f.Outcome == gateway.DifferentMoney && f.Param != "":
		return fmt.Sprintf("%s would get different money from %s, because %s ignores %s and %s does not.", calls, successor, version, f.Param, successor)
	case f.Outcome == gateway.DifferentMoney:
		return fmt.Sprintf("%s would get different money from %s.", calls, successor)
	case f.Code == fault.MissingParameter && f.Param != "":
		return fmt.Sprintf("%s would be refused by %s, because %s is missing.", calls, successor, f.Param)
	case f.Param != "":
		return fmt.Sprintf("%s would be refused by %s, because of the value of %s (%s).", calls, successor, f.Param, f.Code)
	}
	return fmt.Sprintf("%s would be refused by %s (%s).", calls, successor, f.Code)
}

// coord writes a coordinate of a picture in as few bytes as possible.
func coord(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
