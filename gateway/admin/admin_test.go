package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/safego"
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

// options are those of a listener whose pages show a report.
func options(usage Reporter, plan func() lifecycle.Snapshot) Options {
	return Options{
		Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: usage, Plan: plan,
		Health: func() []Table { return nil }, Log: slog.New(slog.DiscardHandler),
	}
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
	client := evidence.Client{Client: "origin https://a.example", Sum: evidence.Sum{Calls7: 7}}
	unencodable := &lifecycle.Schedule{Brownouts: []lifecycle.Brownout{{Share: math.NaN()}}}
	plan := &lifecycle.Plan{Versions: map[string]*lifecycle.Schedule{"v1": unencodable}}
	o := options(
		reporter{report: evidence.Report{Clients: []evidence.Client{client}}},
		func() lifecycle.Snapshot { return lifecycle.Snapshot{Plan: plan} },
	)
	o.Token = token
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "panic" {
			panic("a bug")
		}
		_, _ = io.WriteString(w, "up 1\n")
	})
	o.Ready = func() error {
		if r.draining.Load() {
			return errors.New("draining")
		}
		return nil
	}
	o.Level = &r.level
	o.Log = slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: &r.level}))
	r.Server = httptest.NewServer(Handler(o))
	t.Cleanup(r.Close)
	return r
}

var betweenTags = regexp.MustCompile(`>\s+<`)

// ask sends a request; headers come in pairs. A page comes back without the line breaks
// of its template.
func ask(t testing.TB, method, address, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		return res.StatusCode, flat(string(text)), res.Header
	}
	return res.StatusCode, string(text), res.Header
}

func flat(page string) string {
	return betweenTags.ReplaceAllString(strings.Join(strings.Fields(page), " "), "><")
}

func (r *rig) ask(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	return ask(t, method, r.URL+path, body, headers...)
}

func TestEndpoints(t *testing.T) {
	r := serve(t, "")
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string // within the answer
	}{
		{"GET", "/livez", "", 200, `"status": "alive"`},
		{"GET", "/readyz", "", 200, `"status": "ready"`},
		{"GET", "/metrics", "", 200, "up 1\n"},
		{"HEAD", "/metrics", "", 200, ""},
		{"GET", "/admin/usage", "", 200, `"calls7": 7`},
		{"GET", "/admin/usage?version=v9", "", 400, `version \"v9\" is none of v3, v3legacy, v1`},
		{"GET", "/admin/usage.csv?page=0", "", 400, `page \"0\" is not a number from 1`},
		{"GET", "/admin/usage.csv", "", 200, "\nv1,origin https://a.example\n"},
		{"GET", "/admin/lifecycle", "", 500, `"error": "Internal error. This cannot be encoded as JSON."`},
		{"GET", "/admin/log-level", "", 200, `"level": "info"`},
		{"GET", "/debug/pprof/", "", 200, "goroutine"},
		{"GET", "/debug/pprof/heap", "", 200, ""},
		{"GET", "/debug/pprof/trace?seconds=0.01", "", 200, "go 1."},
		{"GET", "/nothing", "", 404, `"error": "Not found. / lists all paths."`},
		{"GET", "/admin/usage/", "", 404, `"error": "Not found`},
		{"GET", "//metrics", "", 404, `"error": "Not found`},
		{"POST", "/admin/../metrics", "", 404, `"error": "Not found`},
		{"POST", "/metrics", "", 405, ""},
		{"DELETE", "/admin/log-level", "", 405, ""},
		{"PUT", "/admin/log-level", "loud", 400, `"error": "Send debug, info, warn or error"`},
		{"PUT", "/admin/log-level", strings.Repeat("debug", 1000), 400, `"error":`},
	} {
		status, body, _ := r.ask(t, test.method, test.path, test.body)
		if status != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s %s: got %d %.200s, want %d with %s", test.method, test.path, status, body, test.status, test.want)
		}
	}
	for path, want := range map[string]string{"/metrics": "GET HEAD", "/admin/log-level": "GET HEAD PUT"} {
		_, _, header := r.ask(t, "DELETE", path, "")
		allowed := slices.Sorted(slices.Values(header.Values("Allow")))
		if got := strings.Join(allowed, " "); got != want {
			t.Errorf("%s allows %q, want %q", path, got, want)
		}
	}
	_, list, _ := r.ask(t, "GET", "/", "")
	for _, path := range []string{"/readyz", "/metrics", "/admin/usage", "/admin/log-level", "/debug/pprof/heap"} {
		if !strings.Contains(list, `"`+path+`": "`) {
			t.Errorf("the list lacks %s:\n%s", path, list)
		}
	}
	r.draining.Store(true)
	if status, body, _ := r.ask(t, "GET", "/readyz", ""); status != 503 || !strings.Contains(body, `"draining"`) {
		t.Errorf("got %d %s while draining, want 503 and why", status, body)
	}
	if status, _, _ := r.ask(t, "GET", "/livez", ""); status != 200 {
		t.Errorf("got %d for liveness while draining, want 200", status)
	}
}

