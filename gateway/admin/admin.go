// Package admin is what an operator asks the service, on a listener apart from
// the public one: metrics, who uses what, the retirement plan, the log level,
// profiles, and the probes of whatever runs the service.
//
// The listener is reachable from this machine alone, unless a token is
// configured; then every request but those of the probes must carry it. All
// errors are JSON.
package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Options is what a handler shows. A part that is nil is not there.
type Options struct {
	Token     string       // demanded of every request but the probes'; empty: of none
	Metrics   http.Handler // of Prometheus
	Usage     func() any   // what /admin/usage shows, as JSON
	Lifecycle func() any   // what /admin/lifecycle shows, as JSON

	// Ready says why the service should get no new requests, if so. Whoever
	// reaches the listener can read it.
	Ready func() error

	Level *slog.LevelVar // of the log
	Log   *slog.Logger   // slog.Default() if nil
}

// endpoint is what one path does.
type endpoint struct {
	about   string
	open    bool // no token is needed
	methods map[string]http.HandlerFunc
}

type handler struct {
	Options
	endpoints map[string]endpoint
	token     [sha256.Size]byte
}

// Handler answers on the admin listener.
func Handler(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &handler{Options: o, endpoints: make(map[string]endpoint), token: sha256.Sum256([]byte(o.Token))}
	h.get("/", "this list", h.index)
	h.probe("/livez", "whether the process answers", h.live)
	h.probe("/readyz", "whether it should get requests", h.ready)
	if o.Metrics != nil {
		h.get("/metrics", "metrics for Prometheus", inJSON(o.Metrics.ServeHTTP))
	}
	if o.Usage != nil {
		h.get("/admin/usage", "who still calls which version", h.show(o.Usage))
	}
	if o.Lifecycle != nil {
		h.get("/admin/lifecycle", "the retirement plan, and where it has led", h.show(o.Lifecycle))
	}
	if o.Level != nil {
		h.get("/admin/log-level", "the log level; PUT debug, info, warn or error to change it", h.level)
		h.endpoints["/admin/log-level"].methods[http.MethodPut] = h.setLevel
	}
	h.addProfiles()
	return h
}

func (h *handler) get(path, about string, f http.HandlerFunc) {
	h.endpoints[path] = endpoint{about: about, methods: map[string]http.HandlerFunc{http.MethodGet: f, http.MethodHead: f}}
}

func (h *handler) probe(path, about string, f http.HandlerFunc) {
	h.get(path, about, f)
	e := h.endpoints[path]
	e.open = true
	h.endpoints[path] = e
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	e, found := h.endpoints[r.URL.Path]
	if !e.open && !h.admit(w, r) {
		return
	}
	if !found {
		fail(w, http.StatusNotFound, "There is nothing at this path; / lists what there is")
		return
	}
	f := e.methods[r.Method]
	if f == nil {
		allowed := make([]string, 0, len(e.methods))
		for method := range e.methods {
			allowed = append(allowed, method)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		fail(w, http.StatusMethodNotAllowed, "This path knows "+strings.Join(allowed, " and "))
		return
	}
	f(w, r)
}

// admit tells whether a request may see what is not open to all, and answers
// it if not.
func (h *handler) admit(w http.ResponseWriter, r *http.Request) bool {
	if h.Token == "" {
		return h.local(w, r)
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given))) // so that not even the length shows in the time
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1 {
		return true
	}
	h.Log.Warn("admin: a request without the token", "remote", r.RemoteAddr)
	w.Header().Set("WWW-Authenticate", `Bearer realm="admin"`)
	fail(w, http.StatusUnauthorized, "Send the configured ADMIN_TOKEN as Authorization: Bearer …")
	return false
}

// local refuses what a web page sends from the operator's own browser, under a
// name of its own that it has made to stand for this machine.
func (h *handler) local(w http.ResponseWriter, r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if loopback(strings.Trim(host, "[]")) {
		return true
	}
	h.Log.Warn("admin: a request under a name that is not this machine's", "remote", r.RemoteAddr)
	fail(w, http.StatusForbidden, "Without a token, this listener answers to localhost, 127.0.0.1 and [::1] only")
	return false
}
