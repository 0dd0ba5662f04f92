package cctp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/testkit/journal"
)

func TestBuiltInTable(t *testing.T) {
	f := newIssuer(t, "", io.Discard, nil)
	f.Warm(t.Context())
	published := publishedFees(t)
	var want, got []chain.ID
	for _, pair := range chain.Pairs() {
		if pair.Route == chain.CCTPInbound {
			want = append(want, pair.Src)
		}
	}
	for _, s := range f.State() {
		got = append(got, s.Source)
		wantRate(t, f, s.Source, published[s.Source])
		wantOrigin(t, f, s.Source, fee.BuiltIn, "")
		if s.Age != 0 || s != f.Of(s.Source) {
			t.Errorf("got %+v and %+v", s, f.Of(s.Source))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got the sources %v, want %v", got, want)
	}
	// Chains from which USDC is not burned.
	for _, source := range []chain.ID{1, 8453, 369, 56, chain.PrivacyEthereum, 0, 4} {
		wantRate(t, f, source, "100")
	}
}

// publishedFees are the issuer's in basis points, by source.
func publishedFees(t *testing.T) map[chain.ID]string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/chains.json")
	if err != nil {
		t.Fatal(err)
	}
	var facts []struct {
		ChainID chain.ID
		CCTP    struct{ FastFeeBps json.Number }
	}
	if err := json.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	fees := map[chain.ID]string{}
	for _, f := range facts {
		fees[f.ChainID] = f.CCTP.FastFeeBps.String()
	}
	return fees
}

// TestLive: with a different fee for each domain, all rates are live from the start and are
// refreshed without being read.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		perDomain := func(w http.ResponseWriter, r *http.Request) {
			domain, dest := path.Split(strings.TrimPrefix(r.URL.Path, "/hidden/v2/burn/USDC/fees/"))
			if dest != "6" {
				t.Errorf("got a request for %s, want one for the settlement chain's domain 6", r.URL.Path)
			}
			charge(strings.TrimSuffix(domain, "/")+".25")(w, r)
		}
		s := startService(t, delayed(100*time.Millisecond, perDomain))
		start := time.Now()
		f, log := s.issuer(t)
		turns := (len(f.sources) + mostAtOnce - 1) / mostAtOnce
		if got := time.Since(start); got != time.Duration(turns)*100*time.Millisecond {
			t.Errorf("was warm after %s, want the time of %d lookups, four at once", got, len(f.sources))
		}
		for _, source := range f.sources {
			wantRate(t, f, source.chain, fmt.Sprintf("%d.25", source.domain))
			wantOrigin(t, f, source.chain, fee.Live, "")
		}
		paths, most := s.seen()
		once := slices.Compact(slices.Sorted(slices.Values(paths)))
		if len(once) != len(f.sources) || len(paths) != len(once) || most != 4 {
			t.Errorf("got %d at once of requests %q, want 4 at once and each source once", most, paths)
		}
		time.Sleep(9 * time.Minute)
		s.become(charge("8"))
		time.Sleep(time.Minute + time.Second)
		for _, source := range f.sources {
			wantRate(t, f, source.chain, "8")
		}
		if got := len(s.requests()); got != 11*len(f.sources) {
			t.Errorf("got %d requests in ten minutes, want 11 for each source", got)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none", log)
		}
	})
}

// TestWarm starts with failing services: Warm waits five seconds at most, less if its context
// ends, and not at all after Close.
func TestWarm(t *testing.T) {
	for name, test := range map[string]struct {
		behave http.HandlerFunc
		wait   time.Duration
		live   int
	}{
		"down":          {nil, 0, 0},
		"rate limiting": {fail(429), 0, 0},
		"hanging":       {hang, 5 * time.Second, 0},
		"slow":          {delayed(2*time.Second, charge("7")), 5 * time.Second, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				f, _ := startService(t, test.behave).issuer(t)
				wantWait := func(want time.Duration) {
					t.Helper()
					if got := time.Since(start); got != want {
						t.Errorf("waited %s, want %s", got, want)
					}
				}
				wantWait(test.wait)
				live := 0
				for _, s := range f.State() {
					if s.Origin == fee.Live {
						live++
					}
				}
				if live != test.live {
					t.Errorf("got %d live rates, want %d", live, test.live)
				}
				if name != "hanging" {
					return
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				f.Warm(ctx)
				wantWait(test.wait + time.Second)
				f.Close()
				f.Warm(t.Context())
				wantWait(test.wait + time.Second)
			})
		})
	}
}