// Without the token, only probes are answered, and nothing shows the token.
func TestToken(t *testing.T) {
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	r := serve(t, token)
	for _, good := range []string{"Bearer " + token, "bearer  " + token, basic("operator", token), basic("", token)} {
		status, body, _ := r.ask(t, "GET", "/admin/usage", "", "Authorization", good, "Host", "gateway.internal")
		if status != 200 {
			t.Errorf("%q: got %d %s, want 200", good, status, body)
		}
	}
	paths := []string{"/", "/clients", "/metrics", "/admin/usage", "/debug/pprof/heap", "/nothing", "/%6Civez", "//livez"}
	for _, wrong := range []string{
		"", "Bearer ", "Bearer a-token-of-some-lengtH", "Bearer " + token + "x", "Bearer " + token[:10],
		"Basic " + token, "Basic", token, basic(token, ""), basic("operator", token+"x"), basic("operator", ""),
	} {
		r := serve(t, token)
		for _, path := range paths {
			status, body, header := r.ask(t, "GET", path, "", "Authorization", wrong)
			offers := header.Values("WWW-Authenticate")
			if status != 401 || !json.Valid([]byte(body)) || len(offers) != 2 || !strings.HasPrefix(offers[0], "Basic ") {
				t.Errorf("%q, %s: got %d %s with %q, want 401 in JSON", wrong, path, status, body, offers)
			}
		}
		status, _, _ := r.ask(t, "PUT", "/admin/log-level", "debug", "Authorization", wrong)
		if status != 401 || r.level.Level() != slog.LevelInfo {
			t.Errorf("%q: got %d, and the level is %v", wrong, status, r.level.Level())
		}
		for _, probe := range []string{"/livez", "/readyz"} {
			if status, _, _ := r.ask(t, "GET", probe, "", "Authorization", wrong); status != 200 {
				t.Errorf("%q, %s: got %d, want 200 without a token", wrong, probe, status)
			}
		}
		log := r.log.String()
		if strings.Contains(log, token[:8]) || !strings.Contains(log, "missing token") {
			t.Errorf("%q: the log shows a token, or not the attempts:\n%s", wrong, log)
		}
	}
}

// Guesses are limited, and do not fill the log. The right token always passes.
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
	lines := strings.Count(r.log.String(), "missing token")
	if most := 20 * (int(time.Since(began)/time.Second) + 2); lines > most {
		t.Errorf("got %d lines for %d guesses, want %d at most", lines, guesses, most)
	}
}

