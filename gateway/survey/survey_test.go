package survey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/shared/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func name(r *http.Request) string { return caller.From(r, netip.Addr{}).Identity().String() }

// successor refuses what a newer version refuses.
func successor(_ context.Context, rawQuery string) error {
	q, err := url.ParseQuery(rawQuery)
	switch {
	case err != nil:
		return fault.New(fault.InvalidParameter, "not a query")
	case q.Get("boom") != "":
		panic("boom")
	case q.Get("down") != "":
		return fault.New(fault.IntegratorUnverified, "not now")
	case q.Get("amount") == "0":
		return fmt.Errorf("quote: %w", fault.New(fault.InvalidAmount, "zero").On("amount"))
	case q.Get("pair") == "bad":
		return fault.New(fault.UnsupportedPair, "Unsupported swap pair")
	case !q.Has("recipient"):
		return fault.New(fault.MissingParameter, "The recipient is missing").On("recipient")
	}
	return nil
}

// door serves an old version, /v1/quote, under survey, through real HTTP.
type door struct {
	t      *testing.T
	survey *survey.Survey
	server *httptest.Server
}

func open(t *testing.T, o survey.Options, try survey.Try) *door {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &door{t: t, survey: survey.New(o)}
	router := chi.NewRouter()
	router.Use(asking(d.survey.Subject("v1", "v3", try)))
	router.Get("/v1/quote", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("answer") {
		case "400":
			w.WriteHeader(http.StatusBadRequest)
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		case "empty":
		case "flushed":
			fmt.Fprint(w, "{}")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flushing through the survey: %v", err)
			}
		default:
			fmt.Fprint(w, "{}")
		}
	})
	router.Head("/v1/quote", func(w http.ResponseWriter, r *http.Request) {})
	d.server = httptest.NewServer(router)
	t.Cleanup(func() { d.finish() })
	return d
}

// asking asks about every GET that was answered with success.
func asking(s *survey.Subject) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			watched := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			next.ServeHTTP(watched, r)
			status := watched.Status() // 0: nothing was written, which net/http sends as 200
			if r.Method == http.MethodGet && (status == 0 || status/100 == 2) {
				s.Ask(name(r), r.URL.RawQuery)
			}
		})
	}
}

