// Package humanize writes counts, shares, lengths of time and times for people, in one
// form wherever they are read: log, API, pages, letters, reports and commands.
package humanize

import (
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Number writes a number with a comma after each three digits.
func Number[N int | int64 | uint64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Count writes a number and what is counted: "1 call", "1,200 calls".
func Count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Percent writes a share that has three decimals at most: "12.5 %".
func Percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 4, 64) + " %" }

// Proportion writes a part of a whole, which must not be 0, rounded down, so that
// only the whole reads as 100 %.
func Proportion(part, whole uint64) string {
	if percent := part * 100 / whole; percent > 0 || part == 0 {
		return strconv.FormatUint(percent, 10) + " %"
	}
	return "less than 1 %"
}

// Span writes about how long a time is: "3 days", "26 hours", "5 minutes".
func Span(d time.Duration) string {
	switch {
	case d >= 2*day:
		return Count(int(d/day), "day", "days")
	case d >= 2*time.Hour:
		return Count(int(d/time.Hour), "hour", "hours")
	case d >= time.Minute:
		return Count(int(d/time.Minute), "minute", "minutes")
	}
	return Count(int(d/time.Second), "second", "seconds")
}

// Duration writes exactly how long a time is: "1h30m".
func Duration(d time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// Ago says how far a time is from now: "in 3 days", "2 hours ago".
func Ago(t, now time.Time) string {
	if d := t.Sub(now); d >= 0 {
		return "in " + Span(d)
	}
	return Span(now.Sub(t)) + " ago"
}

// Timestamp writes a time for programs and logs: 2027-03-01T00:00:00Z.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// DateTime writes a time for people: "1 Mar 2027, 00:00 UTC". It is empty for no time.
func DateTime(t time.Time) string { return format(t, "2 Jan 2006, 15:04 UTC") }

// Date writes a day: "1 Mar 2027". It is empty for no time.
func Date(t time.Time) string { return format(t, "2 Jan 2006") }

// DayMonth writes a day within a year: "1 Mar". It is empty for no time.
func DayMonth(t time.Time) string { return format(t, "2 Jan") }

func format(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(layout)
}
