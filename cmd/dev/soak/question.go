package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
)

// question is a request, and what its answer must be: a quote, something else, or an error.
type question struct {
	kind   string // under which it is counted
	method string // GET if empty
	target string

	version string         // that must give a quote
	pair    *client.Pair   // of the quote; nil if there is none
	swap    client.Request // for the quote
	part    string         // of an answer that is not a quote
	code    string         // of the error that must come; empty if none must

	refusing bool // the plan may have refused the version when this was asked
}

const (
	aboutHealth     = "health"
	aboutIntegrator = "integrator"
	aboutStatus     = "status"
	aboutAccount    = "details"            // what an account has
	aboutSimulation = "details,simulation" // and what its calls would do
	heldAtNode      = "held"               // it waits for a node
	overTheLimit    = "over the limit"
)

// asksForQuote tells whether the access log has the request as one for a quote. Another method reaches no route.
func (q question) asksForQuote() bool {
	path, _, _ := strings.Cut(q.target, "?")
	return q.method == "" && strings.HasSuffix(path, "/quote")
}

// request is a question of a client, by its number. What comes of it is tallied; an error is about the connection.
func (w *world) request(q question, client int) load.Request {
	q.refusing = w.refusing.Load()
	judge := func(a load.Answer, err error) error {
		if err != nil {
			if !w.stopping.Load() || !errors.Is(err, load.ErrUnanswered) || q.kind == heldAtNode {
				w.tally.fail("%s: %s: %w", q.kind, q.target, err)
			}
			return err
		}
		w.tally.answered(q, a)
		if err := w.check(q, a); err != nil {
			w.tally.fail("%s: %s\ngot %d %v %s\n%w", q.kind, q.target, a.Status, a.Header, a.Body, err)
		}
		return nil
	}
	return load.Request{Method: q.method, Target: q.target, Client: client, Judge: judge}
}

// ask asks on a connection of its own.
func (w *world) ask(q question, client int) (load.Answer, error) {
	return load.Once(w.gateway.Addr, w.request(q, client))
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// question makes one up, of some kind.
func (w *world) question(rng *rand.Rand) question {
	switch n := rng.IntN(100); {
	case n < 50:
		return w.plainQuestion(rng)
	case n < 80:
		return w.slowQuestion(rng)
	case n < 92:
		return wrongQuestion(rng)
	}
	return healthQuestion
}

var healthQuestion = question{kind: aboutHealth, target: "/v3/swap/healthcheck", part: `"status":"ok"`}

// randomPair is some pair that fits.
func (w *world) randomPair(rng *rand.Rand, fits func(*client.Pair) bool) *client.Pair {
	for {
		if pair := w.checker.Pairs[rng.IntN(len(w.checker.Pairs))]; fits(pair) {
			return pair
		}
	}
}

// quoteQuestion asks a version for a quote of some swap over a pair.
func (w *world) quoteQuestion(kind, version string, pair *client.Pair, rng *rand.Rand) question {
	return question{kind: kind, version: version, pair: pair}.about(w.checker.Random(rng, pair))
}

// about asks for a quote of a swap.
func (q question) about(swap client.Request) question {
	q.swap = swap
	q.target = quotecheck.Target(q.version, swap)
	switch {
	case !q.isNamed():
	case isUnregistered(swap.Integrator):
		q.code = "INTEGRATOR_UNREGISTERED"
	case isInactive(swap.Integrator):
		q.code = "INTEGRATOR_INACTIVE"
	}
	return q
}

// isNamed tells whether an integrator is.
func (q question) isNamed() bool { return q.swap.Integrator != common.Address{} }

// plainQuestion asks any version for any pair it knows.
func (w *world) plainQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	pair := w.randomPair(rng, func(p *client.Pair) bool { return quotecheck.Serves(version, p) })
	return w.quoteQuestion(version, version, pair, rng)
}