// A page in the operator's browser can make requests to this listener, and can make a name
// of its own stand for 127.0.0.1. It gets no answer.
func TestOtherSites(t *testing.T) {
	r := serve(t, "")
	own := "http://" + r.Listener.Addr().String()
	site := func(site string, more ...string) []string { return append([]string{"Sec-Fetch-Site", site}, more...) }
	link := site("cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	image := site("cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image")
	frame := site("cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
	plain := func(more ...string) []string { return append([]string{"User-Agent", "Mozilla/5.0"}, more...) }
	for _, test := range []struct {
		name, method, path string
		headers            []string
		want               int
	}{
		{"curl", "GET", "/metrics", nil, 200},
		{"an address typed", "GET", "/metrics", site("none"), 200},
		{"a page of this listener", "GET", "/metrics", site("same-origin"), 200},
		{"a page elsewhere", "GET", "/metrics", site("cross-site"), 403},
		{"a page on a sibling domain", "GET", "/metrics", site("same-site"), 403},
		{"a link in a runbook", "GET", "/", link, 200},
		{"a link with no such page", "GET", "/clinets", link, 403},
		{"a link to a list", "GET", "/admin/usage.csv", link, 403},
		{"a link to a profile", "GET", "/debug/pprof/cmdline", link, 403},
		{"a page as a picture", "GET", "/clients", image, 403},
		{"a page in a frame", "GET", "/clients", frame, 403},
		{"without TLS, a link", "GET", "/", plain("Referer", "http://wiki.example/runbook"), 200},
		{"without TLS, a fetch", "GET", "/clients", plain("Origin", "http://wiki.example"), 403},
		{"without TLS, a profile", "GET", "/debug/pprof/cmdline", plain(), 403},
		{"without TLS, from evil", "GET", "/admin/usage", plain("Referer", "http://evil.example/"), 403},
		{"without TLS, our own link", "GET", "/admin/usage", plain("Referer", own+"/clients"), 200},
		{"a level set from here", "PUT", "/admin/log-level", []string{"Origin", own}, 200},
		{"a level set from elsewhere", "PUT", "/admin/log-level", []string{"Origin", "http://evil.example"}, 403},
		{"a level set from no origin", "PUT", "/admin/log-level", []string{"Origin", "null"}, 403},
		{"a level set by curl", "PUT", "/admin/log-level", nil, 200},
		{"a probe from anywhere", "GET", "/livez", site("cross-site"), 200},
	} {
		if got, body, _ := r.ask(t, test.method, test.path, "info", test.headers...); got != test.want {
			t.Errorf("%s: got %d %s, want %d", test.name, got, body, test.want)
		}
	}
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9090": 200, "127.0.0.1:1234": 200, "127.9.9.9": 200, "[::1]:9090": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:9090": 403, "192.0.2.1:9090": 403, "localhost.evil": 403,
		"127.0.0.1.nip.evil": 403,
	} {
		if status, body, _ := r.ask(t, "GET", "/admin/usage", "", "Host", host); status != want || !json.Valid([]byte(body)) {
			t.Errorf("%s: got %d %s, want %d", host, status, body, want)
		}
		if status, _, _ := r.ask(t, "GET", "/livez", "", "Host", host); status != 200 {
			t.Errorf("%s: got %d for a probe, want 200", host, status)
		}
	}
}

// What a proxy on this machine passes on may come from anyone, so it needs the token. Probes
// do not, and a tunnel passes on what the client sent.
func TestProxiesNeedTheToken(t *testing.T) {
	open, closed := serve(t, ""), serve(t, token)
	for _, header := range [][]string{
		{"X-Forwarded-For", "203.0.113.7"}, {"X-Forwarded-For", ""}, {"X-Forwarded-Host", "admin.example"}, {"x-forwarded-proto", "https"},
		{"Forwarded", "for=203.0.113.7"}, {"X-Real-IP", "203.0.113.7"}, {"Via", "1.1 proxy"},
	} {
		for _, request := range [][2]string{{"GET", "/"}, {"GET", "/admin/usage"}, {"GET", "/nothing"}, {"PUT", "/admin/log-level"}} {
			status, body, _ := open.ask(t, request[0], request[1], "debug", header...)
			if status != 403 || !strings.Contains(body, "Set ADMIN_TOKEN") || open.level.Level() != slog.LevelInfo {
				t.Errorf("%s with %q: got %d %s, want 403 that asks for a token", request, header, status, body)
			}
		}
		for _, probe := range []string{livez, readyz} {
			if status, body, _ := open.ask(t, "GET", probe, "", header...); status != 200 {
				t.Errorf("%s with %q: got %d %s", probe, header, status, body)
			}
		}
		if status, _, _ := closed.ask(t, "GET", "/admin/usage", "", header...); status != 401 {
			t.Errorf("%q: got %d without the token", header, status)
		}
		withToken := append([]string{"Authorization", "Bearer " + token, "Host", "admin.example"}, header...)
		if status, body, _ := closed.ask(t, "GET", "/admin/usage", "", withToken...); status != 200 {
			t.Errorf("%q: got %d %s with the token", header, status, body)
		}
	}
	for protocol, want := range map[string]int{"HTTP/1.0": 403, "HTTP/1.1": 200} { // nginx without a header speaks 1.0
		conn, err := net.Dial("tcp", open.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /admin/usage "+protocol+"\r\nHost: 127.0.0.1\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: got %v, %v, want %d", protocol, res, err, want)
		}
	}
}

func TestPanicsAreAnsweredAndCounted(t *testing.T) {
	r := serve(t, "")
	before := safego.Panics()
	status, body, _ := r.ask(t, "GET", "/metrics?panic", "")
	if status != 500 || strings.Contains(body, "a bug") || safego.Panics() != before+1 {
		t.Errorf("got %d %s, and %d panics", status, body, safego.Panics()-before)
	}
	if log := r.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "admin_test.go") {
		t.Errorf("the log has no cause or no stack: %s", log)
	}
}

