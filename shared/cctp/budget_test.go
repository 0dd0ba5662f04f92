package cctp_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
)

// TestTheServiceIsSparedWhateverHappens asks for every route again and again
// for two hours, and counts the requests that come of it.
func TestTheServiceIsSparedWhateverHappens(t *testing.T) {
	tests := []struct {
		name   string
		behave http.HandlerFunc
	}{
		{"healthy", charge("7")},
		{"slow", delay(3*time.Second, charge("7"))},
		{"down", nil},
		{"hanging", hang},
		{"broken", fail(500)},
		{"rate limiting", fail(429)},
		{"rate limiting for longer", fail(429, "Retry-After: 420")},
		{"dropping the connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"malformed", say("<html>")},
		{"absurd", charge("101")},
		{"flooding", flood},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, tt.behave)
				f, log := s.fees(t)
				for start := time.Now(); time.Since(start) < 2*time.Hour; time.Sleep(5 * time.Second) {
					for _, source := range sources() {
						f.Rate(t.Context(), source)
					}
				}
				times := s.requests()
				const most = 6
				for i := most; i < len(times); i++ {
					if apart := times[i].Sub(times[i-most]); apart < time.Minute {
						t.Fatalf("%d requests within %s, want at most %d a minute", most+1, apart, most)
					}
				}
				if len(times) < 2 {
					t.Errorf("got %d requests in two hours: the service was forgotten", len(times))
				}
				if lines := len(log.levels()); lines > len(sources())*len("WARN ") {
					t.Errorf("got more than a line a route:\n%s", log)
				}
			})
		})
	}
}

// TestAColdStart asks for all routes at once: as many as the budget has are
// looked up, and nobody waits for the others, which follow in their turn.
func TestAColdStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, delay(100*time.Millisecond, charge("7")))
		f, log := s.fees(t)
		start := time.Now()
		var callers sync.WaitGroup
		for _, source := range sources() {
			callers.Go(func() { f.Rate(t.Context(), source) })
		}
		callers.Wait()
		if got := time.Since(start); got != 600*time.Millisecond {
			t.Errorf("all were answered after %s, want the 600 ms of six look-ups", got)
		}
		live := func() (n int) {
			for _, s := range f.State() {
				if s.Origin == cctp.Live && s.Rate == bps(t, "7") {
					n++
				}
			}
			return n
		}
		for _, want := range []int{6, 12, 16} {
			if got := live(); got != want {
				t.Errorf("got %d live routes after %s, want %d", got, time.Since(start), want)
			}
			time.Sleep(61 * time.Second)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none: waiting for one's turn is no failure", log)
		}
	})
}

// TestABlockIsWaitedOut makes sure that no route is looked up while the
// service blocks us, also one that was never looked up before.
func TestABlockIsWaitedOut(t *testing.T) {
	tests := []struct {
		name   string
		behave http.HandlerFunc
		pause  time.Duration
	}{
		{"no word on how long", fail(429), 5 * time.Minute},
		{"less than it takes", fail(429, "Retry-After: 10"), 5 * time.Minute},
		{"longer", fail(429, "Retry-After: 900"), 15 * time.Minute},
		{"longer, as a date", fail(429, "Retry-After: Sat, 01 Jan 2000 00:15:00 GMT"), 15 * time.Minute},
		{"for a day", fail(429, "Retry-After: 86400"), time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, tt.behave)
				f, _ := s.fees(t)
				start := time.Now()
				wantRate(t, f, linea, "13")
				s.become(charge("7"))
				for time.Since(start) < tt.pause {
					now := time.Now()
					for _, source := range sources() {
						f.Rate(t.Context(), source)
					}
					if waited := time.Since(now); waited != 0 {
						t.Fatalf("waited %s while blocked", waited)
					}
					if got := len(s.requests()); got != 1 {
						t.Fatalf("got a request after %s, want none for %s", time.Since(start), tt.pause)
					}
					if got := state(t, f, optimism).Err; got == nil {
						t.Fatal("a route that is not looked up for the block does not say so")
					}
					time.Sleep(time.Second)
				}
				synctest.Wait()
				for range 3 {
					time.Sleep(time.Minute)
					synctest.Wait()
				}
				for _, source := range sources() {
					wantRate(t, f, source, "7")
				}
			})
		})
	}
}

// TestOneRouteFailsAlone gives nonsense for one route, which must not keep the
// others from being live.
func TestOneRouteFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hidden/v2/burn/USDC/fees/11/6" {
				charge("-1")(w, r)
				return
			}
			charge("7")(w, r)
		})
		f, _ := s.fees(t)
		for start := time.Now(); time.Since(start) < time.Hour; time.Sleep(time.Second) {
			for _, source := range sources() {
				f.Rate(t.Context(), source)
				if age := state(t, f, source).Age; age >= 5*time.Minute {
					t.Fatalf("chain %s was not refreshed for %s", source, age)
				}
			}
		}
		for _, source := range sources() {
			want := "7"
			if source == linea {
				want = "13"
			}
			wantRate(t, f, source, want)
		}
	})
}