// TestOutages starts in an outage, and has another after the service has recovered.
func TestOutages(t *testing.T) {
	const late, gone, noJSON = "timed out", "connection failed", "the answer is not the expected JSON"
	for name, test := range map[string]struct {
		behave http.HandlerFunc
		reason string
	}{
		"down":                     {nil, gone},
		"hanging":                  {hang, late},
		"slower than the timeout":  {delayed(6*time.Second, charge("77")), late},
		"trickling":                {trickle, late},
		"cut off":                  {cut, gone},
		"dropping the connection":  {drop, gone},
		"rate limiting":            {fail(429), "status 429: backing off for 5m0s"},
		"rate limiting for longer": {fail(429, "Retry-After: 420"), "status 429: backing off for 7m0s"},
		"rate limiting for ever":   {fail(429, "Retry-After: 99999999999999999999"), "status 429: backing off for 1h0m0s"},
		"broken":                   {fail(500), "status 500"},
		"not there":                {fail(404), "status 404"},
		"redirecting":              {fail(302, "Location: /v2/burn/USDC/fees/elsewhere"), "status 302"},
		"redirecting to nowhere":   {fail(302, "Location: http://%zz"), gone},
		"accepting":                {fail(202), "status 202"},
		"no rate":                  {say("<html>"), noJSON},
		"flooding":                 {flood, noJSON},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, test.behave)
				f, log := s.issuer(t)
				time.Sleep(time.Duration(len(f.sources)) * requestTimeout)
				wantRate(t, f, linea, "13")
				wantOrigin(t, f, linea, fee.BuiltIn, test.reason)

				s.become(charge("77"))
				untilLive(t, f)
				wantRate(t, f, linea, "77")
				s.become(test.behave)
				time.Sleep(5*time.Minute - f.Of(linea).Age - time.Nanosecond)
				wantRate(t, f, linea, "77")
				wantOrigin(t, f, linea, fee.Live, test.reason)
				time.Sleep(time.Nanosecond)
				wantOrigin(t, f, linea, fee.LastGood, test.reason)
				time.Sleep(5 * time.Minute)
				wantRate(t, f, linea, "77")

				s.become(charge("8"))
				untilLive(t, f)
				wantRate(t, f, linea, "8")
				synctest.Wait() // the log comes after the rate
				if got := levels(log, linea); got != "WARN INFO WARN INFO" {
					t.Errorf("got %q in the log, want each outage to begin and end once:\n%s", got, log)
				}
			})
		})
	}
}

func TestLongestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const answer = `[{"finalityThreshold":1000,"minimumFee":77}]`
		longest := strings.Repeat(" ", answerLimit-len(answer)) + answer
		s := startService(t, say(" "+longest))
		f, _ := s.issuer(t)
		wantOrigin(t, f, linea, fee.BuiltIn, "the answer is not the expected JSON")
		s.become(say(longest))
		untilLive(t, f)
		wantRate(t, f, linea, "77")
	})
}

// untilLive waits for the longest block and a refresh, at most.
func untilLive(t *testing.T, f *Issuer) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 62*time.Minute; time.Sleep(10 * time.Second) {
		if f.Of(linea).Origin == fee.Live {
			wantOrigin(t, f, linea, fee.Live, "")
			return
		}
	}
	t.Fatal("it did not become live again")
}

// TestFeesThatAreTooHigh: an implausible fee leaves the last good rate or the built-in one. If
// that is 0, TooHigh is set until the service reports a plausible fee.
func TestFeesThatAreTooHigh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("101"))
		f, _ := s.issuer(t)
		for i, step := range []struct {
			behave         http.HandlerFunc
			polygon, linea string
			tooHigh        bool // for polygon; the table has a fee for linea
		}{
			{charge("101"), "0", "13", true},
			{fail(500), "0", "13", true},
			{charge("4"), "4", "4", false},
			{charge("101"), "4", "4", false},
			{charge("0"), "0", "4", false}, // none for linea, which charges
			{charge("101"), "0", "4", true},
			{charge("100"), "100", "100", false},
		} {
			s.become(step.behave)
			time.Sleep(time.Minute)
			synctest.Wait()
			wantRate(t, f, polygon, step.polygon)
			wantRate(t, f, linea, step.linea)
			if got := f.Of(polygon).TooHigh; got != step.tooHigh || f.Of(linea).TooHigh {
				t.Errorf("step %d: too high is %v, want %v, and never for linea", i+1, got, step.tooHigh)
			}
		}
	})
}

