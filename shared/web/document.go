package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Document serves a body that does not change while the service runs. Caches may
// keep it for maxAge, and a client that has it already is answered 304. It is
// compressed for clients that accept that.
func Document(contentType string, body []byte, maxAge time.Duration) Handler {
	kind := []string{contentType}
	cacheControl := []string{"public, max-age=" + strconv.Itoa(int(maxAge.Seconds()))}
	plain, zipped := newVariant(body), newVariant(compress(body))
	return func(w http.ResponseWriter, r *http.Request) error {
		h, v := w.Header(), &plain
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			h["Content-Encoding"] = gzipEncoding
			v = &zipped
		}
		h["Cache-Control"] = cacheControl
		h["Etag"] = v.etag
		if has(r.Header["If-None-Match"], v.etag[0]) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return send(w, http.StatusOK, kind, v.body)
	}
}

// JSONDocument is Document for a value, which is encoded once, here.
func JSONDocument(value any, maxAge time.Duration) Handler {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a document cannot be encoded: %v", err)) // its type is wrong, whatever the data
	}
	return Document(jsonType[0], append(body, '\n'), maxAge)
}

var gzipEncoding = []string{"gzip"}

// variant is a document in one encoding. The encodings have different tags, so
// that a cache does not take one for the other.
type variant struct {
	body []byte
	etag []string
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body, []string{`"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}}
}

func compress(body []byte) []byte {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
	_, _ = z.Write(body)                                       // a buffer takes everything
	_ = z.Close()
	return zipped.Bytes()
}

// acceptsGzip tells whether an Accept-Encoding header lists gzip, or anything,
// and does not rule it out with q=0. The name counts more than the star.
func acceptsGzip(header string) bool {
	accepted := qualities(header)
	if quality, named := accepted["gzip"]; named {
		return quality > 0
	}
	return accepted["*"] > 0
}

// has tells whether an If-None-Match header lists a tag.
func has(headers []string, etag string) bool {
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			item = strings.TrimSpace(item)
			if item == "*" || strings.TrimPrefix(item, "W/") == etag {
				return true
			}
		}
	}
	return false
}
