package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
)

const token = "a-token-of-some-length"

// reporter gives the same report to everyone.
type reporter struct {
	report evidence.Report
	err    error
}

func (r reporter) Report(context.Context, evidence.Query) (evidence.Report, error) {
	return r.report, r.err
}

func (r reporter) WriteCSV(_ context.Context, _ evidence.Query, out io.Writer) error {
	if r.err == nil {
		_, _ = io.WriteString(out, "version,client\nv1,origin https://a.example\n")
	}
	return r.err
}

func (r reporter) Traffic(context.Context, evidence.Query, string) ([]evidence.Traffic, error) {
	return nil, r.err
}

func (r reporter) Simulate(context.Context, *lifecycle.Plan) (evidence.Simulation, error) {
	return evidence.Simulation{}, r.err
}

// rig is an admin listener with something at every path.
type rig struct {
	*httptest.Server
	level    slog.LevelVar
	log      bytes.Buffer
	draining atomic.Bool
}

func serve(t *testing.T, token string) *rig {
	t.Helper()
	r := &rig{}
	handler := slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: &r.level})
	r.Server = httptest.NewUnstartedServer(Handler(Options{
		Token: token,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				http.Error(w, "bad scrape", http.StatusBadRequest)
				return
			}
			_, _ = io.WriteString(w, "up 1\n")
		}),
		Versions: []string{"v3", "v1"},
		Usage:    reporter{report: evidence.Report{Clients: []evidence.Client{{Client: "origin https://a.example", Sum: evidence.Sum{Calls7: 7}}}}},
		Plan: func() lifecycle.Snapshot { // which JSON cannot hold
			return lifecycle.Snapshot{Plan: &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{"v1": {Brownouts: []lifecycle.Brownout{{Share: math.NaN()}}}}}}
		},
		Ready: func() error {
			if r.draining.Load() {
				return errors.New("draining")
			}
			return nil
		},
		Health: func() []Table { return nil },
		Level:  &r.level,
		Log:    slog.New(handler),
	}))
	r.Config.WriteTimeout = time.Minute
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// ask sends a request; headers come in pairs, of which Host is special.
func (r *rig) ask(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := r.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestEndpoints(t *testing.T) {
	r := serve(t, "")
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string // within the answer
	}{
		{"GET", "/", "", 200, `"/admin/usage": "who still calls which version; `},
		{"GET", "/livez", "", 200, `"status": "alive"`},
		{"GET", "/readyz", "", 200, `"status": "ready"`},
		{"GET", "/metrics", "", 200, "up 1\n"},
		{"GET", "/metrics?bad", "", 400, `"error": "bad scrape"`},
		{"GET", "/admin/usage", "", 200, `"calls7": 7`},
		{"GET", "/admin/usage?version=v9", "", 400, `version \"v9\" is none of v3, v1`},
		{"GET", "/admin/usage?colour=red", "", 400, `\"colour\" is not a parameter; there are version, `},
		{"GET", "/admin/usage.csv?page=0", "", 400, `page \"0\" is not a number from 1`},
		{"GET", "/admin/usage.csv", "", 200, "\nv1,origin https://a.example\n"},
		{"GET", "/admin/lifecycle", "", 500, `"error": "Internal error. This cannot be encoded as JSON."`},
		{"GET", "/admin/log-level", "", 200, `"level": "info"`},
		{"GET", "/debug/pprof/", "", 200, "goroutine"},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, "goroutine profile"},
		{"GET", "/debug/pprof/heap", "", 200, ""},
		{"GET", "/debug/pprof/cmdline", "", 200, "admin.test"},
		{"GET", "/debug/pprof/nonsense", "", 404, `"error":`},
		{"GET", "/debug/pprof/profile?seconds=3600", "", 400, `"error": "seconds must be`},
		{"GET", "/debug/pprof/trace?seconds=NaN", "", 400, `"error": "seconds must be`},
		{"GET", "/debug/pprof/trace?seconds=0.01", "", 200, "go 1."},
		{"GET", "/nothing", "", 404, `"error": "Not found. / lists all paths."`},
		{"GET", "/admin/usage/", "", 404, `"error":`},
		{"GET", "/debug/pprof", "", 404, `"error": "Not found`},
		{"GET", "//metrics", "", 404, `"error": "Not found`},
		{"POST", "/admin/../metrics", "", 404, `"error": "Not found`},
		{"POST", "/nothing", "", 404, `"error": "Not found`},
		{"HEAD", "/metrics", "", 200, ""},
		{"HEAD", "/admin/log-level", "", 200, ""},
		{"POST", "/", "", 405, `"error": "Method not allowed. Use GET or HEAD."`},
		{"POST", "/metrics", "", 405, `"error": "Method not allowed. Use GET or HEAD."`},
		{"DELETE", "/admin/log-level", "", 405, `"error": "Method not allowed. Use GET or HEAD or PUT."`},
		{"PUT", "/admin/log-level", "loud", 400, `"error": "Send debug, info, warn or error"`},
		{"PUT", "/admin/log-level", "", 400, `"error":`},
		{"PUT", "/admin/log-level", strings.Repeat("debug", 1000), 400, `"error":`},
	} {
		status, body, header := r.ask(t, test.method, test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s: got %d %.200s, want %d with %s", test.method, test.path, status, body, test.status, test.want)
		}
		if status >= 400 {
			if header.Get("Content-Type") != "application/json" || !json.Valid([]byte(body)) {
				t.Errorf("%s %s: got the error %s as %s, want JSON", test.method, test.path, body, header.Get("Content-Type"))
			}
		}
	}
	for path, want := range map[string]string{"/metrics": "GET, HEAD", "/admin/log-level": "GET, HEAD, PUT"} {
		if _, _, header := r.ask(t, "POST", path, ""); header.Get("Allow") != want {
			t.Errorf("%s: got Allow %q, want %s", path, header.Get("Allow"), want)
		}
	}
	_, list, _ := r.ask(t, "GET", "/", "")
	var about map[string]string
	if err := json.Unmarshal([]byte(list), &about); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/livez", "/readyz", "/metrics", "/admin/usage", "/admin/lifecycle", "/admin/log-level",
		"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/profile", "/debug/pprof/symbol", "/debug/pprof/trace", "/debug/pprof/heap"} {
		if about[path] == "" {
			t.Errorf("the list lacks %s:\n%s", path, list)
		}
	}
}

