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
	"github.com/quotegate/quotegate/shared/testkit/referee"
)

// question is a request, and what its answer must be: a quote, something else, or an error.
type question struct {
	kind   string // under which it is counted
	method string // GET if empty
	target string

	version string        // that must give a quote
	swap    *referee.Swap // of the quote; nil if there is none
	from    string        // the account that the quote has details of, if any
	part    string        // of an answer that is not a quote
	code    string        // of the error that must come; empty if none must

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

// randomSwap is some swap over a pair that fits.
func (w *world) randomSwap(rng *rand.Rand, fits func(referee.Pair) bool) *referee.Swap {
	pairs := w.judge.Pairs()
	for {
		if pair := pairs[rng.IntN(len(pairs))]; fits(pair) {
			return w.judge.RandomSwap(rng, pair)
		}
	}
}

func quoteQuestion(kind, version string, swap *referee.Swap) question {
	q := question{kind: kind, version: version, target: swap.Target(version), swap: swap}
	integrator := common.HexToAddress(swap.Integrator)
	switch {
	case swap.Integrator == "":
	case isUnregistered(integrator):
		q.code = "INTEGRATOR_UNREGISTERED"
	case isInactive(integrator):
		q.code = "INTEGRATOR_INACTIVE"
	}
	return q
}

// plainQuestion asks any version for any pair it knows.
func (w *world) plainQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return referee.Knows(version, p) })
	return quoteQuestion(version, version, swap)
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
	fits := func(p referee.Pair) bool { return p.Src == 1 || p.Src == 369 } // which have nodes
	if kind == aboutIntegrator {
		fits = func(p referee.Pair) bool { return p.FeeChain() == 369 }
	}
	swap := w.randomSwap(rng, fits)
	if kind == aboutIntegrator || swap.FeeChain() == 369 && rng.IntN(2) == 0 {
		swap.Integrator = someIntegrator(rng).Hex()
	}
	q := quoteQuestion(kind, "v3", swap)
	if kind != aboutIntegrator {
		q.from = randomAddress(rng).Hex()
		q.target += "&from=" + q.from + "&include=" + kind
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
	swap := w.judge.RandomSwap(newRand(), w.plainPair)
	swap.Integrator = integrator.Hex()
	return quoteQuestion(heldAtNode, "v3", swap)
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
	if q.swap == nil {
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
	named := q.swap != nil && q.swap.Integrator != ""
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
		return named
	case "INTEGRATOR_FEE_TOO_HIGH": // a node that lies says so of every other integrator
		return named && common.HexToAddress(q.swap.Integrator)[1]%2 != 0
	case "ISSUER_FEE_TOO_HIGH": // an absurd one, and there is no built-in fee
		if q.swap == nil || !q.swap.Burn || w.judge.BuiltInBPS(q.swap.Src).Sign() != 0 {
			return false
		}
		_, absurd := w.issuer.absurd.Load(w.judge.Domain(q.swap.Src))
		return absurd
	}
	return false
}

// checkQuote judges a quote to the byte.
func (w *world) checkQuote(q question, body []byte) error {
	if q.from != "" {
		quote, details, err := referee.SplitDetails(body)
		if err == nil {
			err = w.checkAccount(q, string(details))
		}
		if err != nil {
			return err
		}
		body = quote
	}
	var integratorBPS int64
	if q.swap.Integrator != "" {
		integratorBPS = feeBPS(common.HexToAddress(q.swap.Integrator))
	}
	var rates []*big.Rat // that a burn may be quoted with
	if q.swap.Burn {
		rates = []*big.Rat{w.judge.BuiltInBPS(q.swap.Src), honestBPS(w.judge.Domain(q.swap.Src))}
	}
	return w.judge.Check(q.version, q.swap, integratorBPS, rates, body)
}

// checkAccount judges what a quote says of the account: what the node said, or why not.
func (w *world) checkAccount(q question, details string) error {
	says := func(part string) bool { return strings.Contains(details, part) }
	switch {
	case !says(`"from":"` + q.from + `"`):
		return errors.New("calls of another account")
	case q.kind == aboutSimulation && !says(`"simulation":{`) && !says(`"simulation":null,"simulationReason":"`):
		return errors.New("neither a simulation nor why it is missing")
	case says(`"actual":"` + coinBalance + `"`):
		w.tally.read.Add(1)
	case says(`"checks":null,"reason":"`):
		w.tally.unread.Add(1)
	default:
		return errors.New("neither the balance nor why it is missing")
	}
	return nil
}
