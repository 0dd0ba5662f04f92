package caller_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/quotegate/quotegate/gateway/caller"
)

func FuzzKeyHeader(f *testing.F) {
	key, hash := caller.NewKey()
	clients := read(f, `{"clients": [{"name": "Acme", "keys": ["`+hash+`"]}]}`)
	f.Add(key)
	f.Add("")
	f.Add(strings.Repeat("A", 46))
	f.Fuzz(func(t *testing.T, sent string) {
		c := caller.Caller{}
		if got := clients.Recognise(&c, http.Header{"Api-Key": {sent}}); got != (sent == key) || got != c.Proven() {
			t.Errorf("%q: got %v", sent, got)
		}
	})
}
