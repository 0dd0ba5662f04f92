package caller

import (
	"net/http"
	"testing"
)

// TestTheWholeHashIsCompared: a key whose hash begins like that of a known one, as
// nobody can make one, is not that key.
func TestTheWholeHashIsCompared(t *testing.T) {
	key, _ := NewKey()
	hash := hashOf(key)
	alike := hash
	alike[len(alike)-1] ^= 1
	set := newClientSet()
	for _, tt := range []struct {
		known keyHash
		want  bool
	}{{hash, true}, {alike, false}} {
		set.keys[hash.id()] = &entry{Client{Name: "Acme"}, []keyHash{tt.known}}
		clients, c := Clients{}, Caller{}
		clients.current.Store(set)
		if got := clients.Recognise(&c, http.Header{keyHeader: {key}}); got != tt.want || (c.Known != nil) != tt.want {
			t.Errorf("got %v and %+v, want %v", got, c, tt.want)
		}
	}
}