// slowQuestion asks for what a node is needed for. Nodes never decide whether there is a quote, but for that of an
// integrator.
func (w *world) slowQuestion(rng *rand.Rand) question {
	kinds := []string{aboutIntegrator, aboutIntegrator, aboutStatus, aboutAccount, aboutAccount, aboutSimulation}
	kind := kinds[rng.IntN(len(kinds))]
	if kind == aboutStatus { // of a transaction that no node knows
		target := fmt.Sprintf("/v3/swap/status?srcChain=%s&txHash=0x%016x%016x%016x%016x",
			[]string{"1", "369"}[rng.IntN(2)], rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64())
		return question{kind: kind, target: target, part: `"state":"NOT_FOUND"`}
	}
	fits := func(p *client.Pair) bool { return p.SrcChain == 1 || p.SrcChain == 369 } // which have nodes
	if kind == aboutIntegrator {
		fits = func(p *client.Pair) bool { return p.FeeChain == 369 }
	}
	q := w.quoteQuestion(kind, "v3", w.randomPair(rng, fits), rng)
	if kind == aboutIntegrator || q.pair.FeeChain == 369 && rng.IntN(2) == 0 {
		q.swap.Integrator = someIntegrator(rng)
		q = q.about(q.swap)
	}
	if kind != aboutIntegrator {
		q.swap.From = randomAddress(rng)
		q.swap.Simulate = kind == aboutSimulation
		q.target += "&from=" + q.swap.From.Hex() + "&include=" + kind
	}
	return q
}

// someIntegrator is mostly one of twenty, so that caches are used.
func someIntegrator(rng *rand.Rand) common.Address {
	if rng.IntN(5) > 0 {
		rng = rand.New(rand.NewPCG(1, uint64(rng.IntN(20))))
	}
	return randomAddress(rng)
}

// heldQuestion is about an integrator that the gateway has not heard of, so that the answer waits for a node.
func (w *world) heldQuestion(integrator common.Address) question {
	q := w.quoteQuestion(heldAtNode, "v3", w.plainPair, newRand())
	q.swap.Integrator = integrator
	return q.about(q.swap)
}

// goodQuery asks for a quote; each wrong request replaces a part of it.
const goodQuery = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
	"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

var wrongRequests = []struct{ method, path, replaced, by, code string }{
	{"", "/v3/swap/quote", "amount=100000000", "amount=9999999", "AMOUNT_OUT_OF_RANGE"},
	{"", "/v3/swap/quote", "amount=100000000", "amount=1e8", "INVALID_AMOUNT"},
	{"", "/v3/swap/quote", "&amount=100000000", "", "MISSING_PARAMETER"},
	{"", "/v3/swap/quote", "srcChain=1&", "srcChain=2&", "UNSUPPORTED_CHAIN"},
	{"", "/v3/swap/quote", "srcToken=USDC", "srcToken=PEPE", "UNSUPPORTED_TOKEN"},
	{"", "/v3/swap/quote", "dstChain=369", "dstChain=8453", "UNSUPPORTED_PAIR"},
	{"", "/v3/swap/quote", "0x5aAeb", "0x5aaeb", "INVALID_RECIPIENT"},
	{"", "/v3/swap/nothing", "", "", "NOT_FOUND"},
	{"DELETE", "/v3/swap/quote", "", "", "METHOD_NOT_ALLOWED"},
}

func wrongQuestion(rng *rand.Rand) question {
	c := wrongRequests[rng.IntN(len(wrongRequests))]
	query := strings.Replace(goodQuery, c.replaced, c.by, 1)
	return question{kind: "wrong", method: c.method, target: c.path + "?" + query, code: c.code}
}

// check judges an answer.
func (w *world) check(q question, a load.Answer) error {
	switch {
	case strings.Contains(string(a.Body), secret):
		return errors.New("a secret is shown")
	case q.kind == aboutHealth && w.stopping.Load() && a.Status == http.StatusServiceUnavailable:
		q.part = `"status":"draining"`
	case a.Status != http.StatusOK:
		code, err := readError(a)
		if err == nil && !w.mayFail(q, code) {
			err = errors.New("a wrong error")
		}
		return err
	case q.code != "":
		return fmt.Errorf("want %s", q.code)
	}
	if a.Header.Get("Content-Type") != "application/json" || !json.Valid(a.Body) {
		return errors.New("not JSON")
	}
	if !strings.Contains(string(a.Body), q.part) {
		return fmt.Errorf("want %s", q.part)
	}
	if q.pair == nil {
		return nil
	}
	return w.checkQuote(q, a.Body)
}

