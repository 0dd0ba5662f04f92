// Package version is what a version is to the gateway: its routes with handlers that return
// their error, the format of its errors, and JSON that is written whole or not at all.
package version

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// Handler answers a request or returns an error. It writes nothing before it is sure to
// succeed. Only the gateway replies to an error.
type Handler func(http.ResponseWriter, *Request) error

// Request is a request with what the gateway knows of it.
type Request struct {
	*http.Request
	Query    []Param // parsed once for all who read it; nil if it cannot be read
	QueryErr error   // why it cannot be read

	// Caller is the network that the request comes from. Reads of nodes are shared fairly
	// among networks. It is the zero Prefix for a peer without an address.
	Caller netip.Prefix
	// AdmitRead counts a read of the nodes, or returns why the caller may not cause
	// one now. It is nil on routes that do not read nodes.
	AdmitRead func() *fault.Error

	// Quoted is set by a handler that has quoted.
	Quoted Quoted
}

// Param is one parameter of a query string.
type Param struct{ Name, Value string }

// ParseQuery is url.ParseQuery with its parameters in a list, in their order: one allocation
// instead of eight, and a query is read once or twice. A query string is read whole or not at
// all.
func ParseQuery(raw string) ([]Param, error) {
	if raw == "" {
		return nil, nil
	}
	params := make([]Param, 0, 8)
	for part := range strings.SplitSeq(raw, "&") {
		if strings.Contains(part, ";") {
			return nil, errors.New("invalid semicolon separator in query")
		}
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, err
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return nil, err
		}
		params = append(params, Param{name, value})
	}
	return params, nil
}

// Quoted is what a handler has quoted.
type Quoted struct {
	Pair *chain.Pair // nil without a quote
	Swap Swap
}

// Swap is a request for a quote as a version has decoded it. One core quotes for all
// versions, so two versions that decode a query to the same swap give the same quote.
type Swap interface {
	// Differs is the query parameter in which another version's swap differs, or empty.
	Differs(from Swap) (param string)
}

// ReadTimeout bounds how long a request may wait for nodes or a database.
const ReadTimeout = 10 * time.Second

// Module is one version of the interface.
type Module struct {
	Name string
	// Prefixes of paths that belong to this version. Errors under them have
	// this version's format.
	Prefixes []string
	Routes   []Route
	Revision Revision
	// Decode gives the same swap, or the same error, as the handlers of the routes that
	// quote.
	Decode func(*Request) (Swap, error)
	// MapFault gives the status and the body of a failure in this version.
	MapFault func(e *fault.Error, requestID string) (status int, body any)
	// Next is the version that Moves leads to, and Moves what every client has to do
	// for it besides calling it, as docs/migrate.md explains. Both are empty for the
	// newest version.
	Next  string
	Moves []string
}

// Revision is how a request selects this version at a path where several versions quote. It
// is the zero value for a version that has its paths to itself.
type Revision struct {
	Path   string   // where several versions quote
	Names  []string // in the header API-Revision, in lower case
	Serves string   // the path of the route that answers
}

// QuotePaths are the paths where the version quotes.
func (m *Module) QuotePaths() (paths []string) {
	for _, route := range m.Routes {
		if route.Quotes {
			paths = append(paths, route.Path)
		}
	}
	if shared := m.Revision.Path; shared != "" && !slices.Contains(paths, shared) {
		paths = append(paths, shared)
	}
	return paths
}

// ContractPath is where a version's contract file is served.
func ContractPath(version string) string { return "/" + version + "/openapi.yaml" }

// Route is one GET endpoint of a version.
type Route struct {
	Path string
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

// JSON answers with v. Nothing is sent when v cannot be encoded.
func JSON(w http.ResponseWriter, status int, v any) error {
	body, err := Encode(v)
	if err != nil {
		return err
	}
	return Send(w, status, JSONType, body)
}

// JSONType is the content type of JSON.
const JSONType = "application/json"

// Encode is a line of JSON.
func Encode(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // keeps the sentences readable
	err := encoder.Encode(v)
	return line.Bytes(), err
}

// shortBody is the length up to which net/http itself adds the Content-Length. A ninth header
// makes Go's map of them, and net/http's copy, twice as large: 7 % of a quote.
const shortBody = 2048

var noSniff = []string{"nosniff"}

// Send answers with a whole body. It returns nil: an error of writing means that the client
// has left.
func Send(w http.ResponseWriter, status int, contentType string, body []byte) error {
	h := w.Header()
	h["Content-Type"] = []string{contentType}
	h["X-Content-Type-Options"] = noSniff
	if len(body) > shortBody {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}
