package cctp_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
)

// state is that of one route.
func state(t *testing.T, f *cctp.Fees, source chain.ID) cctp.State {
	t.Helper()
	for _, s := range f.State() {
		if s.Source == source {
			return s
		}
	}
	t.Fatalf("no state of chain %s", source)
	return cctp.State{}
}

func wantRate(t *testing.T, f *cctp.Fees, source chain.ID, text string) {
	t.Helper()
	if got := f.Rate(t.Context(), source); got.String() != text {
		t.Errorf("chain %s: got %s bps, want %s", source, got, text)
	}
}

func wantOrigin(t *testing.T, f *cctp.Fees, source chain.ID, origin cctp.Origin, reason string) {
	t.Helper()
	s := state(t, f, source)
	var got string
	if s.Err != nil {
		got = s.Err.Error()
	}
	if s.Origin != origin || got != reason {
		t.Errorf("chain %s: got %s because %q, want %s because %q", source, s.Origin, got, origin, reason)
	}
}

func TestTheBuiltInTableServesWithoutAService(t *testing.T) {
	f, err := cctp.New(cctp.Config{}, chain.Reference().Settlement, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[chain.ID]string{43114: "0", 42161: "1.4", 10: "1.3", 137: "0", 130: "2", 59144: "13", 480: "1.3", 98866: "2",
		2818: "4", 57073: "2", 143: "0", 146: "0", 1329: "0", 999: "0", 1672: "0", 25: "0"}
	states := f.State()
	if len(states) != len(want) {
		t.Fatalf("got %d routes, want %d", len(states), len(want))
	}
	for i, s := range states {
		wantRate(t, f, s.Source, want[s.Source])
		if s.Rate.String() != want[s.Source] || s.Origin != cctp.BuiltIn || s.Age != 0 || s.Err != nil {
			t.Errorf("got %+v, want the built-in %s bps", s, want[s.Source])
		}
		if i > 0 && states[i-1].Source >= s.Source {
			t.Errorf("chain %s comes after %s", s.Source, states[i-1].Source)
		}
	}
	// Chains from which USDC is not burned.
	for _, source := range []chain.ID{1, 8453, 369, 56, chain.PrivacyEthereum, 0, 4} {
		wantRate(t, f, source, "100")
	}
}

func TestALiveRateIsAskedForOnceAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("1.25"))
		f, log := s.fees(t)
		start := time.Now()
		const kept = 4*time.Minute - time.Second // a second before it is asked for again
		for time.Since(start) < kept {
			wantRate(t, f, polygon, "1.25")
			time.Sleep(time.Second)
		}
		if got := s.asked(); len(got) != 1 || got[0] != "GET /hidden/v2/burn/USDC/fees/7/6" {
			t.Errorf("got requests %q, want one for the route of domain 7 to domain 6", got)
		}
		if got := state(t, f, polygon); got.Rate != bps(t, "1.25") || got.Origin != cctp.Live || got.Age != kept || got.Err != nil {
			t.Errorf("got %+v, want a live 1.25 bps of %s ago", got, kept)
		}
		if got := state(t, f, linea); got.Rate != bps(t, "13") || got.Origin != cctp.BuiltIn || got.Err != nil {
			t.Errorf("got %+v for a route nobody asked for", got)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none", log)
		}
	})
}

func TestConcurrentCallersShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, delay(500*time.Millisecond, charge("7")))
		f, _ := s.fees(t)
		var callers sync.WaitGroup
		for range 1000 {
			callers.Go(func() { wantRate(t, f, linea, "7") })
		}
		callers.Wait()
		if got := len(s.requests()); got != 1 {
			t.Errorf("got %d requests for 1000 callers, want 1", got)
		}
	})
}

func TestACallerWhoLeavesTakesNobodyAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, delay(500*time.Millisecond, charge("7")))
		f, _ := s.fees(t)
		start := time.Now()
		ctx, leave := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer leave()
		var other sync.WaitGroup
		other.Go(func() { wantRate(t, f, linea, "7") })
		if got := f.Rate(ctx, linea); got != bps(t, "13") || time.Since(start) != 100*time.Millisecond {
			t.Errorf("got %s bps after %s, want the built-in 13 when the context ended", got, time.Since(start))
		}
		other.Wait()
	})
}

func TestASlowServiceHoldsNobodyUpForMoreThanASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, delay(3*time.Second, charge("7")))
		f, _ := s.fees(t)
		ask := func(want string, wait time.Duration) {
			t.Helper()
			start := time.Now()
			wantRate(t, f, linea, want)
			if got := time.Since(start); got != wait {
				t.Errorf("waited %s, want %s", got, wait)
			}
		}
		ask("13", time.Second)
		ask("13", 0) // the second is counted from the first caller on
		time.Sleep(2 * time.Second)
		synctest.Wait()
		ask("7", 0)
		if got := len(s.requests()); got != 1 {
			t.Errorf("got %d requests, want 1", got)
		}
	})
}

func TestARouteInUseIsRefreshedBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("7"))
		f, _ := s.fees(t)
		start := time.Now()
		wantRate(t, f, linea, "7")
		wantRate(t, f, linea, "7") // asks for more than the first look-up
		s.become(delay(2*time.Second, charge("8")))

		time.Sleep(4*time.Minute + 3*time.Second)
		if got := s.requests(); len(got) != 2 || got[1].Sub(start) != 4*time.Minute {
			t.Fatalf("got requests at %v, want the second 4 minutes after the first", got)
		}
		now := time.Now()
		wantRate(t, f, linea, "8")
		if waited := time.Since(now); waited != 0 {
			t.Errorf("waited %s for a rate that was refreshed", waited)
		}
	})
}

func TestARouteOutOfUseIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("7"))
		f, log := s.fees(t)
		wantRate(t, f, linea, "7")
		s.become(charge("8"))
		time.Sleep(time.Hour)
		if got := len(s.requests()); got != 1 {
			t.Errorf("got %d requests, want 1", got)
		}
		wantOrigin(t, f, linea, cctp.LastGood, "") // idle, which is no failure
		wantRate(t, f, linea, "8")                 // the caller waits for the new rate rather than getting the old
		wantOrigin(t, f, linea, cctp.Live, "")
		if log.String() != "" {
			t.Errorf("got log %s, want none", log)
		}
	})
}

func TestARouteAskedForLateIsRefreshedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("7"))
		f, _ := s.fees(t)
		wantRate(t, f, linea, "7")
		s.become(charge("8"))
		time.Sleep(4*time.Minute + 30*time.Second)
		wantRate(t, f, linea, "7") // still fresh: nobody waits
		synctest.Wait()
		wantRate(t, f, linea, "8")
	})
}

// TestAnOldRateGivesWayToAHigherTable lets the service be down for days.
func TestAnOldRateGivesWayToAHigherTable(t *testing.T) {
	tests := []struct {
		name, live, day, later string
		origin                 cctp.Origin
		levels                 string
	}{
		{"the table is higher", "7", "7", "13", cctp.BuiltIn, "WARN WARN"},
		{"the last good rate is higher", "20", "20", "20", cctp.LastGood, "WARN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, charge(tt.live))
				f, log := s.fees(t)
				start := time.Now()
				wantRate(t, f, linea, tt.live)
				s.become(nil)
				for time.Since(start) < 24*time.Hour {
					wantRate(t, f, linea, tt.day)
					time.Sleep(time.Minute)
				}
				wantOrigin(t, f, linea, tt.origin, "unreachable")
				time.Sleep(5 * time.Minute)
				for range 1000 {
					wantRate(t, f, linea, tt.later)
					time.Sleep(time.Minute)
				}
				if got := log.levels(); got != tt.levels {
					t.Errorf("got %q in the log, want %q:\n%s", got, tt.levels, log)
				}
			})
		})
	}
}

func TestCloseEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		s := startService(t, charge("7"))
		f, log := s.fees(t)
		wantRate(t, f, linea, "7")
		s.become(hang)
		var waiting sync.WaitGroup
		waiting.Go(func() { wantRate(t, f, optimism, "1.3") })
		synctest.Wait()
		start := time.Now()
		f.Close()
		f.Close()
		waiting.Wait()

		wantRate(t, f, linea, "7")
		wantRate(t, f, optimism, "1.3")
		wantRate(t, f, polygon, "0")
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s after the end", waited)
		}
		time.Sleep(time.Hour)
		wantRate(t, f, linea, "7")
		if got := len(s.requests()); got != 2 {
			t.Errorf("got %d requests, want 2", got)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none: closing is no failure", log)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, address := range []string{"", "https://iris-api.circle.com", "http://127.0.0.1:8080/", "https://user:word@proxy.example/key/fees", "HTTPS://issuer.example"} {
		if err := (cctp.Config{FeeURL: address}).Validate(); err != nil {
			t.Errorf("%q: got %v", address, err)
		}
	}
	for _, address := range []string{"secret", "/secret", "secret.example", "//secret.example", "ftp://secret.example", "https://", "https:///secret", "https://:80",
		"https:secret", "https://secret.example?", "https://secret.example?key=1", "https://secret.example#top", "https://secret.example/%zz", "https://secret.example:port", " https://secret.example"} {
		cfg := cctp.Config{FeeURL: address}
		err := cfg.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "ISSUER_FEE_URL: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error that names the variable and not its value", address, err)
		}
		if _, err := cctp.New(cfg, chain.Settlement{}, slog.Default(), http.DefaultTransport); err == nil {
			t.Errorf("%q: made Fees of it", address)
		}
	}
}
