package version_test

import (
	"net/http"
	"net/http/httptest"
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
