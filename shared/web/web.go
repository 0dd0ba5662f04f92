// Package web is the interface between the version modules and the gateway:
// handlers that return their error, the description of a version, and JSON
// that is written whole or not at all.
package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/quote"
)

// Handler answers a request or returns an error. It writes nothing before it is
// sure to succeed. Only the gateway replies to an error.
type Handler func(http.ResponseWriter, *http.Request) error

// Module is one version of the interface.
type Module struct {
	Name string
	// Prefixes of paths that belong to this version. Errors under them have
	// this version's format.
	Prefixes []string
	Routes   []Route
	// Decode gives the same request, or the same error, as the handlers of the
	// routes that quote.
	Decode func(*http.Request) (quote.Request, error)
	// MapFault gives the status and the body of a failure in this version.
	MapFault func(e *fault.Error, requestID string) (status int, body any)
	// Next is the version that Moves leads to, and Moves what every client has to do
	// for it beside calling it, as docs/migrate.md tells it. Both are empty for the
	// newest version.
	Next  string
	Moves []string
}

// ContractPath is where a version's contract file is served.
func ContractPath(version string) string { return "/" + version + "/openapi.yaml" }

// Route is one GET endpoint of a version.
type Route struct {
	Path string
	// Revisions are set at a path that several versions share. They are the names, in lower
	// case, that select this route in the header API-Revision; an empty one stands for a
	// request that names none. At other paths the header is ignored.
	Revisions []string
	// Quotes marks the routes whose use counts as use of the version, and against the
	// caller's limit for quotes.
	Quotes bool
	// ReadsNodes marks the routes that may ask the nodes of a chain, which has a limit
	// of its own.
	ReadsNodes bool
	// Free routes still work when their version is retired.
	Free   bool
	Handle Handler
}

// NodeReader is on whose behalf a route that reads nodes does so.
type NodeReader struct {
	Caller netip.Prefix        // the network of the caller
	Admit  func() *fault.Error // counts a question, or says why it must not be asked
}

type nodeReaderKey struct{}

func WithNodeReader(ctx context.Context, reader NodeReader) context.Context {
	return context.WithValue(ctx, nodeReaderKey{}, reader)
}

// NodeReaderOf is the zero value for a request without one.
func NodeReaderOf(ctx context.Context) NodeReader {
	reader, _ := ctx.Value(nodeReaderKey{}).(NodeReader)
	return reader
}

// JSON answers with v. Nothing is sent when v cannot be encoded.
func JSON(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return send(w, status, jsonType, body)
}

// encode is a line of JSON.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // keeps the sentences readable
	err := encoder.Encode(v)
	return line.Bytes(), err
}

// AppendText appends a text as a JSON string. Most texts need no escapes.
func AppendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			escaped, _ := encode(text) // a string can always be encoded
			return append(b, bytes.TrimSuffix(escaped, []byte("\n"))...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

// Body answers with JSON that is already encoded.
func Body(w http.ResponseWriter, body []byte) error {
	return send(w, http.StatusOK, jsonType, body)
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here means that the client has left
	return nil
}

const jsonType = "application/json"

// PolicyHash is the source expression that allows exactly this inline script or style
// sheet in a Content-Security-Policy.
func PolicyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// PrefersHTML reports whether Accept asks for HTML by name, and not more for JSON. A
// star alone asks for neither: programs send it.
func PrefersHTML(h http.Header) bool {
	accepted := qualities(h.Values("Accept")...)
	return accepted["text/html"] > 0 && accepted["text/html"] >= accepted["application/json"]
}

// qualities reads the q values of Accept headers, by lower-case name. An invalid value
// counts as 0.
func qualities(headers ...string) map[string]float64 {
	wanted := make(map[string]float64)
	for item := range strings.SplitSeq(strings.ToLower(strings.Join(headers, ",")), ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		quality := 1.0
		for param := range strings.SplitSeq(params, ";") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(param), "q="); ok {
				quality, _ = strconv.ParseFloat(text, 64)
			}
		}
		wanted[name] = max(wanted[name], quality)
	}
	return wanted
}

// Document serves a body that does not change while the service runs. Caches may
// keep it for maxAge, and a client that has it already is answered 304. It is
// compressed for clients that accept that.
func Document(contentType string, body []byte, maxAge time.Duration) Handler {
	cacheControl := "public, max-age=" + strconv.Itoa(int(maxAge.Seconds()))
	plain, zipped := newVariant(body), newVariant(compress(body))
	return func(w http.ResponseWriter, r *http.Request) error {
		h := w.Header()
		v := &plain
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			v = &zipped
		}
		h.Set("Cache-Control", cacheControl)
		h.Set("ETag", v.etag)
		known := strings.Join(r.Header["If-None-Match"], ",")
		if known == "*" || strings.Contains(known, v.etag) { // its quotes end a tag
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return send(w, http.StatusOK, contentType, v.body)
	}
}

// JSONDocument is Document for a value, which is encoded once, here.
func JSONDocument(value any, maxAge time.Duration) Handler {
	body, err := encode(value)
	if err != nil {
		panic(fmt.Sprintf("a document cannot be encoded: %v", err)) // a programming error
	}
	return Document(jsonType, body, maxAge)
}

// variant is a document in one encoding. The encodings have different tags, so
// that a cache does not take one for the other.
type variant struct {
	body []byte
	etag string
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

func compress(body []byte) []byte {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)                                       // a buffer takes everything
	_ = z.Close()
	return zipped.Bytes()
}

// acceptsGzip reports whether an Accept-Encoding header accepts gzip, by name or else
// by *.
func acceptsGzip(header string) bool {
	accepted := qualities(header)
	if quality, named := accepted["gzip"]; named {
		return quality > 0
	}
	return accepted["*"] > 0
}
