package admin

import (
	"encoding/json"
	"net/http"
	"strings"
)

// reply writes v as indented JSON, for people with curl.
func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error": "What should be here cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // an error here means that the client has left
}

const (
	jsonType = "application/json"
	htmlType = "text/html; charset=utf-8" // only pages have it
)

func fail(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}

func show(what func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, what()) }
}

// serveJSONErrors calls a handler and turns an error that it writes as text into
// JSON. The mux, pprof and Prometheus write errors as text.
func serveJSONErrors(next http.Handler, w http.ResponseWriter, r *http.Request) {
	t := &errorTranslator{ResponseWriter: w}
	next.ServeHTTP(t, r)
	if t.status == 0 {
		return
	}
	text := strings.TrimSpace(t.text.String())
	if t.status == http.StatusMethodNotAllowed {
		text = "This path knows " + strings.ReplaceAll(w.Header().Get("Allow"), ", ", " and ")
	}
	w.Header().Del("Content-Length")
	w.Header().Del("Content-Encoding")
	fail(w, t.status, text)
}

// errorTranslator holds back the status and text of an error.
type errorTranslator struct {
	http.ResponseWriter
	status int // of an error in text; 0: no error so far
	text   strings.Builder
}

func (t *errorTranslator) WriteHeader(status int) {
	if kind := t.Header().Get("Content-Type"); status >= 400 && kind != jsonType && kind != htmlType {
		t.status = status
		return
	}
	t.ResponseWriter.WriteHeader(status)
}

// maxError bounds how much of an error is sent.
const maxError = 4 << 10

func (t *errorTranslator) Write(p []byte) (int, error) {
	if t.status == 0 {
		return t.ResponseWriter.Write(p)
	}
	t.text.Write(p[:min(len(p), maxError-t.text.Len())])
	return len(p), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (t *errorTranslator) Unwrap() http.ResponseWriter { return t.ResponseWriter }
