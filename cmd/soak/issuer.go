package main

import (
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"

	testnode "github.com/quotegate/quotegate/shared/testkit/node"
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

// absurdLies are the first of the lies: fees above the cap.
const absurdLies = 2

// lies are what it says otherwise. Believing one costs the user money or the gateway its health.
var lies = []http.HandlerFunc{
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":5000}]`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":"1e400"}]`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":-1}]`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":null}]`),
	testnode.Says(`[{"finalityThreshold":3000,"minimumFee":77}]`),
	testnode.Says(`{"finalityThreshold":1000,"minimumFee":77}`),
	testnode.Says(`<html>` + secret + `</html>`),
	testnode.Says(`[{"finalityThreshold":1000,"minimumFee":77`),
	testnode.Says(``),
	testnode.Pours,
	testnode.Hangs,
	http.RedirectHandler("http://127.0.0.1:9/"+secret, http.StatusFound).ServeHTTP,
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
	lie := i.asked / 2 % len(lies)
	honest := i.asked%2 == 1
	i.asked++
	if honest {
		i.stated[domain] = true
	} else if lie < absurdLies {
		i.absurd[domain] = true
	}
	i.mu.Unlock()
	if !honest {
		lies[lie](w, r)
		return
	}
	// The row that counts is the higher of 1000 and 2000, and not the first.
	fmt.Fprintf(w, `[{"finalityThreshold":3000,"minimumFee":77},{"finalityThreshold":2000,"minimumFee":1},`+
		`{"finalityThreshold":1000,"minimumFee":%s}]`, honestBPS(domain).FloatString(2))
}

// told tells whether it has stated its fee for a domain, and whether it has stated an absurd one.
func (i *issuer) told(domain uint32) (truth, absurd bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stated[domain], i.absurd[domain]
}