// statuses has the errors that are not a bad request.
var statuses = map[string]int{
	"NOT_FOUND":             http.StatusNotFound,
	"METHOD_NOT_ALLOWED":    http.StatusMethodNotAllowed,
	"VERSION_BROWNOUT":      http.StatusGone,
	"RATE_LIMITED":          http.StatusTooManyRequests,
	"CHAIN_UNAVAILABLE":     http.StatusServiceUnavailable,
	"INTEGRATOR_UNVERIFIED": http.StatusServiceUnavailable,
	"ISSUER_FEE_TOO_HIGH":   http.StatusServiceUnavailable,
}

// readError wants an error to be JSON in full, with the status of its code and the ID that the header has. One that is
// temporary says when to retry.
func readError(a load.Answer) (code string, err error) {
	var body struct{ Error, Code, RequestID string }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return "", err
	}
	temporary := a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests
	switch {
	case a.Header.Get("Content-Type") != "application/json" || body.Error == "":
		err = errors.New("not an error of the gateway")
	case a.Status != cmp.Or(statuses[body.Code], http.StatusBadRequest):
		err = errors.New("the code has another status")
	case body.RequestID == "" || body.RequestID != a.Header.Get("X-Request-Id"):
		err = errors.New("not the request ID of the header")
	case temporary && a.Header.Get("Retry-After") == "":
		err = errors.New("no Retry-After")
	}
	return body.Code, err
}

// mayFail tells whether an error is a right answer to a question now.
func (w *world) mayFail(q question, code string) bool {
	switch code {
	case q.code:
		return true
	case "VERSION_BROWNOUT":
		return q.version == w.retiring && (q.refusing || w.refusing.Load())
	case "RATE_LIMITED":
		return q.kind == overTheLimit
	case "CHAIN_UNAVAILABLE":
		return q.kind == aboutStatus
	case "INTEGRATOR_UNVERIFIED":
		return q.isNamed()
	case "INTEGRATOR_FEE_TOO_HIGH": // a node that lies says so of every other integrator
		return q.isNamed() && q.swap.Integrator[1]%2 != 0
	case "ISSUER_FEE_TOO_HIGH": // an absurd one, and there is no built-in fee
		if !q.burns() || quotecheck.PublishedBPS(q.pair.SrcChain).Sign() != 0 {
			return false
		}
		_, absurd := w.issuer.absurd.Load(domainOf(q.pair))
		return absurd
	}
	return false
}

// burns tells whether the quote is of a burn.
func (q question) burns() bool { return q.pair != nil && q.pair.Type == client.CCTPInbound }

// domainOf is the issuer's number of the chain from which a pair burns.
func domainOf(p *client.Pair) uint32 {
	network, _ := chain.FindNetwork(chain.ID(p.SrcChain))
	return network.CCTP.Domain
}

// terms are what a quote may be held to.
func (q question) terms() (t quotecheck.Terms) {
	if q.isNamed() {
		t.IntegratorBPS = feeBPS(q.swap.Integrator)
	}
	if q.burns() { // at the built-in rate, or at the one that the issuer tells the truth about
		t.IssuerBPS = []*big.Rat{quotecheck.PublishedBPS(q.pair.SrcChain), honestBPS(domainOf(q.pair))}
	}
	return t
}

// checkQuote judges a quote.
func (w *world) checkQuote(q question, body []byte) error {
	checked, err := w.checker.Check(q.version, q.swap, q.terms(), body)
	if err == nil && q.swap.From != (common.Address{}) {
		err = w.checkAccount(q, checked.Quote.Details)
	}
	return err
}

// checkAccount judges what a quote says of the account: what the node said, or why not. That it is about this account,
// the client has checked.
func (w *world) checkAccount(q question, d *client.Details) error {
	switch {
	case d == nil:
		return errors.New("no details")
	case q.kind == aboutSimulation && d.Simulation == nil && d.SimulationReason == "":
		return errors.New("neither a simulation nor why it is missing")
	case d.Checks != nil && d.Checks.Native.Actual == coinBalance:
		w.tally.read.Add(1)
	case d.Checks == nil && d.Reason != "":
		w.tally.unread.Add(1)
	default:
		return errors.New("neither the balance nor why it is missing")
	}
	return nil
}
