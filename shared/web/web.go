// Package web is what the version modules and the gateway say to each other:
// handlers that return their error, the description of a version, and JSON
// that is written whole or not at all.
package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// Handler answers a request or returns why it cannot. It writes nothing
// before it is sure to succeed; the gateway alone replies to an error.
type Handler func(http.ResponseWriter, *http.Request) error

// Module is one version of the interface.
type Module struct {
	Name string
	// Prefixes are the parts of the path space whose errors are answered in
	// this version's dialect.
	Prefixes []string
	Routes   []Route
	// Decode does what the handlers of the routes that quote do with a query,
	// to the same request and the same error.
	Decode func(rawQuery string) (quote.Request, error)
	// MapFault puts a failure into this version's words.
	MapFault func(e *fault.Error, requestID string) (status int, body any)
}

// Route is one GET endpoint of a version.
type Route struct {
	Path string
	// Revision, if any, claims only those requests for Path that name this
	// revision; the others belong to the module that has the path without one.
	Revision string
	// Quotes marks the routes whose use counts as use of the version.
	Quotes bool
	// Free routes are not counted against the caller's request budget, and
	// outlive their version.
	Free   bool
	Handle Handler
}

// JSON answers with v. Nothing is sent when v cannot be encoded.
func JSON(w http.ResponseWriter, status int, v any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // this is no HTML, and people read the sentences
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return send(w, status, jsonType, body.Bytes())
}

// Body answers with JSON that is complete already.
func Body(w http.ResponseWriter, body []byte) error {
	return send(w, http.StatusOK, jsonType, body)
}

// send answers with a body that is complete already.
func send(w http.ResponseWriter, status int, contentType []string, body []byte) error {
	h := w.Header()
	h["Content-Type"] = contentType
	if len(body) > buffered {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	h["X-Content-Type-Options"] = nosniff
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client has left
	return nil
}

// buffered is what net/http holds back until the handler returns. Of a shorter
// body it states the length by itself, and the header fits a small map.
const buffered = 2048

// The values of headers are made once.
var (
	jsonType = []string{"application/json"}
	nosniff  = []string{"nosniff"}
)

// File serves a fixed document, which caches may keep for a while.
func File(contentType string, body []byte) Handler {
	kind := []string{contentType}
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Cache-Control", "public, max-age=300")
		return send(w, http.StatusOK, kind, body)
	}
}
