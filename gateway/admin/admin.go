// Package admin is what an operator asks the service, on a listener apart from
// the public one: metrics, who uses what, the retirement plan, the log level,
// profiles, and the probes of whatever runs the service.
//
// The listener is reachable from this machine alone, unless a token is
// configured; then every request but those of the probes must carry it. All
// errors are JSON.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// Options is what a handler shows. A part that is nil is not there.
type Options struct {
	Token     string                             // demanded of every request but the probes'; empty: of none
	Metrics   http.Handler                       // of Prometheus
	Lifecycle func() any                         // what /admin/lifecycle shows, as JSON
	Usage     func(context.Context) (any, error) // what /admin/usage shows, as JSON

	// Ready says why the service should get no new requests, if so. Whoever
	// reaches the listener can read it.
	Ready func() error

	Level *slog.LevelVar // of the log
	Log   *slog.Logger   // slog.Default() if nil
}

type handler struct {
	Options
	mux   *http.ServeMux
	about map[string]string // every path, and what is there
	token [sha256.Size]byte
}

const livez, readyz = "/livez", "/readyz"

// Handler answers on the admin listener.
func Handler(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	h := &handler{Options: o, mux: http.NewServeMux(), about: map[string]string{}, token: sha256.Sum256([]byte(o.Token))}
	h.get("/", "this list", show(func() any { return h.about }))
	h.get(livez, "whether the process answers", show(func() any { return status{Status: "alive"} }))
	h.get(readyz, "whether it should get requests", h.ready)
	if o.Metrics != nil {
		h.get("/metrics", "metrics for Prometheus", o.Metrics.ServeHTTP)
	}
	if o.Usage != nil {
		h.get("/admin/usage", "who still calls which version", h.usage)
	}
	if o.Lifecycle != nil {
		h.get("/admin/lifecycle", "the retirement plan, and where it has led", show(o.Lifecycle))
	}
	if o.Level != nil {
		h.get("/admin/log-level", "the log level; PUT debug, info, warn or error to change it", h.level)
		h.mux.HandleFunc("PUT /admin/log-level", h.setLevel)
	}
	h.addProfiles()
	return h
}

// get adds what a path answers to GET and HEAD. The path matches as a whole.
func (h *handler) get(path, about string, f http.HandlerFunc) {
	h.about[path] = about
	if strings.HasSuffix(path, "/") {
		path += "{$}"
	}
	h.mux.HandleFunc("GET "+path, f)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	path := r.URL.Path
	if path != livez && path != readyz && !h.admit(w, r) {
		return
	}
	if h.about[path] == "" { // the mux would redirect some paths to a similar one
		fail(w, http.StatusNotFound, "There is nothing at this path; / lists what there is")
		return
	}
	inJSON(h.mux, w, r)
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

// local refuses requests under another name than this machine's. A web page in
// the operator's browser can send such: its owner lets the page's own name
// stand for 127.0.0.1.
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
