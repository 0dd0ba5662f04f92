package static_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/quotegate/quotegate/shared/static"
	"github.com/quotegate/quotegate/shared/version"
)

// TestDocument asks a real server for a document in all encodings, and again
// with the tags that came.
func TestDocument(t *testing.T) {
	body := strings.Repeat("all the pairs there are ", 500)
	handle := static.Document("text/plain", []byte(body), time.Minute)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = handle(w, &version.Request{Request: r}) }))
	defer server.Close()
	get := func(method, encoding, tag string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding) // the client then leaves decoding to us
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var from io.Reader = res.Body
		if res.StatusCode == http.StatusOK && method == "GET" {
			switch res.Header.Get("Content-Encoding") {
			case "gzip":
				if from, err = gzip.NewReader(res.Body); err != nil {
					t.Fatal(err)
				}
			case "br":
				from = brotli.NewReader(res.Body)
			}
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(text)
	}

	tags := map[string]string{}
	for accept, want := range map[string]string{
		"": "", "identity": "", "gzip;q=0": "", "gzip; q=0.0, deflate": "", "*;q=0": "", "gzip;q=x": "", "br;q=0, *;q=0": "",
		"gzip": "gzip", "GZIP": "gzip", "gzip;q=0.5": "gzip", "deflate, gzip;q=1.0, br;q=0.5": "gzip", "*;q=0, gzip": "gzip",
		"br;q=0, *": "gzip", "br": "br", "gzip, deflate, br, zstd": "br", "*": "br", "gzip;q=0, *": "br", "Br;q=0.1": "br",
	} {
		res, text := get("GET", accept, "")
		if got := res.Header.Get("Content-Encoding"); got != want || text != body {
			t.Errorf("%q: got %q and %d bytes, want %q and %d", accept, got, len(text), want, len(body))
		}
		if res.Header.Get("Vary") != "Accept-Encoding" || res.Header.Get("Cache-Control") != "public, max-age=60" || res.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%q: got headers %v", accept, res.Header)
		}
		if want != "" && res.ContentLength > int64(len(body))/10 {
			t.Errorf("%q: %d bytes are not compressed", accept, res.ContentLength)
		}
		tags[want] = res.Header.Get("Etag")
	}
	if len(tags) != 3 || tags[""] == tags["gzip"] || tags["gzip"] == tags["br"] || tags["br"] == tags[""] {
		t.Fatalf("got tags %v, want one for each encoding", tags)
	}
	for encoding, tag := range tags {
		other := tags["gzip"]
		if encoding == "gzip" {
			other = tags["br"]
		}
		for match, want := range map[string]int{
			tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304,
			other: 200, `"x"`: 200, strings.Trim(tag, `"`): 200, tag[:len(tag)-2] + `"`: 200,
		} {
			res, text := get("GET", encoding, match)
			if res.StatusCode != want || (want == 304) != (text == "") || res.Header.Get("Etag") != tag {
				t.Errorf("%q with %s: got %d, %d bytes and tag %s; want %d", encoding, match, res.StatusCode, len(text), res.Header.Get("Etag"), want)
			}
		}
		if res, _ := get("HEAD", encoding, ""); res.StatusCode != 200 || res.ContentLength <= 0 || res.Header.Get("Etag") != tag {
			t.Errorf("HEAD of %q: got %d, length %d and tag %s", encoding, res.StatusCode, res.ContentLength, res.Header.Get("Etag"))
		}
	}
}
