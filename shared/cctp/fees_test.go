package cctp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// state is that of one source.
func state(t testing.TB, f *cctp.Fees, source chain.ID) cctp.State {
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
	if got := f.Of(source).Rate; got.String() != text {
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
	f.Warm(t.Context())
	facts, err := referee.New("../..")
	if err != nil {
		t.Fatal(err)
	}
	want := map[chain.ID]string{}
	for _, source := range sources() {
		bps := facts.BuiltInBPS(uint64(source)).FloatString(1) // no published fee has more decimals
		want[source] = strings.TrimSuffix(bps, ".0")
	}
	states := f.State()
	if len(states) != len(want) {
		t.Fatalf("got %d sources, want %d", len(states), len(want))
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

// TestAllSourcesAreLiveFromTheStart makes the service charge its own fee for
// each domain.
func TestAllSourcesAreLiveFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, delay(100*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			domain, dest := path.Split(strings.TrimPrefix(r.URL.Path, "/hidden/v2/burn/USDC/fees/"))
			if dest != "6" {
				t.Errorf("got a request for %s, want one for the settlement chain's domain 6", r.URL.Path)
			}
			charge(strings.TrimSuffix(domain, "/")+".25")(w, r)
		}))
		start := time.Now()
		f, log := s.fees(t)
		if got := time.Since(start); got != time.Duration(turns())*100*time.Millisecond {
			t.Errorf("was warm after %s, want the time of %d look-ups, four at once", got, len(sources()))
		}
		for _, source := range sources() {
			network, _ := chain.FindNetwork(source)
			wantRate(t, f, source, fmt.Sprintf("%d.25", network.CCTP.Domain))
			wantOrigin(t, f, source, cctp.Live, "")
		}
		paths, most := s.asked()
		slices.Sort(paths)
		if once := slices.Compact(slices.Clone(paths)); len(once) != len(sources()) || len(paths) != len(sources()) || most != 4 {
			t.Errorf("got %d at once of requests %q, want 4 at once and each source once", most, paths)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none", log)
		}
	})
}

// TestWarmIsBounded starts with services that are not well.
func TestWarmIsBounded(t *testing.T) {
	tests := []struct {
		name   string
		behave http.HandlerFunc
		wait   time.Duration
		live   int
	}{
		{"down", nil, 0, 0},
		{"rate limiting", fail(429), 0, 0},
		{"trickling", trickle, 5 * time.Second, 0},
		{"slow", delay(2*time.Second, charge("7")), 5 * time.Second, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, tt.behave)
				start := time.Now()
				f, _ := s.fees(t)
				if got := time.Since(start); got != tt.wait {
					t.Errorf("waited %s, want %s", got, tt.wait)
				}
				live := 0
				for _, s := range f.State() {
					if s.Origin == cctp.Live {
						live++
					}
				}
				if live != tt.live {
					t.Errorf("got %d live rates, want %d", live, tt.live)
				}
			})
		})
	}
}

func TestWarmEndsWithItsContextAndWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := startService(t, hang).fees(t) // has waited for the first four
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		f.Warm(ctx)
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %s, want the second of the context", got)
		}
		f.Close()
		f.Warm(t.Context())
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %s after Close", got-time.Second)
		}
	})
}

// TestRatesAreRenewedThoughNobodyAsks looks at the tenth minute.
func TestRatesAreRenewedThoughNobodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("7"))
		f, log := s.fees(t)
		time.Sleep(9 * time.Minute)
		s.become(charge("8"))
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, source := range sources() {
			wantRate(t, f, source, "8")
			if got := state(t, f, source); got.Origin != cctp.Live || got.Age != 0 {
				t.Errorf("got %+v, want a live rate of this moment", got)
			}
		}
		if got := len(s.requests()); got != 11*len(sources()) {
			t.Errorf("got %d requests in ten minutes, want 11 for each source", got)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none", log)
		}
	})
}

// TestAnOldRateGivesWayToAHigherTable has no rate for a day. Few requests are made while the service blocks us.
func TestAnOldRateGivesWayToAHigherTable(t *testing.T) {
	const blocked = "status 429: backing off for 1h0m0s"
	tests := []struct {
		name, live, later string
		origin            cctp.Origin
		levels            string
	}{
		{"the table is higher", "7", "13", cctp.BuiltIn, "WARN WARN"},
		{"the last good rate is higher", "20", "20", cctp.LastGood, "WARN"},
		{"they are equal", "13", "13", cctp.LastGood, "WARN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, charge(tt.live))
				f, log := s.fees(t)
				wantRate(t, f, linea, tt.live)
				s.become(fail(429, "Retry-After: 3600"))
				time.Sleep(24*time.Hour - time.Second)
				wantRate(t, f, linea, tt.live)
				wantOrigin(t, f, linea, cctp.LastGood, blocked)
				time.Sleep(time.Second)
				wantRate(t, f, linea, tt.later)
				time.Sleep(time.Hour)
				wantRate(t, f, linea, tt.later)
				wantOrigin(t, f, linea, tt.origin, blocked)
				if got := log.levels(linea); got != tt.levels {
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
		s.become(hang)
		time.Sleep(time.Minute + time.Second) // four requests hang, twelve sources wait for their turn
		start := time.Now()
		f.Close()
		f.Close()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s for the end", waited)
		}
		wantOrigin(t, f, linea, cctp.Live, "")
		time.Sleep(time.Hour)
		wantRate(t, f, linea, "7")
		wantOrigin(t, f, linea, cctp.LastGood, "")
		if got := len(s.requests()); got != len(sources())+4 {
			t.Errorf("got %d requests, want one for each source and 4", got)
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
