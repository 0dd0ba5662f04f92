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

	part string // of an answer that is not a quote
	code string // of the error that must come; empty if none must

	version string         // that must give a quote; empty for another answer
	pair    *client.Pair   // of the quote
	swap    client.Request // for the quote

	refusing bool // the plan may have refused the version when this was asked
}

const (
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
		w.tally.answer(q, a)
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
	}
	return fixedQuestions[rng.IntN(len(fixedQuestions))]
}

// plainQuestion asks any version for any pair it knows.
func (w *world) plainQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	return w.quoteQuestion(version, version, rng, func(p *client.Pair) bool { return quotecheck.Serves(version, p) })
}

// quoteQuestion asks a version for a quote of some swap over some pair that fits.
func (w *world) quoteQuestion(kind, version string, rng *rand.Rand, fits func(*client.Pair) bool) question {
	for {
		pair := w.checker.Pairs[rng.IntN(len(w.checker.Pairs))]
		if fits(pair) {
			return question{kind: kind, version: version, pair: pair}.about(w.checker.Random(rng, pair))
		}
	}
}

// about asks for a quote of a swap.
func (q question) about(swap client.Request) question {
	q.swap = swap
	q.target = quotecheck.Target(q.version, swap)
	return q
}

// isPlain tells whether every version knows a pair, and every chain of it has nodes.
func isPlain(p *client.Pair) bool {
	return p.SrcChain == 1 && p.DstChain == 369 && p.SrcToken.Symbol == "USDC"
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
	q := w.quoteQuestion(kind, "v3", rng, func(p *client.Pair) bool {
		hasNodes := p.SrcChain == 1 || p.SrcChain == 369
		return kind == aboutIntegrator && p.FeeChain == 369 || kind != aboutIntegrator && hasNodes
	})
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
func (w *world) heldQuestion() question {
	q := w.quoteQuestion(heldAtNode, "v3", newRand(), isPlain)
	q.swap.Integrator = randomAddress(newRand())
	return q.about(q.swap)
}

var healthQuestion = question{kind: "health", target: "/v3/swap/healthcheck", part: `"status":"ok"`}

// fixedQuestions are about the health of the gateway, and wrong in every way.
var fixedQuestions = []question{
	healthQuestion,
	wrongQuestion("amount=100000000", "amount=9999999", "AMOUNT_OUT_OF_RANGE"),
	wrongQuestion("amount=100000000", "amount=1e8", "INVALID_AMOUNT"),
	wrongQuestion("&amount=100000000", "", "MISSING_PARAMETER"),
	wrongQuestion("srcChain=1&", "srcChain=2&", "UNSUPPORTED_CHAIN"),
	wrongQuestion("srcToken=USDC", "srcToken=PEPE", "UNSUPPORTED_TOKEN"),
	wrongQuestion("dstChain=369", "dstChain=8453", "UNSUPPORTED_PAIR"),
	wrongQuestion("0x5aAeb", "0x5aaeb", "INVALID_RECIPIENT"),
	wrongQuestion("/swap/quote", "/swap/nothing", "NOT_FOUND"),
	{kind: "wrong", method: "DELETE", target: goodTarget, code: "METHOD_NOT_ALLOWED"},
}

const goodTarget = "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
	"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

// wrongQuestion has something else in place of a part of a good request.
func wrongQuestion(part, instead, code string) question {
	return question{kind: "wrong", target: strings.Replace(goodTarget, part, instead, 1), code: code}
}

// check judges an answer.
func (w *world) check(q question, a load.Answer) error {
	isDraining := q.target == healthQuestion.target && w.stopping.Load() && a.Status == http.StatusServiceUnavailable
	switch {
	case strings.Contains(string(a.Body), secret):
		return errors.New("a secret is shown")
	case isDraining:
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
	if q.version == "" {
		return nil
	}
	checked, err := w.checker.Check(q.version, q.swap, q.terms(), a.Body)
	if err == nil && q.swap.From != (common.Address{}) {
		err = w.checkAccount(q, checked.Quote.Details)
	}
	return err
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
	isNamed := q.swap.Integrator != common.Address{}
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
		return isNamed
	case "INTEGRATOR_FEE_TOO_HIGH":
		return isNamed && liesAboutFee(q.swap.Integrator)
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
	if q.swap.Integrator != (common.Address{}) {
		t.IntegratorBPS = feeBPS(q.swap.Integrator)
	}
	if q.burns() { // at the built-in rate, or at the one that the issuer tells the truth about
		t.IssuerBPS = []*big.Rat{quotecheck.PublishedBPS(q.pair.SrcChain), honestBPS(domainOf(q.pair))}
	}
	return t
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
		w.tally.count(holdingShown, 1)
	case d.Checks == nil && d.Reason != "":
		w.tally.count(holdingNot, 1)
	default:
		return errors.New("neither the balance nor why it is missing")
	}
	return nil
}