func TestCPUProfileIsTakenOneAtATime(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it takes a profile for seconds; make test-all runs it")
	}
	r := serve(t, "")
	const at = 3
	answers := make(chan string, at)
	for range at {
		go func() {
			res, err := r.Client().Get(r.URL + "/debug/pprof/profile?seconds=1")
			if err != nil {
				answers <- err.Error()
				return
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			switch {
			case err != nil:
				answers <- err.Error()
			case res.StatusCode == 200 && bytes.HasPrefix(body, []byte("\x1f\x8b")), // gzip, as profiles are
				res.StatusCode == 500 && json.Valid(body) && bytes.Contains(body, []byte("CPU profiling")):
				answers <- ""
			default:
				answers <- res.Status + " " + string(body)
			}
		}()
	}
	for range at {
		if wrong := <-answers; wrong != "" {
			t.Errorf("got %s, want a profile, or in JSON why there is none", wrong)
		}
	}
}

func TestToken(t *testing.T) {
	for name, headers := range map[string][]string{
		"none":          nil,
		"empty":         {"Authorization", "Bearer "},
		"wrong":         {"Authorization", "Bearer a-token-of-some-lengtH"},
		"longer":        {"Authorization", "Bearer " + token + "x"},
		"a part":        {"Authorization", "Bearer " + token[:10]},
		"another kind":  {"Authorization", "Basic " + token},
		"without kind":  {"Authorization", token},
		"in the cookie": {"Cookie", "Authorization=Bearer " + token},
	} {
		r := serve(t, token)
		for _, path := range []string{"/", "/metrics", "/admin/usage", "/admin/lifecycle", "/admin/log-level", "/debug/pprof/", "/debug/pprof/heap", "/nothing"} {
			status, body, header := r.ask(t, "GET", path, "", headers...)
			if status != 401 || !json.Valid([]byte(body)) || header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s, %s: got %d %s, want 401 in JSON", name, path, status, body)
			}
		}
		if status, _, _ := r.ask(t, "PUT", "/admin/log-level", "debug", headers...); status != 401 || r.level.Level() != slog.LevelInfo {
			t.Errorf("%s: got %d, and the level is %v", name, status, r.level.Level())
		}
		for _, probe := range []string{"/livez", "/readyz"} {
			if status, _, _ := r.ask(t, "GET", probe, "", headers...); status != 200 {
				t.Errorf("%s, %s: got %d, want 200 without a token", name, probe, status)
			}
		}
		if strings.Contains(r.log.String(), token[:8]) {
			t.Errorf("%s: the log shows a token:\n%s", name, r.log.String())
		}
		if !strings.Contains(r.log.String(), "without the token") {
			t.Errorf("%s: the log does not tell of the attempts:\n%s", name, r.log.String())
		}
	}
	r := serve(t, token)
	for _, good := range []string{"Bearer " + token, "bearer  " + token} {
		if status, body, _ := r.ask(t, "GET", "/admin/usage", "", "Authorization", good, "Host", "gateway.internal"); status != 200 {
			t.Errorf("%q: got %d %s, want 200", good, status, body)
		}
	}
}

