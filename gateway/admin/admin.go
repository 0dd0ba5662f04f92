// Package admin serves operators on a separate listener: pages for retiring a version, metrics,
// usage, the plan, the log level, profiles and health probes. Each page has a template of the
// same name.
//
// The listener accepts only local requests, which no proxy has passed on, unless a token is
// configured; then every request except a probe needs the token. Pages load nothing, and none has
// a script but that of a client, which copies the letter. All text from clients is escaped and
// truncated. Requests change nothing except the log level.
package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/httprate"
	"golang.org/x/time/rate"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/shared/safego"
	"github.com/quotegate/quotegate/shared/setting"
	"github.com/quotegate/quotegate/shared/static"
)

type Options struct {
	Token    string       // required of every request except probes; empty: of none
	Instance string       // the ID of this run
	Versions []string     // that are served
	Current  string       // the one of them that others are compared with
	Metrics  http.Handler // for Prometheus
	Usage    Reporter     // what /admin/usage shows

	// What the pages show besides the usage. /admin/lifecycle shows the plan, too.
	Plan   func() lifecycle.Snapshot
	Moves  map[string][]string // what clients have to do to leave a version, by version
	Health func() []Table

	// Ready returns why the service should get no new requests, or nil. Anyone who can reach
	// the listener can read the reason.
	Ready func() error

	Level *slog.LevelVar // of the log
	Log   *slog.Logger
}

// Reporter reads who calls which version.
type Reporter interface {
	Report(context.Context, evidence.Query) (evidence.Report, error)
	WriteCSV(context.Context, evidence.Query, io.Writer) error
}

type handler struct {
	options      Options
	descriptions map[string]string // what is at each path
	token        [sha256.Size]byte
	wrongTokens  *httprate.RateLimiter
	logged       *rate.Limiter // refusals
	unlogged     atomic.Uint64 // refusals since the last line
}

const wrongPerMinute = 30 // requests without the token, from an address

const livez, readyz = "/livez", "/readyz"

func Handler(o Options) http.Handler {
	h := &handler{
		options: o, descriptions: map[string]string{},
		token: sha256.Sum256([]byte(o.Token)), logged: rate.NewLimiter(10, 10),
		wrongTokens: httprate.NewRateLimiter(wrongPerMinute, time.Minute,
			httprate.WithResponseHeaders(httprate.ResponseHeaders{RetryAfter: "Retry-After"})),
	}
	return h.routes()
}

// routes registers all paths. Every request passes the middleware, even for an unknown path.
func (h *handler) routes() chi.Router {
	r := chi.NewRouter()
	r.Use(h.recover, setHeaders, h.authorize)
	r.NotFound(h.notFound)
	get := func(path, description string, f http.HandlerFunc) {
		h.descriptions[path] = description
		r.Get(path, f)
		r.Head(path, f)
	}
	get("/", "this list; for browsers, a page", h.root)
	get("/clients", "page: the clients, sorted and filtered like /admin/usage", h.clients)
	get("/client", "page: one client, for ?client=NAME, and what to write to it", h.client)
	get("/health", "page: this process and the instances", h.health)
	get(livez, "whether the process answers", show(func() any { return h.status("alive") }))
	get(readyz, "whether it should get requests", h.ready)
	get("/metrics", "metrics for Prometheus", h.options.Metrics.ServeHTTP)
	get("/admin/usage", "who still calls which version; parameters: version, old, finding, moved, told, "+
		"software, client, search, kind, known, window, gate, sort, page, per", h.queried(h.usageJSON))
	get("/admin/usage.csv", "the same clients as a table, all on one page", h.queried(h.usageCSV))
	get("/admin/lifecycle", "the retirement plan, and where it has led", show(func() any { return h.options.Plan() }))
	get("/admin/log-level", "the log level; PUT debug, info, warn or error to change it", h.level)
	r.Put("/admin/log-level", h.setLevel)
	for path, p := range profiles() {
		get(path, p.description, p.handler)
	}
	return r
}

func (h *handler) notFound(w http.ResponseWriter, r *http.Request) {
	const nothing = "Not found. / lists all paths."
	if static.PrefersHTML(r.Header) {
		h.problem(w, r, http.StatusNotFound, "Not found", nothing)
	} else {
		fail(w, http.StatusNotFound, nothing)
	}
}

func setHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// authorize refuses requests, except probes. These are recognised by the escaped path, which is
// what chi matches.
func (h *handler) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath()
		status, why := h.refusal(r)
		if status == 0 || path == livez || path == readyz {
			next.ServeHTTP(w, r)
			return
		}
		h.warn(why, r)
		if status == http.StatusUnauthorized {
			h.challenge(w, r, why)
		} else {
			fail(w, status, why)
		}
	})
}

// warn logs a refusal, at most 20 times a second. The next line has the number of those that were
// not logged.
func (h *handler) warn(why string, r *http.Request) {
	if !h.logged.Allow() {
		h.unlogged.Add(1)
		return
	}
	h.options.Log.Warn("admin: request refused", "remote", r.RemoteAddr, "why", why, "unlogged", h.unlogged.Swap(0))
}

// challenge requests the token, up to wrongPerMinute times. The right token always passes.
func (h *handler) challenge(w http.ResponseWriter, r *http.Request, why string) {
	host, _, _ := net.SplitHostPort(r.RemoteAddr) // peers without an address share a limit
	if h.wrongTokens.OnLimit(w, r, httprate.CanonicalizeIP(host)) {
		fail(w, http.StatusTooManyRequests, fmt.Sprintf(
			"Rate limit exceeded: %d wrong tokens per minute. Retry in a minute.", wrongPerMinute))
		return
	}
	const realm = "Quote gateway, operator: any name, and the token as password"
	w.Header().Add("WWW-Authenticate", `Basic realm="`+realm+`", charset="UTF-8"`)
	w.Header().Add("WWW-Authenticate", `Bearer realm="admin"`)
	fail(w, http.StatusUnauthorized, why)
}