func (d *door) ask(method, query, origin string) int {
	d.t.Helper()
	req, err := http.NewRequest(method, d.server.URL+"/v1/quote?"+query, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	res, err := d.server.Client().Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// finish lets every request and every trial end, and gives the findings.
func (d *door) finish() survey.Version {
	d.server.Close()
	d.survey.Close(context.Background())
	return d.survey.Report().Versions[0]
}

// The sentence an operator decides by.
func TestSummary(t *testing.T) {
	d := open(t, survey.Options{Queue: 1000}, successor)
	for i := range 94 {
		d.ask(http.MethodGet, "recipient=0x1", fmt.Sprintf("https://fine%d.example", i%7))
	}
	for i := range 6 {
		d.ask(http.MethodGet, "amount=1", fmt.Sprintf("https://late%d.example", i%3))
	}
	got := d.finish()
	want := "94 % of v1 calls work on v3 with a new URL; 3 clients omit recipient: " +
		"origin https://late0.example, origin https://late1.example, origin https://late2.example"
	if got.Summary != want {
		t.Errorf("got  %s\nwant %s", got.Summary, want)
	}
	if got.Works != 94 || got.Fails != 6 || got.Unknown != 0 || got.Dropped != 0 || len(got.Clients) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestReport(t *testing.T) {
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	d := open(t, survey.Options{Workers: 1, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil))}, successor)
	for _, c := range []struct{ query, origin string }{
		{"recipient=0x1", "https://a.example"}, // before its first failure: counted for the version alone
		{"amount=1", "https://a.example"},
		{"amount=1", "https://a.example"},
		{"recipient=0x1&amount=0", "https://a.example"},
		{"recipient=0x1", "https://a.example"},
		{"recipient=0x1&pair=bad", "https://b.example"},
		{"recipient=0x1&down=1", "https://a.example"},
		{"boom=1", "https://c.example"},
		{"answer=400", "https://d.example"},
		{"answer=500", "https://d.example"},
		{"answer=empty&recipient=0x1", "https://e.example"},
		{"answer=flushed&recipient=0x1", "https://e.example"},
		{"recipient=" + strings.Repeat("1", 3_000), "https://e.example"},
	} {
		d.ask(http.MethodGet, c.query, c.origin)
	}
	d.ask(http.MethodHead, "amount=1", "https://d.example")
	got, err := json.MarshalIndent(d.finish(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "version": "v1",
 "successor": "v3",
 "summary": "50 % of v1 calls work on v3 with a new URL; 1 client omits recipient: origin https://a.example; 1 client sends a value of amount that v3 refuses (INVALID_AMOUNT): origin https://a.example; 1 client gets UNSUPPORTED_PAIR: origin https://b.example (1 call was not tried, 2 trials failed on our side)",
 "since": "2027-01-01T12:00:00Z",
 "works": 4,
 "fails": 4,
 "unknown": 2,
 "dropped": 1,
 "reasons": [
  {
   "reason": "MISSING_PARAMETER recipient",
   "calls": 2
  },
  {
   "reason": "INVALID_AMOUNT amount",
   "calls": 1
  },
  {
   "reason": "UNSUPPORTED_PAIR",
   "calls": 1
  }
 ],
 "clients": [
  {
   "client": "origin https://a.example",
   "works": 1,
   "fails": 3,
   "reasons": [
    {
     "reason": "MISSING_PARAMETER recipient",
     "calls": 2
    },
    {
     "reason": "INVALID_AMOUNT amount",
     "calls": 1
    }
   ]
  },
  {
   "client": "origin https://b.example",
   "works": 0,
   "fails": 1,
   "reasons": [
    {
     "reason": "UNSUPPORTED_PAIR",
     "calls": 1
    }
   ]
  }
 ],
 "forgotten": 0
}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(log.String(), "boom") {
		t.Errorf("a panic in a trial left no trace in the log: %s", log.String())
	}
}

func TestNothingKnownYet(t *testing.T) {
	d := open(t, survey.Options{}, successor)
	if got, want := d.finish().Summary, "no v1 call is known to work or to fail on v3 yet"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A client is blamed for its request and for nothing else, for every code.
func TestWhatCountsAsAFailure(t *testing.T) {
	unknown := map[fault.Code]bool{
		fault.IntegratorUnverified: true, fault.NotFound: true, fault.MethodNotAllowed: true,
		fault.VersionBrownout: true, fault.VersionRetired: true, fault.RateLimited: true, fault.Internal: true,
	}
	outcomes := map[string]error{"foreign": errors.New("dial tcp"), "canceled": context.Canceled, "made up": fault.New("MADE_UP", "x")}
	for _, code := range fault.Codes() {
		outcomes[string(code)] = fault.New(code, "x")
	}
	for name, err := range outcomes {
		d := open(t, survey.Options{}, func(context.Context, string) error { return err })
		d.ask(http.MethodGet, "", "")
		got := d.finish()
		wantUnknown := uint64(1)
		if e := new(fault.Error); errors.As(err, &e) && !unknown[e.Code] && e.Code != "MADE_UP" {
			wantUnknown = 0
		}
		if got.Unknown != wantUnknown || got.Fails != 1-wantUnknown || got.Works != 0 {
			t.Errorf("%s: got %d unknown and %d failures, want %d and %d", name, got.Unknown, got.Fails, wantUnknown, 1-wantUnknown)
		}
	}
}

// Trials that hang hold up no answer: the queue fills, and the rest is dropped.
func TestAFullQueueDrops(t *testing.T) {
	started, release := make(chan struct{}, 1), make(chan struct{})
	d := open(t, survey.Options{Workers: 1, Queue: 4, Timeout: time.Hour}, func(ctx context.Context, _ string) error {
		select {
		case started <- struct{}{}:
		default:
		}
		<-release
		return nil
	})
	d.ask(http.MethodGet, "", "")
	<-started // the one worker is busy from here on
	for range 20 {
		if got := d.ask(http.MethodGet, "", ""); got != http.StatusOK {
			t.Fatalf("got %d", got)
		}
	}
	if got := d.survey.Report().Versions[0].Dropped; got != 16 {
		t.Errorf("%d calls were dropped, want 16 of 20 with room for 4", got)
	}
	close(release)
	got := d.finish()
	if got.Works != 5 || got.Dropped != 16 || !strings.HasSuffix(got.Summary, "(16 calls were not tried)") {
		t.Errorf("got %+v", got)
	}
}

// Close gives up what waits when its context is over, and leaves nothing
// running, which goleak checks.
func TestCloseDropsWhenItMust(t *testing.T) {
	started := make(chan struct{}, 1)
	d := open(t, survey.Options{Workers: 1, Timeout: time.Hour}, func(ctx context.Context, _ string) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	for range 5 {
		d.ask(http.MethodGet, "", "")
	}
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.survey.Close(ctx)
	d.survey.Close(ctx) // again is harmless
	d.ask(http.MethodGet, "", "")
	if got := d.finish(); got.Unknown != 1 || got.Dropped != 5 {
		t.Errorf("got %d unknown and %d dropped, want the running one and the others", got.Unknown, got.Dropped)
	}
}

func TestATrialHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := survey.New(survey.Options{})
		subject := s.Subject("v1", "v3", func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		})
		begin := time.Now()
		subject.Ask("somebody", "")
		s.Close(t.Context())
		if got := time.Since(begin); got != 2*time.Second {
			t.Errorf("a trial that hangs took %v, want 2s", got)
		}
		if got := s.Report().Versions[0].Unknown; got != 1 {
			t.Errorf("got %d of unknown outcome, want 1", got)
		}
	})
}

