package version_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/version"
)

func TestJSONIsWrittenWholeOrNotAtAll(t *testing.T) {
	w := httptest.NewRecorder()
	if err := version.JSON(w, 201, map[string]string{"a": "<&>"}); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); w.Code != 201 || got != "{\"a\":\"<&>\"}\n" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %q of type %s", w.Code, got, w.Header().Get("Content-Type"))
	}
	w = httptest.NewRecorder()
	if err := version.JSON(w, 200, func() {}); err == nil || w.Body.Len() != 0 || len(w.Header()) != 0 {
		t.Errorf("got %v, %q and %v for what cannot be encoded, want an error and nothing sent", err, w.Body, w.Header())
	}
}

// TestLengthIsStated asks a real server, which states the length of a short
// body by itself.
func TestLengthIsStated(t *testing.T) {
	for _, size := range []int{1, 2046, 2047, 2048, 2049, 10_000} {
		body := strings.Repeat("x", size)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = version.Send(w, 200, "text/plain", []byte(body))
		}))
		for _, method := range []string{"GET", "HEAD"} {
			req, err := http.NewRequest(method, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.ContentLength != int64(size) || len(res.TransferEncoding) != 0 {
				t.Errorf("%s of %d bytes: got Content-Length %d, encoding %v", method, size, res.ContentLength, res.TransferEncoding)
			}
		}
		server.Close()
	}
}

// FuzzParseQuery: a query string is read as url.ParseQuery reads it, or refused by both.
func FuzzParseQuery(f *testing.F) {
	for _, raw := range []string{
		"", "a=1&b=2", "a=1&a=&b", "=x&&a", "a=%31+2&%61=3", "a=%zz", "%=1", "a=1;b=2", "a==b=c", "a=1&b=%", "&;",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		want, wantErr := url.ParseQuery(raw)
		params, err := version.ParseQuery(raw)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got error %v, want %v", raw, err, wantErr)
		}
		if err != nil {
			return
		}
		got := url.Values{}
		for _, p := range params {
			got.Add(p.Name, p.Value)
		}
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%q: got %v, want %v", raw, got, want)
		}
	})
}