// TestFeesThatAreTooLow: an implausible fee is a failure of the service. The last good rate
// serves, or the table; health and one line of the log say so.
func TestFeesThatAreTooLow(t *testing.T) {
	const reason = "the fee for threshold 1000 is below a quarter of the built-in rate"
	synctest.Test(t, func(t *testing.T) {
		s := startService(t, charge("0.13"))
		f, log := s.issuer(t)
		wantRate(t, f, linea, "13")
		wantOrigin(t, f, linea, fee.BuiltIn, reason)
		wantRate(t, f, polygon, "0.13") // free in the table, so that any fee is plausible
		s.become(charge("3.25"))
		untilLive(t, f)
		wantRate(t, f, linea, "3.25")
		s.become(charge("3.24"))
		time.Sleep(10 * time.Minute)
		wantRate(t, f, linea, "3.25")
		wantOrigin(t, f, linea, fee.LastGood, reason)
		time.Sleep(24 * time.Hour)
		wantRate(t, f, linea, "13")
		wantOrigin(t, f, linea, fee.BuiltIn, reason)
		if f.Of(linea).TooHigh {
			t.Error("a fee that is too low counts as too high")
		}
		if got := levels(log, linea); got != "WARN INFO WARN WARN" {
			t.Errorf("got %q in the log:\n%s", got, log)
		}
	})
}

// TestOldRates has no rate for a day: then the higher one of the last good rate and the
// table counts.
func TestOldRates(t *testing.T) {
	const blocked = "status 429: backing off for 1h0m0s"
	for name, test := range map[string]struct {
		live, later string
		origin      fee.Origin
		levels      string
	}{
		"the table is higher":          {"7", "13", fee.BuiltIn, "WARN WARN"},
		"the last good rate is higher": {"20", "20", fee.LastGood, "WARN"},
		"they are equal":               {"13", "13", fee.LastGood, "WARN"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, charge(test.live))
				f, log := s.issuer(t)
				wantRate(t, f, linea, test.live)
				s.become(fail(429, "Retry-After: 3600"))
				time.Sleep(24*time.Hour - time.Second)
				wantRate(t, f, linea, test.live)
				wantOrigin(t, f, linea, fee.LastGood, blocked)
				time.Sleep(time.Second)
				wantRate(t, f, linea, test.later)
				time.Sleep(time.Hour)
				wantRate(t, f, linea, test.later)
				wantOrigin(t, f, linea, test.origin, blocked)
				if got := levels(log, linea); got != test.levels {
					t.Errorf("got %q in the log, want %q:\n%s", got, test.levels, log)
				}
			})
		})
	}
}

// TestServiceIsSpared counts the requests in a quarter of an hour. There are none while the
// service blocks us; then each source is looked up again.
func TestServiceIsSpared(t *testing.T) {
	for name, test := range map[string]struct {
		behave http.HandlerFunc
		block  time.Duration
	}{
		"healthy":             {charge("7"), 0},
		"hanging":             {hang, 0},
		"down":                {nil, 0},
		"blocks":              {fail(429), 5 * time.Minute},
		"blocks for less":     {fail(429, "Retry-After: 10"), 5 * time.Minute},
		"blocks for longer":   {fail(429, "Retry-After: 900"), 15 * time.Minute},
		"blocks until a date": {fail(429, "Retry-After: Sat, 01 Jan 2000 00:15:00 GMT"), 15 * time.Minute},
		"blocks for a day":    {fail(429, "Retry-After: 86400"), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startService(t, test.behave)
				f, _ := s.issuer(t)
				before := len(s.requests())
				if test.block > 0 {
					s.become(charge("7"))
					time.Sleep(test.block - time.Nanosecond)
					if got := len(s.requests()); before > mostAtOnce || got != before {
						t.Errorf("got %d requests, and %d while blocked", before, got-before)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					for _, source := range f.sources {
						wantRate(t, f, source.chain, "7")
					}
					return
				}
				time.Sleep(15 * time.Minute)
				times := s.requests()
				each := len(f.sources)
				for i := each; i < len(times); i++ {
					if apart := times[i].Sub(times[i-each]); apart < time.Minute {
						t.Fatalf("%d requests within %s, want at most %d a minute", each+1, apart, each)
					}
				}
				if last := time.Since(times[len(times)-1]); last > 2*time.Minute {
					t.Errorf("the last request was %s ago: the service was forgotten", last)
				}
			})
		})
	}
}

