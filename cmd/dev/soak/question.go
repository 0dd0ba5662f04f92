package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
	"github.com/quotegate/quotegate/v3/client"
)

// question is a request, and what its answer must be: a quote, something else, or an error.
type question struct {
	kind   string // under which it is counted
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
	aboutAccount    = "details" // what an account has, and what its calls would do
	heldAtNode      = "held"    // it waits for a node
	overTheLimit    = "over the limit"
)

// asksForQuote tells whether the access log has the request as one for a quote.
func (q question) asksForQuote() bool { return q.kind != aboutStatus && q.kind != healthQuestion.kind }

// question makes one up, of some kind.
func (w *world) question() question {
	switch n := rand.IntN(100); {
	case n < 50:
		return w.plainQuestion()
	case n < 80:
		return w.slowQuestion()
	}
	return fixedQuestions[rand.IntN(len(fixedQuestions))]
}

// plainQuestion asks any version for any pair it knows.
func (w *world) plainQuestion() question {
	version := w.versions[rand.IntN(len(w.versions))]
	return w.quoteQuestion(version, version, func(p *client.Pair) bool { return quotecheck.Serves(version, p) })
}

// slowQuestion asks for what a node is needed for. Nodes never decide whether there is a quote, but for that of an
// integrator.
func (w *world) slowQuestion() question {
	switch rand.IntN(3) {
	case 0: // of a transaction that no node knows
		chain := w.nodes[rand.IntN(len(w.nodes))].chain
		target := fmt.Sprintf("/v3/swap/status?srcChain=%d&txHash=0x%064x", chain, rand.Uint64())
		return question{kind: aboutStatus, target: target, part: `"state":"NOT_FOUND"`}
	case 1: // where there are nodes
		return w.quoteQuestion(aboutAccount, "v3", func(p *client.Pair) bool {
			return p.SrcChain == 1 || p.SrcChain == 369
		})
	}
	return w.quoteQuestion(aboutIntegrator, "v3", func(p *client.Pair) bool { return p.FeeChain == 369 })
}

// isPlain tells whether every version knows a pair, and every chain of it has nodes.
func isPlain(p *client.Pair) bool {
	return p.SrcChain == 1 && p.DstChain == 369 && p.SrcToken.Symbol == "USDC"
}

// quoteQuestion asks a version for a quote of some swap over some pair that fits.
func (w *world) quoteQuestion(kind, version string, fits func(*client.Pair) bool) question {
	pair := w.checker.Pairs[rand.IntN(len(w.checker.Pairs))]
	for !fits(pair) {
		pair = w.checker.Pairs[rand.IntN(len(w.checker.Pairs))]
	}
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	swap := w.checker.Random(rng, pair)
	switch kind {
	case heldAtNode: // since the gateway has not heard of the integrator
		swap.Integrator = quotecheck.RandomAddress(rng)
	case aboutIntegrator: // one of a hundred, so that caches are used
		swap.Integrator = quotecheck.RandomAddress(rand.New(rand.NewPCG(1, rand.Uint64N(100))))
	}
	target := quotecheck.Target(version, swap)
	if kind == aboutAccount {
		swap.From = quotecheck.RandomAddress(rng)
		swap.Simulate = true
		target += "&include=details,simulation&from=" + swap.From.Hex()
	}
	return question{kind: kind, target: target, version: version, pair: pair, swap: swap}
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
}

// wrongQuestion has something else in place of a part of a good request.
func wrongQuestion(part, instead, code string) question {
	const good = "/v3/swap/quote?srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
		"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	return question{kind: "wrong", target: strings.Replace(good, part, instead, 1), code: code}
}

// check judges an answer.
func (w *world) check(q question, a child.Answer) error {
	isDraining := q.target == healthQuestion.target && w.stopping.Load() && a.Status == http.StatusServiceUnavailable
	if isDraining {
		q.part = `"status":"draining"`
	}
	switch {
	case strings.Contains(string(a.Body), secret):
		return errors.New("a secret is shown")
	case a.Header.Get("Content-Type") != "application/json" || !json.Valid(a.Body):
		return errors.New("not JSON")
	case a.Status != http.StatusOK && !isDraining:
		return w.checkError(q, a)
	case q.code != "":
		return fmt.Errorf("want %s", q.code)
	case !strings.Contains(string(a.Body), q.part):
		return fmt.Errorf("want %s", q.part)
	case q.version == "":
		return nil
	}
	checked, err := w.checker.Check(q.version, q.swap, q.terms(), a.Body)
	if err == nil && q.swap.From != (common.Address{}) {
		err = checkAccount(checked.Quote.Details)
	}
	return err
}

// checkError wants an error that may come, in full, with the ID that the header has. One that is temporary says when to
// retry.
func (w *world) checkError(q question, a child.Answer) error {
	var body struct{ Error, Code, RequestID string }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return err
	}
	temporary := a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests
	switch {
	case a.Status != w.errorStatus(q, body.Code):
		return errors.New("a wrong error")
	case body.Error == "":
		return errors.New("no message")
	case body.RequestID == "" || body.RequestID != a.Header.Get("X-Request-Id"):
		return errors.New("not the request ID of the header")
	case temporary && a.Header.Get("Retry-After") == "":
		return errors.New("no Retry-After")
	}
	return nil
}

// errorStatus is the status of an error that is a right answer to a question now, and 0 of any other.
func (w *world) errorStatus(q question, code string) int {
	isRefused := q.version == w.retiring && (q.refusing || w.refusing.Load())
	isNamed := q.swap.Integrator != common.Address{}
	hasNoFee := q.burns() && quotecheck.PublishedBPS(q.pair.SrcChain).Sign() == 0 // built in, while the issuer lies
	switch {
	case code == q.code:
		return http.StatusBadRequest
	case code == "VERSION_BROWNOUT" && isRefused:
		return http.StatusGone
	case code == "RATE_LIMITED" && q.kind == overTheLimit:
		return http.StatusTooManyRequests
	case code == "CHAIN_UNAVAILABLE" && q.kind == aboutStatus,
		code == "INTEGRATOR_UNVERIFIED" && isNamed,
		code == "ISSUER_FEE_TOO_HIGH" && hasNoFee:
		return http.StatusServiceUnavailable
	}
	return 0
}

// burns tells whether the quote is of a burn.
func (q question) burns() bool { return q.pair != nil && q.pair.Type == client.CCTPInbound }

// terms are what a quote may be held to.
func (q question) terms() (t quotecheck.Terms) {
	if q.swap.Integrator != (common.Address{}) {
		t.IntegratorBPS = int64(feeBPS(q.swap.Integrator))
	}
	if q.burns() { // at the built-in rate, or at the one that the issuer tells the truth about
		network, _ := chain.FindNetwork(chain.ID(q.pair.SrcChain))
		t.IssuerBPS = []*big.Rat{quotecheck.PublishedBPS(q.pair.SrcChain), honestBPS(network.CCTP.Domain)}
	}
	return t
}

// checkAccount judges what a quote says of the account: what the node said, or why not. That it is about this account,
// the client has checked.
func checkAccount(d *client.Details) error {
	switch {
	case d == nil:
		return errors.New("no details")
	case d.Simulation == nil && d.SimulationReason == "":
		return errors.New("neither a simulation nor why it is missing")
	case d.Checks == nil && d.Reason == "":
		return errors.New("neither the balance nor why it is missing")
	case d.Checks != nil && d.Checks.Native.Actual != coinBalance:
		return errors.New("not the balance that the node said")
	}
	return nil
}
