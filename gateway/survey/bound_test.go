package survey

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quotegate/quotegate/shared/fault"
)

func subject(clients int) *Subject {
	return &Subject{survey: &Survey{clients: clients, log: slog.New(slog.DiscardHandler)}, version: "v1", successor: "v3", newer: newTally(time.Unix(0, 0))}
}

func origin(i int) string { return fmt.Sprintf("origin https://app%d.example", i) }

func failure(code fault.Code, param string) outcome { return outcome{reason: Reason{code, param}} }

// Memory does not grow with clients, and those that matter are not lost in the
// crowd.
func TestClientsAreBounded(t *testing.T) {
	s := subject(50)
	now := time.Unix(0, 0)
	omits := failure(fault.MissingParameter, "recipient")
	for i := range 20_000 {
		s.count(origin(i), omits, now)
		if i%20 == 0 {
			s.count(origin(-1), omits, now)
			s.count(origin(-2), failure(fault.UnsupportedPair, ""), now)
		}
	}
	v := s.report(now)
	if len(v.Clients) != 50 || v.Fails != 22_000 || v.Forgotten != 19_952 {
		t.Errorf("got %d clients, %d failures, %d forgotten", len(v.Clients), v.Fails, v.Forgotten)
	}
	for _, want := range []string{origin(-1), origin(-2)} {
		found := false
		for _, c := range v.Clients[:2] {
			found = found || c.Client == want && c.Fails > 900
		}
		if !found {
			t.Errorf("%v is lost in the crowd", want)
		}
	}
	if !strings.Contains(v.Summary, "at least 49 clients omit recipient") || !strings.Contains(v.Summary, ", and 44 more") {
		t.Errorf("got %q", v.Summary)
	}
}

// A client with more than one in so many of the failures, of as many rows as
// there are, has a row; and no row claims failures that did not happen.
func TestFrequentClientsHaveARow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const rows = 4
		s := subject(rows)
		calls := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(t, "calls")
		made := map[string]int{}
		for _, c := range calls {
			made[origin(c)]++
			s.count(origin(c), failure(fault.InvalidAmount, "amount"), time.Unix(0, 0))
		}
		listed := map[string]int{}
		for _, c := range s.report(time.Unix(0, 0)).Clients {
			listed[c.Client] = int(c.Fails)
		}
		if len(listed) > rows {
			t.Errorf("%d rows, want at most %d", len(listed), rows)
		}
		for id, n := range made {
			if n*rows > len(calls) && listed[id] == 0 {
				t.Errorf("%v made %d of %d calls and has no row", id, n, len(calls))
			}
			if listed[id] > n {
				t.Errorf("%v made %d calls and is blamed for %d", id, n, listed[id])
			}
		}
	})
}

// Two clients that come late and in turn do not keep pushing each other out.
func TestLateClientsFindARow(t *testing.T) {
	s := subject(4)
	now := time.Unix(0, 0)
	omits := failure(fault.MissingParameter, "recipient")
	for i := range 20 {
		s.count(origin(i%4), omits, now)
	}
	for range 15 {
		s.count(origin(8), omits, now)
		s.count(origin(9), omits, now)
	}
	v := s.report(now)
	for i, want := range []string{origin(8), origin(9)} {
		if got := v.Clients[i]; got.Client != want || got.Fails < 10 {
			t.Errorf("got %v with %d failures at place %d, want %v with most of its 15", got.Client, got.Fails, i, want)
		}
	}
}

func TestReasonsAreBounded(t *testing.T) {
	s := subject(10)
	now := time.Unix(0, 0)
	for i := range 5_000 {
		s.count(origin(1), failure(fault.InvalidParameter, fmt.Sprint("p", i)), now)
	}
	v := s.report(now)
	if len(v.Reasons) > maxReasons+1 || len(v.Clients[0].Reasons) > maxClientReasons+1 || v.Fails != 5_000 {
		t.Errorf("got %d and %d reasons, %d failures", len(v.Reasons), len(v.Clients[0].Reasons), v.Fails)
	}
	if o := judge(fault.New(fault.InvalidParameter, "x").On(strings.Repeat("p", 1_000))); o.reason.Param != "" {
		t.Errorf("a parameter of any length is kept: %q", o.reason)
	}
}

func TestProportionNeverFlatters(t *testing.T) {
	for _, tt := range []struct {
		part, whole uint64
		want        string
	}{{0, 5, "0 %"}, {1, 1000, "less than 1 %"}, {94, 100, "94 %"}, {9_999, 10_000, "99 %"}, {7, 7, "100 %"}} {
		if got := proportion(tt.part, tt.whole); got != tt.want {
			t.Errorf("%d of %d: got %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

// What a caller could notice of a survey at most.
func BenchmarkAsk(b *testing.B) {
	s := New(Options{})
	defer s.Close(b.Context())
	subject := s.Subject("v1", "v3", func(context.Context, string) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		subject.Ask("agent wallet", "srcChain=1&dstChain=369&srcToken=USDC&dstToken=USDC&amount=100000000")
	}
}