// recover turns a panic into an answer and a logged stack.
func (h *handler) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p == http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				h.options.Log.Error("admin: panic", "path", r.URL.Path, "cause", safego.PanicError(p))
				fail(w, http.StatusInternalServerError, "Internal error. See the log.")
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// refusal is why a request is refused. The status is 0 if it is accepted. Without a token, Host
// must be this machine. That protects against DNS rebinding: a web page in the operator's
// browser can send requests here if its own host name resolves to 127.0.0.1. And the request
// must come from this machine: what a proxy on it passes on may come from anyone.
func (h *handler) refusal(r *http.Request) (status int, why string) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	sum := sha256.Sum256([]byte(given(r))) // hides the length from timing, too
	switch {
	case foreign(r):
		return http.StatusForbidden, "Requests from web pages of other sites are refused. Open / or use curl."
	case h.options.Token == "" && proxied(r):
		return http.StatusForbidden, "Requests through a proxy, or in HTTP/1.0 as some proxies send them, " +
			"need a token. Set ADMIN_TOKEN."
	case h.options.Token == "" && !loopback(strings.Trim(host, "[]")):
		return http.StatusForbidden, "Without a token, only localhost, 127.0.0.1 and [::1] are allowed as Host."
	case h.options.Token != "" && subtle.ConstantTimeCompare(sum[:], h.token[:]) != 1:
		return http.StatusUnauthorized, "Wrong or missing token. Send the configured ADMIN_TOKEN as " +
			"Authorization: Bearer …, or log in with any name and the token as password."
	}
	return 0, ""
}

// proxied reports whether a proxy has passed a request on. Most add a header; nginx adds none
// unless it is told to, but speaks HTTP/1.0, which nothing else does here. A tunnel, as of
// ssh -L, changes nothing.
func proxied(r *http.Request) bool {
	for name := range r.Header {
		switch {
		case strings.HasPrefix(name, "X-Forwarded-"), name == "Forwarded", name == "X-Real-Ip", name == "Via":
			return true
		}
	}
	return !r.ProtoAtLeast(1, 1)
}

// foreign reports whether a web page of another site made a browser send the request. Links on
// other sites, as in a runbook or a chat, may only open a page, of which the other site sees
// nothing. All other reads are for programs, and for links on our own pages.
func foreign(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return new(http.CrossOriginProtection).Check(r) != nil
	}
	h := r.Header
	opened := h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
	unknown := h.Get("Sec-Fetch-Site") == "" && h.Get("Origin") == "" // the browser sends neither
	mayOpen := (opened || unknown) && slices.Contains(pagePaths, r.URL.Path)
	return fromElsewhere(r) && !mayOpen
}

// fromElsewhere reports whether a page of another site may be behind a request. Browsers say so
// in Sec-Fetch-Site, but not to a server without TLS on another machine: there, Origin or
// Referer must name this listener.
func fromElsewhere(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	if from := cmp.Or(r.Header.Get("Origin"), r.Header.Get("Referer")); from != "" {
		u, err := url.Parse(from)
		return err != nil || u.Host != r.Host
	}
	return strings.HasPrefix(r.UserAgent(), "Mozilla/") // as every browser's begins
}

// given is the token in a request: a Bearer token or the Basic password, for which browsers can
// prompt. It is empty if there is none.
func given(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}

// reply writes v as indented JSON, for people with curl.
func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status = http.StatusInternalServerError
		body = []byte(`{"error": "Internal error. This cannot be encoded as JSON."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error here means that the client has left
}

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}

func show(what func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, what()) }
}

type Config struct {
	// Addr is the address of the admin listener; "off" turns it off. An address
	// that others can reach needs a token.
	Addr string `env:"ADMIN_ADDR, default=127.0.0.1:9090"`
	// Token, if set, is required of every request except probes.
	// 16 characters are too many to guess.
	Token string `env:"ADMIN_TOKEN" min:"16" chars:"printable" setting:"secret"`
}

func (c Config) Enabled() bool { return c.Addr != "off" && c.Addr != "" }

// Validate reports every problem, naming the variable. The token is never
// repeated.
func (c Config) Validate() error {
	problems := []error{setting.Check(c)}
	host, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case !c.Enabled():
	case err != nil:
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q is not an address such as 127.0.0.1:9090; "+
			"write off for no admin listener", c.Addr))
	case c.Token == "" && !loopback(host):
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q can be reached by others, "+
			"and ADMIN_TOKEN is not set: set it, or listen on 127.0.0.1", c.Addr))
	}
	return errors.Join(problems...)
}

// loopback reports whether host is certainly a loopback address. An empty host
// is every address of the machine, and a name may stand for any address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Listen opens the admin listener of a valid configuration. It checks the
// address again, because a name is resolved only now.
func (c Config) Listen(ctx context.Context) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("ADMIN_ADDR: %w", err)
	}
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if c.Token == "" && (err != nil || !addr.Addr().Unmap().IsLoopback()) {
		l.Close()
		return nil, fmt.Errorf("ADMIN_ADDR: %q stands for %s, which can be reached by others, "+
			"and ADMIN_TOKEN is not set", c.Addr, l.Addr())
	}
	return l, nil
}