// Every change of the level is logged, also the one after which nothing is.
func TestLogLevel(t *testing.T) {
	r := serve(t, "")
	for _, step := range []struct {
		body string
		want slog.Level
	}{
		{"debug", slog.LevelDebug}, {"error", slog.LevelError}, {"WARN\n", slog.LevelWarn},
		{"info", slog.LevelInfo}, {"info", slog.LevelInfo},
	} {
		status, body, _ := r.ask(t, "PUT", "/admin/log-level", step.body)
		name := strings.ToLower(step.want.String())
		if status != 200 || r.level.Level() != step.want || !strings.Contains(body, name) {
			t.Errorf("PUT %q: got %d %s and level %v, want %v", step.body, status, body, r.level.Level(), step.want)
		}
	}
	if got := strings.Count(r.log.String(), "log level changed"); got != 4 {
		t.Errorf("got %d lines, want one for each of 4 changes:\n%s", got, r.log.String())
	}
}

func TestConfig(t *testing.T) {
	const good = "0123456789abcdef"
	for _, test := range []struct{ addr, token, want string }{ // want is the variable at fault
		{"127.0.0.1:9090", "", ""},
		{"127.0.0.53:0", "", ""},
		{"[::1]:9090", "", ""},
		{"[::ffff:127.0.0.1]:9090", "", ""},
		{"localhost:9090", "", ""},
		{"off", "", ""},
		{"", "", ""},
		{":9090", "", "ADMIN_ADDR"},
		{"0.0.0.0:9090", "", "ADMIN_ADDR"},
		{"[::]:9090", "", "ADMIN_ADDR"},
		{"203.0.113.5:9090", "", "ADMIN_ADDR"},
		{"10.0.0.5:9090", "", "ADMIN_ADDR"},
		{"gateway.internal:9090", "", "ADMIN_ADDR"},
		{"localhost.evil:9090", "", "ADMIN_ADDR"},
		{":9090", good, ""},
		{"gateway.internal:9090", good, ""},
		{"127.0.0.1", "", "ADMIN_ADDR"},
		{"127.0.0.1:http", "", "ADMIN_ADDR"},
		{"127.0.0.1:65536", "", "ADMIN_ADDR"},
		{"127.0.0.1:9090", good[:15], "ADMIN_TOKEN"},
		{"127.0.0.1:9090", good + " hunter2", "ADMIN_TOKEN"},
		{"127.0.0.1:9090", good + "\n", "ADMIN_TOKEN"},
	} {
		err := Config{test.addr, test.token}.Validate()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q, %q: got %v, want it to be accepted", test.addr, test.token, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want+": ")):
			t.Errorf("%q, %q: got %v, want an error of %s", test.addr, test.token, err, test.want)
		case err != nil && test.token != "" && strings.Contains(err.Error(), test.token):
			t.Errorf("%q: the error shows the token: %v", test.token, err)
		}
	}
	var unset Config
	err := envconfig.ProcessWith(t.Context(), &envconfig.Config{Target: &unset, Lookuper: envconfig.MapLookuper(nil)})
	if err != nil || !unset.Enabled() || (Config{Addr: "off"}).Enabled() || (Config{}).Enabled() {
		t.Errorf("got %+v, %v without settings", unset, err)
	}
}

// An address is checked again when it is opened.
func TestListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct{ addr, token, want string }{
		{"127.0.0.1:0", "", ""},
		{"0.0.0.0:0", "", "ADMIN_TOKEN is not set"},
		{"0.0.0.0:0", token, ""},
		{taken.Addr().String(), "", "ADMIN_ADDR: "},
	} {
		l, err := Config{test.addr, test.token}.Listen(t.Context())
		if err == nil {
			l.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %q: got %v, want %q", test.addr, test.token, err, test.want)
		}
	}
}
