// Package static serves documents that do not change while the service runs, with an ETag and
// compressed for clients that accept Brotli or gzip. It also has what pages need: hashes for a
// Content-Security-Policy, and the choice between HTML and JSON.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/quotegate/quotegate/shared/version"
)

// PolicyHash is the source expression that allows exactly this inline script or style
// sheet in a Content-Security-Policy.
func PolicyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// PrefersHTML reports whether Accept names HTML and does not prefer JSON. A wildcard alone
// does not count: programs send it.
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

// Document serves a body that does not change while the service runs. Caches may store it for
// maxAge, and a client whose copy is current gets 304. It is compressed as a client prefers,
// when the first such client asks: to compress all would be half the work of a start.
func Document(contentType string, body []byte, maxAge time.Duration) version.Handler {
	cacheControl := "public, max-age=" + strconv.Itoa(int(maxAge.Seconds()))
	variants := map[string]func() *variant{
		"":     sync.OnceValue(func() *variant { return newVariant(body) }),
		"gzip": sync.OnceValue(func() *variant { return newVariant(gzipped(body)) }),
		"br":   sync.OnceValue(func() *variant { return newVariant(brotlied(body)) }),
	}
	return func(w http.ResponseWriter, r *version.Request) error {
		h := w.Header()
		h.Add("Vary", "Accept-Encoding")
		encoding := preferred(r.Header.Get("Accept-Encoding"))
		if encoding != "" {
			h.Set("Content-Encoding", encoding)
		}
		v := variants[encoding]()
		h.Set("Cache-Control", cacheControl)
		h.Set("ETag", v.etag)
		known := strings.Join(r.Header["If-None-Match"], ",")
		if known == "*" || strings.Contains(known, v.etag) { // the quotes delimit the tag
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return version.Send(w, http.StatusOK, contentType, v.body)
	}
}

// JSON is Document for a value, which is encoded once.
func JSON(value any, maxAge time.Duration) version.Handler {
	body, err := version.Encode(value)
	if err != nil {
		panic(fmt.Sprintf("a document cannot be encoded: %v", err)) // a programming error
	}
	return Document(version.JSONType, body, maxAge)
}

// variant is a document in one encoding. Encodings have different tags, so that a cache does
// not confuse them.
type variant struct {
	body []byte
	etag string
}

func newVariant(body []byte) *variant {
	sum := sha256.Sum256(body)
	return &variant{body, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	return written(z, body, &b)
}

// brotlied takes a seventh less than gzip, and a second for a megabyte.
func brotlied(body []byte) []byte {
	var b bytes.Buffer
	return written(brotli.NewWriterLevel(&b, brotli.BestCompression), body, &b)
}

func written(w io.WriteCloser, body []byte, to *bytes.Buffer) []byte {
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return to.Bytes()
}

// preferred is br, gzip or, for a client that accepts neither by name nor by *, empty.
func preferred(header string) string {
	accepted := qualities(header)
	quality := func(encoding string) float64 {
		if q, named := accepted[encoding]; named {
			return q
		}
		return accepted["*"]
	}
	switch br, gz := quality("br"), quality("gzip"); {
	case br > 0 && br >= gz:
		return "br"
	case gz > 0:
		return "gzip"
	}
	return ""
}
