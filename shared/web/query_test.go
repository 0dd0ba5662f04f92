package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/web"
)

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.InvalidAmount, "Not a number")
	}
	return n, nil
}

func TestQuery(t *testing.T) {
	tests := []struct {
		name, query string
		a, b        int
		code        fault.Code
		param       string
	}{
		{"both", "a=1&b=2", 1, 2, "", ""},
		{"optional left out", "a=1", 1, 0, "", ""},
		{"encoded", "a=%31&c=ignored", 1, 0, "", ""},
		{"required left out", "b=2", 0, 0, fault.MissingParameter, "a"},
		{"required empty", "a=&b=2", 0, 0, fault.InvalidParameter, "a"},
		{"optional empty", "a=1&b=", 1, 0, fault.InvalidParameter, "b"},
		{"twice", "a=1&a=1", 0, 0, fault.InvalidParameter, "a"},
		{"twice, once empty", "a=1&a=", 0, 0, fault.InvalidParameter, "a"},
		{"refused by the parser", "a=x", 0, 0, fault.InvalidAmount, "a"},
		{"the first fault stays", "a=x&b=y", 0, 0, fault.InvalidAmount, "a"},
		{"unreadable escape", "a=%zz", 0, 0, fault.InvalidParameter, ""},
		{"semicolons", "a=1;b=2", 0, 0, fault.InvalidParameter, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.URL.RawQuery = tt.query
			query := web.ParseQuery(r)
			q := &query
			a := web.Required(q, "a", number)
			b := web.Optional(q, "b", number)
			if a != tt.a || b != tt.b {
				t.Errorf("got %d and %d, want %d and %d", a, b, tt.a, tt.b)
			}
			if tt.code == "" {
				if q.Err() != nil {
					t.Error(q.Err())
				}
				return
			}
			if e := fault.From(q.Err()); e.Code != tt.code || e.Param != tt.param {
				t.Errorf("got %s on %q, want %s on %q", e.Code, e.Param, tt.code, tt.param)
			}
		})
	}
}

func TestJSONIsWrittenWholeOrNotAtAll(t *testing.T) {
	w := httptest.NewRecorder()
	if err := web.JSON(w, 201, map[string]string{"a": "<&>"}); err != nil {
		t.Fatal(err)
	}
	if got := w.Body.String(); w.Code != 201 || got != "{\"a\":\"<&>\"}\n" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %d %q of type %s", w.Code, got, w.Header().Get("Content-Type"))
	}
	w = httptest.NewRecorder()
	if err := web.JSON(w, 200, func() {}); err == nil || w.Body.Len() != 0 || len(w.Header()) != 0 {
		t.Errorf("got %v, %q and %v for what cannot be encoded, want an error and nothing sent", err, w.Body, w.Header())
	}
}

// FuzzQuery compares with net/url: what one reads, the other reads alike.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a=1&b=2", "a=%31+2&b", "=&&a=;", "a=%zz", "a=1&a=2", strings.Repeat("x=1&", 40) + "a=7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.RawQuery = query
		parsed := web.ParseQuery(r)
		q := &parsed
		got := web.Optional(q, "a", web.Text)
		want, err := url.ParseQuery(query)
		switch given := want["a"]; {
		case err != nil || len(given) > 1 || len(given) == 1 && given[0] == "":
			if q.Err() == nil {
				t.Fatalf("%q was read as %q, net/url says %v and %v", query, got, want, err)
			}
		case q.Err() != nil || got != want.Get("a"):
			t.Fatalf("%q: got %q and %v, net/url says %v", query, got, q.Err(), want)
		}
	})
}

// TestLengthIsStated asks a real server, which states the length of a short
// body by itself.
func TestLengthIsStated(t *testing.T) {
	for _, size := range []int{1, 2046, 2047, 2048, 2049, 10_000} {
		body := strings.Repeat("x", size)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = web.Body(w, []byte(body))
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