// TestOneSourceFailsAlone: the others stay live.
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
				f, _ := s.issuer(t)
				for start := time.Now(); time.Since(start) < 10*time.Minute; time.Sleep(5 * time.Second) {
					for _, s := range f.State() {
						if s.Source != linea && (s.Origin != fee.Live || s.Age > time.Minute) {
							t.Fatalf("got %+v, want a live rate of the last minute", s)
						}
					}
				}
				wantRate(t, f, linea, "13")
			})
		})
	}
}

// broken is a transport whose responses make the client panic.
type broken struct{}

func (broken) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: broken{}, Request: r}, nil
}
func (broken) Read([]byte) (int, error) { panic("a bug") }
func (broken) Close() error             { return nil }

// A lookup that panics leaves the built-in rate, and is repeated.
func TestLookupThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := safego.Panics()
		f := newIssuer(t, "https://issuer.example", io.Discard, broken{})
		f.Warm(t.Context())
		time.Sleep(refreshEvery + time.Second)
		if got, want := safego.Panics()-before, uint64(2*len(f.sources)); got != want {
			t.Errorf("got %d panics, want %d", got, want)
		}
		wantRate(t, f, linea, "13")
	})
}

func TestCloseEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		s := startService(t, charge("7"))
		f, log := s.issuer(t)
		s.become(hang)
		time.Sleep(time.Minute + time.Second) // four requests hang, the other sources wait for their time
		start := time.Now()
		f.Close()
		f.Close()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s for the end", waited)
		}
		time.Sleep(time.Hour)
		wantRate(t, f, linea, "7")
		wantOrigin(t, f, linea, fee.LastGood, "")
		if got := len(s.requests()); got != len(f.sources)+4 {
			t.Errorf("got %d requests, want one for each source and 4", got)
		}
		if log.String() != "" {
			t.Errorf("got log %s, want none: closing is no failure", log)
		}
	})
}

// TestOverLoopback uses the transport of production. A rate, on the path of every quote of
// a burn, allocates nothing.
func TestOverLoopback(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, word, _ := r.BasicAuth()
		if user != "user" || word != "secret" || r.URL.Path != "/base/v2/burn/USDC/fees/11/6" {
			http.Error(w, "who is there?", http.StatusForbidden)
			return
		}
		charge("12.5")(w, r)
	}))
	address := strings.Replace(server.URL, "://", "://user:secret@", 1) + "/base"
	var log journal.Journal
	warm := func() *Issuer {
		f := newIssuer(t, address, &log, nil)
		for _, s := range f.sources { // on a busy machine that may take longer than Warm waits
			<-s.tried
		}
		f.Close()
		return f
	}
	f := warm()
	wantRate(t, f, linea, "12.5")
	wantOrigin(t, f, polygon, fee.BuiltIn, "status 403")
	if got := testing.AllocsPerRun(1000, func() { f.Of(linea) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
	server.Close()
	wantOrigin(t, warm(), polygon, fee.BuiltIn, "connection refused")
	if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, "refused") {
		t.Errorf("got log %s, want the reason and no secret", got)
	}
}

func TestConfig(t *testing.T) {
	for _, address := range []string{
		"", "https://iris-api.circle.com", "http://127.0.0.1:8080/", "https://user:word@proxy.example/key/fees",
		"HTTPS://issuer.example",
	} {
		if err := (Config{FeeURL: address}).Validate(); err != nil {
			t.Errorf("%q: got %v", address, err)
		}
	}
	for _, address := range []string{
		"secret", "/secret", "secret.example", "//secret.example", "ftp://secret.example", "https://",
		"https:///secret", "https://:80", "https:secret", "https://secret.example?", "https://secret.example?key=1",
		"https://secret.example#top", "https://secret.example/%zz", "https://secret.example:port",
		" https://secret.example",
	} {
		_, err := New(Config{FeeURL: address}, chain.Settlement{}, slog.Default(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "ISSUER_FEE_URL: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error that names the variable and not its value", address, err)
		}
	}
}
