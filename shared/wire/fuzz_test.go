package wire

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzWarnTypos holds what a warning repeats to what a header may carry.
func FuzzWarnTypos(f *testing.F) {
	f.Add("integratorID")
	f.Add("amoun\nt")
	f.Fuzz(func(t *testing.T, name string) {
		q := ParseQuery(url.QueryEscape(name) + "=1")
		h := http.Header{}
		WarnTypos(h, q, Params)
		for _, w := range h.Values(RequestWarning) {
			if len(w) > 200 || strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q: got %q", name, w)
			}
		}
	})
}
