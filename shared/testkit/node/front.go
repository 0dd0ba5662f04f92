// Package node has nodes to test JSON-RPC against: a real chain in the process
// of the test, and a front that makes any node misbehave over real HTTP.
package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Secret is in every place of every front's URL.
const Secret = "S3CRET"

// Batch is the method under which a Front counts and replaces JSON-RPC batches.
const Batch = "batch"

// Front is an RPC endpoint: a node behind HTTP that can be made to misbehave.
type Front struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string]int              // by JSON-RPC method
	on    map[string]http.HandlerFunc // what to do instead of asking the node, by JSON-RPC method
}

// NewFront starts a front that ends with the test.
func NewFront(t testing.TB, node http.Handler) *Front {
	f := &Front{calls: make(map[string]int), on: make(map[string]http.HandlerFunc)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		request := struct{ Method string }{Batch}
		if !bytes.HasPrefix(body, []byte("[")) {
			if err := json.Unmarshal(body, &request); err != nil {
				t.Errorf("the request %s: %v", body, err)
			}
		}
		f.mu.Lock()
		f.calls[request.Method]++
		instead := f.on[request.Method]
		f.mu.Unlock()
		if instead != nil {
			instead(w, r)
		} else {
			node.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// SecretURL is the URL of the front, with secrets in it.
func (f *Front) SecretURL() string {
	return strings.Replace(f.URL, "http://", "http://"+Secret+":"+Secret+"@", 1) + "/" + Secret + "?key=" + Secret
}

// Instead replaces what the node answers to a method; nil puts it back.
func (f *Front) Instead(method string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on[method] = h
}

// Count is how often a method was called.
func (f *Front) Count(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// Says answers every request with a body of the test's making.
func Says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}
}

// Results answers every request with a JSON-RPC result.
func Results(result string) http.HandlerFunc {
	return Says(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":%s}`, result))
}

// RPCError answers every request with a JSON-RPC error that tells the URL.
func RPCError(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const answer = `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"not for %s%s"}}`
		Says(fmt.Sprintf(answer, code, r.Host, r.URL.Path))(w, r)
	}
}

// Status answers every request with an HTTP status and, as providers do, tells
// the URL.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.URL.Path+r.URL.RawQuery+r.Host, code)
	}
}

// Limited answers every request with 429. An empty retryAfter is left out.
func Limited(retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		Status(http.StatusTooManyRequests)(w, r)
	}
}

// Hangs never answers.
func Hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Drops closes the connection instead of answering.
func Drops(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Aborts closes the connection in the middle of the answer.
func Aborts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, `{"jsonrpc":`)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Pours never stops answering.
func Pours(w http.ResponseWriter, _ *http.Request) {
	io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x`)
	for zeros := bytes.Repeat([]byte("0"), 1<<16); ; {
		if _, err := w.Write(zeros); err != nil {
			return
		}
	}
}
