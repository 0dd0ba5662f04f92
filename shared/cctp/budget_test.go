package cctp_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
)

// TestTheServiceIsSparedWhateverHappens asks for every source again and again
// for a quarter of an hour, and counts the requests that the service sees.
func TestTheServiceIsSparedWhateverHappens(t *testing.T) {
	tests := []struct {
		name   string
		behave http.HandlerFunc
	}{
		{"healthy", charge("7")},
		{"slow", delay(3*time.Second, charge("7"))},
		{"down", nil},
		{"hanging", hang},
		{"rate limiting for longer", fail(429, "Retry-After: 420")},
		{"malformed", say("<html>")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, tt.behave)
				f, log := s.fees(t)
				for start := time.Now(); time.Since(start) < 15*time.Minute; time.Sleep(5 * time.Second) {
					now := time.Now()
					for _, source := range sources() {
						f.Of(source)
					}
					if waited := time.Since(now); waited != 0 {
						t.Fatalf("waited %s for a rate", waited)
					}
				}
				times := s.requests()
				each := len(sources())
				for i := each; i < len(times); i++ {
					if apart := times[i].Sub(times[i-each]); apart < time.Minute {
						t.Fatalf("%d requests within %s, want at most %d a minute", each+1, apart, each)
					}
				}
				if last := time.Since(times[len(times)-1]); last > 8*time.Minute {
					t.Errorf("the last request was %s ago: the service was forgotten", last)
				}
				if _, most := s.asked(); most > 4 {
					t.Errorf("got %d requests at once, want at most 4", most)
				}
				for _, source := range sources() {
					if got := log.levels(source); got != "" && got != "WARN" {
						t.Errorf("chain %s: got %q in the log, want a line at most", source, got)
					}
				}
			})
		})
	}
}

// TestABlockIsWaitedOut makes sure that no source is looked up while the
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
				before := len(s.requests())
				if before > 4 {
					t.Errorf("got %d requests before the block was noticed, want at most 4", before)
				}
				s.become(charge("7"))
				time.Sleep(tt.pause - time.Nanosecond)
				if got := len(s.requests()); got != before {
					t.Errorf("got %d requests while blocked for %s", got-before, tt.pause)
				}
				for _, s := range f.State() {
					if s.Err == nil {
						t.Errorf("chain %s does not say that it is not looked up", s.Source)
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				for _, source := range sources() {
					wantRate(t, f, source, "7")
				}
			})
		})
	}
}

// TestTheLongestBlockCounts refuses four requests that are under way at once,
// the one with the longest block first.
func TestTheLongestBlockCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s := startService(t, func(w http.ResponseWriter, r *http.Request) {
			n := time.Duration(asked.Add(1))
			time.Sleep(time.Second + n*time.Millisecond)
			header := "Retry-After: 300"
			if n == 1 {
				header = "Retry-After: 900"
			}
			fail(429, header)(w, r)
		})
		f, _ := s.fees(t)
		before := len(s.requests())
		time.Sleep(14 * time.Minute)
		if got := len(s.requests()); got != before {
			t.Errorf("got %d requests within 14 minutes, want none for 15", got-before)
		}
		wantOrigin(t, f, linea, cctp.BuiltIn, "status 429: backing off for 15m0s")
	})
}

// TestOneSourceFailsAlone gives nonsense for one source, which must not keep
// the others from being live.
func TestOneSourceFailsAlone(t *testing.T) {
	for name, failing := range map[string]http.HandlerFunc{"nonsense": charge("-1"), "no answer": hang} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/hidden/v2/burn/USDC/fees/11/6" {
						failing(w, r)
						return
					}
					charge("7")(w, r)
				})
				f, _ := s.fees(t)
				for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(5 * time.Second) {
					for _, s := range f.State() {
						if s.Source != linea && (s.Origin != cctp.Live || s.Age > time.Minute) {
							t.Fatalf("got %+v, want a live rate of the last minute", s)
						}
					}
				}
				wantRate(t, f, linea, "13")
			})
		})
	}
}