// What was found is forgotten after a day or two.
func TestFindingsAge(t *testing.T) {
	begin := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	var clock atomic.Pointer[time.Time]
	set := func(d time.Duration) { now := begin.Add(d); clock.Store(&now) }
	set(0)
	trying := make(chan error)
	s := survey.New(survey.Options{Workers: 1, Now: func() time.Time { return *clock.Load() }})
	defer s.Close(context.Background())
	subject := s.Subject("v1", "v3", func(context.Context, string) error { return <-trying })
	ask := func(outcome error) {
		subject.Ask("origin https://a.example", "")
		trying <- outcome
		// The one worker takes up the next call only when this one is counted.
		subject.Ask("origin https://a.example", "")
		trying <- errors.New("of no account")
	}
	check := func(works, fails uint64, clients int, since time.Duration) {
		t.Helper()
		got := s.Report().Versions[0]
		if got.Works != works || got.Fails != fails || len(got.Clients) != clients || !got.Since.Equal(begin.Add(since)) {
			t.Errorf("at %s: got %+v", clock.Load(), got)
		}
	}
	missing := fault.New(fault.MissingParameter, "x").On("recipient")
	ask(missing)
	check(0, 1, 1, 0)
	set(23 * time.Hour)
	ask(missing)
	check(0, 2, 1, 0)
	set(25 * time.Hour)
	ask(missing)
	ask(nil)
	check(1, 3, 1, 0)
	if got := s.Report().Versions[0].Clients[0]; got.Fails != 3 || got.Works != 1 {
		t.Errorf("got %+v, want both days of the client together", got)
	}
	set(50 * time.Hour)
	check(1, 1, 1, 25*time.Hour)
	set(200 * time.Hour)
	check(0, 0, 0, 200*time.Hour)
}
