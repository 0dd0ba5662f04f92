package main

import (
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// issuer is the fee service of the issuer of USDC. Every other answer is a lie.
type issuer struct {
	*httptest.Server
	asked atomic.Int64

	mu     sync.Mutex
	stated map[uint32]bool // domains for which it has told the truth
	absurd map[uint32]bool // and those for which it has told a fee that nobody believes
}

// honestBPS is the fee it tells the truth about, unlike any built-in one.
func honestBPS(domain uint32) *big.Rat { return big.NewRat(275+int64(domain), 100) }

// lies are what it says otherwise. Believing any of them costs the user money
// or the gateway its health.
var lies = []struct {
	body   string
	absurd bool // a fee that nobody believes
}{
	{`[{"finalityThreshold":1000,"minimumFee":5000}]`, true},
	{`[{"finalityThreshold":1000,"minimumFee":-1}]`, false},
	{`[{"finalityThreshold":1000,"minimumFee":"1e400"}]`, true},
	{`[{"finalityThreshold":1000,"minimumFee":null}]`, false},
	{`[{"finalityThreshold":3000,"minimumFee":77}]`, false},
	{`{"finalityThreshold":1000,"minimumFee":77}`, false},
	{`<html>` + secret + `</html>`, false},
	{`[{"finalityThreshold":1000,"minimumFee":77`, false},
	{``, false},
}

func startIssuer() *issuer {
	i := &issuer{stated: map[uint32]bool{}, absurd: map[uint32]bool{}}
	i.Server = httptest.NewServer(i)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, err := strconv.ParseUint(path.Base(path.Dir(r.URL.Path)), 10, 32)
	if err != nil || !strings.HasPrefix(r.URL.Path, "/v2/burn/USDC/fees/") {
		http.NotFound(w, r)
		return
	}
	domain := uint32(source)
	if n := int(i.asked.Add(1)) - 1; n%2 == 0 {
		i.lie(w, r, domain, n/2)
		return
	}
	i.mu.Lock()
	i.stated[domain] = true
	i.mu.Unlock()
	// The row that counts is the higher of 1000 and 2000, and not the first.
	fmt.Fprintf(w, `[{"finalityThreshold":3000,"minimumFee":77},{"finalityThreshold":2000,"minimumFee":1},`+
		`{"finalityThreshold":1000,"minimumFee":%s}]`, honestBPS(domain).FloatString(2))
}

// lie tells one lie after the other.
func (i *issuer) lie(w http.ResponseWriter, r *http.Request, domain uint32, n int) {
	n %= len(lies) + 3
	switch n - len(lies) {
	case 0: // an answer without end
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
				return
			}
		}
	case 1: // no answer
		<-r.Context().Done()
	case 2: // a redirect to another server
		http.Redirect(w, r, "http://127.0.0.1:9/"+secret, http.StatusFound)
	default:
		if lies[n].absurd {
			i.mu.Lock()
			i.absurd[domain] = true
			i.mu.Unlock()
		}
		io.WriteString(w, lies[n].body)
	}
}

// rates are those that a burn from a domain may be quoted with: the built-in
// one, and the one that was truly stated.
func (i *issuer) rates(builtIn *big.Rat, domain uint32) []*big.Rat {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stated[domain] {
		return []*big.Rat{honestBPS(domain), builtIn}
	}
	return []*big.Rat{builtIn}
}

// maySuspend tells whether burns from a domain may be refused: the built-in fee is 0, and
// it has told a fee that nobody believes.
func (i *issuer) maySuspend(builtIn *big.Rat, domain uint32) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return builtIn.Sign() == 0 && i.absurd[domain]
}
