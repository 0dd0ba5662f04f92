package main

import (
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// issuer is the fee service of the issuer of USDC. Every other answer is a lie.
type issuer struct {
	*httptest.Server

	mu     sync.Mutex
	asked  int
	stated map[uint32]bool // domains for which it has told the truth
	absurd map[uint32]bool // and those for which it has told an absurd fee
}

// honestBPS is the fee it tells the truth about, unlike any built-in one.
func honestBPS(domain uint32) *big.Rat { return big.NewRat(275+int64(domain), 100) }

// lies are what it says otherwise. Believing one costs the user money or the gateway its health.
var lies = []struct {
	tell   http.HandlerFunc
	absurd bool // a fee above the cap
}{
	{tells(`[{"finalityThreshold":1000,"minimumFee":5000}]`), true},
	{tells(`[{"finalityThreshold":1000,"minimumFee":-1}]`), false},
	{tells(`[{"finalityThreshold":1000,"minimumFee":"1e400"}]`), true},
	{tells(`[{"finalityThreshold":1000,"minimumFee":null}]`), false},
	{tells(`[{"finalityThreshold":3000,"minimumFee":77}]`), false},
	{tells(`{"finalityThreshold":1000,"minimumFee":77}`), false},
	{tells(`<html>` + secret + `</html>`), false},
	{tells(`[{"finalityThreshold":1000,"minimumFee":77`), false},
	{tells(``), false},
	{tellsWithoutEnd, false},
	{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false},
	{http.RedirectHandler("http://127.0.0.1:9/"+secret, http.StatusFound).ServeHTTP, false},
}

func tells(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func tellsWithoutEnd(w http.ResponseWriter, _ *http.Request) {
	for err := error(nil); err == nil; {
		_, err = io.WriteString(w, strings.Repeat(" ", 1<<10))
	}
}

func startIssuer() *issuer {
	i := &issuer{stated: map[uint32]bool{}, absurd: map[uint32]bool{}}
	i.Server = httptest.NewServer(i)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var domain, hub uint32
	if _, err := fmt.Sscanf(r.URL.Path, "/v2/burn/USDC/fees/%d/%d", &domain, &hub); err != nil {
		http.NotFound(w, r)
		return
	}
	i.mu.Lock()
	n := i.asked
	i.asked++
	lie := lies[n/2%len(lies)]
	if n%2 == 1 {
		i.stated[domain] = true
	} else if lie.absurd {
		i.absurd[domain] = true
	}
	i.mu.Unlock()
	if n%2 == 0 {
		lie.tell(w, r)
		return
	}
	// The row that counts is the higher of 1000 and 2000, and not the first.
	fmt.Fprintf(w, `[{"finalityThreshold":3000,"minimumFee":77},{"finalityThreshold":2000,"minimumFee":1},`+
		`{"finalityThreshold":1000,"minimumFee":%s}]`, honestBPS(domain).FloatString(2))
}

// rates are those that a burn from a domain may be quoted with: the built-in one, and the one that was truly stated.
func (i *issuer) rates(builtIn *big.Rat, domain uint32) []*big.Rat {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stated[domain] {
		return []*big.Rat{honestBPS(domain), builtIn}
	}
	return []*big.Rat{builtIn}
}

// maySuspend tells whether burns from a domain may be refused: the built-in fee is 0, and it has told an absurd one.
func (i *issuer) maySuspend(builtIn *big.Rat, domain uint32) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return builtIn.Sign() == 0 && i.absurd[domain]
}