// TestWrongTokensAreLimited: nobody guesses without a limit, or fills the log by it. The
// right token always passes.
func TestWrongTokensAreLimited(t *testing.T) {
	const guesses = 200
	r := serve(t, token)
	began := time.Now()
	answers := map[int]int{}
	for n := range guesses {
		status, body, header := r.ask(t, "GET", "/", "", "Authorization", "Bearer guess-"+strconv.Itoa(n))
		answers[status]++
		limited := status == http.StatusTooManyRequests
		if !json.Valid([]byte(body)) || (header.Get("Retry-After") != "") != limited {
			t.Fatalf("guess %d: got %d, %s and %v", n+1, status, body, header)
		}
	}
	minutes := int(time.Since(began)/time.Minute) + 2 // httprate counts each by itself
	if answers[401] < 30 || answers[401] > 30*minutes || answers[401]+answers[429] != guesses {
		t.Errorf("got answers %v, want 30 times 401 a minute, and else 429", answers)
	}
	if status, _, _ := r.ask(t, "GET", "/", "", "Authorization", "Bearer "+token); status != http.StatusOK {
		t.Errorf("the right token: got %d", status)
	}
	lines := strings.Count(r.log.String(), "without the token")
	if most := 20 * (int(time.Since(began)/time.Second) + 2); lines > most {
		t.Errorf("got %d lines for %d guesses, want %d at most", lines, guesses, most)
	}
	time.Sleep(1100 * time.Millisecond)
	r.ask(t, "GET", "/", "")
	unlogged := 0
	for _, match := range regexp.MustCompile(`unlogged"?[=:](\d+)`).FindAllStringSubmatch(r.log.String(), -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		unlogged += n
	}
	if lines = strings.Count(r.log.String(), "without the token"); lines+unlogged != guesses+1 {
		t.Errorf("got %d lines that tell of %d more, want %d together", lines, unlogged, guesses+1)
	}
}

// TestForeignNames: a page in the operator's browser can make a name of its
// own stand for 127.0.0.1 and read the answers.
func TestForeignNames(t *testing.T) {
	r := serve(t, "")
	for host, want := range map[string]int{
		"localhost":          200,
		"localhost:9090":     200,
		"127.0.0.1:1234":     200,
		"127.9.9.9":          200,
		"[::1]:9090":         200,
		"[::1]":              200,
		"evil.example":       403,
		"evil.example:9090":  403,
		"192.0.2.1:9090":     403,
		"localhost.evil":     403,
		"127.0.0.1.nip.evil": 403,
	} {
		status, body, _ := r.ask(t, "GET", "/admin/usage", "", "Host", host)
		if status != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: got %d %s, want %d", host, status, body, want)
		}
		if status, _, _ := r.ask(t, "GET", "/livez", "", "Host", host); status != 200 {
			t.Errorf("%s: got %d for a probe, want 200", host, status)
		}
	}
}

func TestReadinessTurnsFalse(t *testing.T) {
	r := serve(t, token)
	r.draining.Store(true)
	status, body, _ := r.ask(t, "GET", "/readyz", "")
	if status != 503 || !strings.Contains(body, `"reason": "draining"`) {
		t.Errorf("got %d %s, want 503 and why", status, body)
	}
	if status, _, _ := r.ask(t, "GET", "/livez", ""); status != 200 {
		t.Errorf("got %d for liveness while draining, want 200", status)
	}
}

func TestLogLevel(t *testing.T) {
	r := serve(t, "")
	for _, step := range []struct {
		body string
		want slog.Level
	}{
		{"debug", slog.LevelDebug},
		{`{"level": "error"}`, slog.LevelError},
		{"WARN\n", slog.LevelWarn},
		{`{"level":"info"}`, slog.LevelInfo},
		{"info", slog.LevelInfo},
	} {
		status, body, _ := r.ask(t, "PUT", "/admin/log-level", step.body)
		if status != 200 || r.level.Level() != step.want || !strings.Contains(body, strings.ToLower(step.want.String())) {
			t.Errorf("PUT %q: got %d %s and level %v, want %v", step.body, status, body, r.level.Level(), step.want)
		}
	}
	// Every change is heard, also the one after which nothing is.
	if got := strings.Count(r.log.String(), "log level changed"); got != 4 {
		t.Errorf("got %d lines, want one for each of 4 changes:\n%s", got, r.log.String())
	}
}

// TestUsageThatCannotBeRead tells so, and no more breaks than that.
func TestUsageThatCannotBeRead(t *testing.T) {
	h := Handler(Options{Metrics: http.NotFoundHandler(), Usage: reporter{err: errors.New("the database is away")}, Log: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/admin/usage", nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"error": "The counts cannot be read: the database is away"`) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
