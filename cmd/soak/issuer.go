package main

import (
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// issuer is the fee service of the issuer of USDC. Every other answer is a lie.
type issuer struct {
	url    string
	server *http.Server
	asked  atomic.Int64

	mu     sync.Mutex
	stated map[uint32]bool // domains for which it has told the truth
	absurd map[uint32]bool // and those for which it has told a fee that nobody believes
}

// honestBPS is the fee it tells the truth about, unlike any built-in one.
func honestBPS(domain uint32) *big.Rat { return big.NewRat(275+int64(domain), 100) }

// lies are what it says otherwise. Believing any of them costs the user money
// or the gateway its health.
var lies = []string{
	`[{"finalityThreshold":1000,"minimumFee":5000}]`, // absurd
	`[{"finalityThreshold":1000,"minimumFee":-1}]`,
	`[{"finalityThreshold":1000,"minimumFee":"1e400"}]`, // absurd
	`[{"finalityThreshold":1000,"minimumFee":null}]`,
	`[{"finalityThreshold":3000,"minimumFee":77}]`,
	`{"finalityThreshold":1000,"minimumFee":77}`,
	`<html>` + secret + `</html>`,
	`[{"finalityThreshold":1000,"minimumFee":77`,
	``,
}

func startIssuer() (*issuer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &issuer{url: "http://" + listener.Addr().String(), stated: map[uint32]bool{}, absurd: map[uint32]bool{}}
	i.server = &http.Server{Handler: i}
	go func() { _ = i.server.Serve(listener) }() // until it is closed
	return i, nil
}

func (i *issuer) close() { i.server.Close() }

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
	switch n {
	case 0, 2:
		i.mu.Lock()
		i.absurd[domain] = true
		i.mu.Unlock()
		io.WriteString(w, lies[n])
	case len(lies): // an answer without end
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
				return
			}
		}
	case len(lies) + 1: // no answer
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	case len(lies) + 2: // a redirect to another server
		http.Redirect(w, r, "http://127.0.0.1:9/"+secret, http.StatusFound)
	default:
		io.WriteString(w, lies[n])
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
