package humanize

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	at := time.Date(2027, 3, 1, 14, 5, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(999), "999"}, {Number(1000), "1,000"}, {Number(-1234567), "-1,234,567"}, {Number(-100), "-100"}, {Number(uint64(12345678)), "12,345,678"},
		{Count(1, "call", "calls"), "1 call"}, {Count(0, "call", "calls"), "0 calls"}, {Count(1200, "call", "calls"), "1,200 calls"},
		{Percent(0.125), "12.5 %"}, {Percent(1), "100 %"}, {Percent(0.001), "0.1 %"},
		{Proportion(999, 1000), "99 %"}, {Proportion(1, 1000), "less than 1 %"}, {Proportion(0, 5), "0 %"}, {Proportion(5, 5), "100 %"},
		{Span(90 * day), "90 days"}, {Span(47 * time.Hour), "47 hours"}, {Span(time.Minute), "1 minute"}, {Span(2 * time.Second), "2 seconds"},
		{Duration(90 * time.Minute), "1h30m"}, {Duration(2 * time.Hour), "2h"}, {Duration(61 * time.Second), "1m1s"},
		{Ago(at.Add(3*day), at), "in 3 days"}, {Ago(at.Add(-2*time.Hour), at), "2 hours ago"},
		{Timestamp(at), "2027-03-01T13:05:00Z"}, {DateTime(at), "1 Mar 2027, 13:05 UTC"}, {Date(at), "1 Mar 2027"}, {DayMonth(at), "1 Mar"}, {DateTime(time.Time{}), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
