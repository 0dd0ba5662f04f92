package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
	"github.com/quotegate/quotegate/v3/client"
)

// question is a request and how its answer is judged.
type question struct {
	kind   string
	method string // GET if empty
	target string
	judge  func(load.Answer) error
}

// quotes tells whether a request is for a quote.
func quotes(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return strings.HasSuffix(path, "/quote")
}

// request is a question of a client, by its number. What comes of it is tallied; an error is about the connection.
func (w *world) request(q question, client int) load.Request {
	judge := func(a load.Answer, err error) error {
		if err != nil {
			if !w.stopping.Load() || !errors.Is(err, load.ErrUnanswered) || q.kind == held {
				w.tally.fail("%s: %s: %w", q.kind, q.target, err)
			}
			return err
		}
		w.tally.answered(q, a)
		if err := q.judge(a); err != nil {
			w.tally.fail("%s: %s\n%w", q.kind, q.target, err)
		}
		return nil
	}
	return load.Request{Method: q.method, Target: q.target, Client: client, Judge: judge}
}

// leave makes a request that its client gives up within 20 milliseconds.
func (w *world) leave(r load.Request, rng *rand.Rand) load.Request {
	if quotes(r.Target) {
		w.tally.abandoned.Add(1)
	}
	r.Leave = time.Duration(1+rng.IntN(20)) * time.Millisecond
	return r
}

// ask asks on a connection of its own.
func (w *world) ask(q question, client int) (load.Answer, error) {
	request := w.request(q, client)
	answer, err := load.Once(w.gateway.Addr, request)
	return answer, request.Judge(answer, err)
}

// get asks without judging, as a client that has not asked before.
func (w *world) get(target string) (load.Answer, error) {
	return w.ask(question{"others", "", target, func(load.Answer) error { return nil }}, w.newClient())
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// randomSwap is some swap over a pair that fits.
func (w *world) randomSwap(rng *rand.Rand, fits func(referee.Pair) bool) *referee.Swap {
	for {
		if pair := w.pairs[rng.IntN(len(w.pairs))]; fits(pair) {
			return w.judge.RandomSwap(rng, pair)
		}
	}
}

// question makes one up, of some kind.
func (w *world) question(rng *rand.Rand) question {
	switch n := rng.IntN(100); {
	case n < 50:
		return w.quoteQuestion(rng)
	case n < 80:
		return w.slowQuestion(rng)
	case n < 92:
		return wrongQuestion(rng)
	}
	return w.healthQuestion()
}

func (w *world) healthQuestion() question {
	return question{"health", "", "/v3/swap/healthcheck", func(a load.Answer) error {
		if w.stopping.Load() && a.Status == http.StatusServiceUnavailable {
			return says(a, http.StatusServiceUnavailable, `"status":"draining"`)
		}
		return says(a, http.StatusOK, `"status":"ok"`)
	}}
}

// quoteQuestion asks any version for any pair it knows.
func (w *world) quoteQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return referee.Knows(version, p) })
	mayBeRefused := version == w.retiring && w.refusing.Load()
	return question{version, "", swap.Target(version), func(a load.Answer) error {
		if a.Status == http.StatusGone && version == w.retiring && (mayBeRefused || w.refusing.Load()) {
			return isFault(a, http.StatusGone, "VERSION_BROWNOUT")
		}
		return w.isQuote(a, version, swap, 0)
	}}
}

// slowQuestion asks for what a node is needed for.
func (w *world) slowQuestion(rng *rand.Rand) question {
	switch rng.IntN(6) {
	case 0, 1:
		return w.integratorQuestion(rng)
	case 2:
		return statusQuestion(rng)
	case 3:
		return w.accountQuestion(rng, "simulation", "details,simulation")
	}
	return w.accountQuestion(rng, "checks", "details")
}

// statusQuestion asks for a transaction that no node knows.
func statusQuestion(rng *rand.Rand) question {
	target := fmt.Sprintf("/v3/swap/status?srcChain=%s&txHash=0x%016x%016x%016x%016x",
		[]string{"1", "369"}[rng.IntN(2)], rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64())
	return question{"status", "", target, func(a load.Answer) error {
		if a.Status == http.StatusServiceUnavailable {
			return isFault(a, http.StatusServiceUnavailable, "CHAIN_UNAVAILABLE")
		}
		return says(a, http.StatusOK, `"state":"NOT_FOUND"`)
	}}
}

// accountQuestion asks what an account has, and has its calls be tried. Nodes never decide whether there is a quote,
// but for that of an integrator.
func (w *world) accountQuestion(rng *rand.Rand, kind, include string) question {
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return p.Src == 1 || p.Src == 369 }) // which have nodes
	q := question{kind, "", swap.Target("v3"), func(a load.Answer) error { return w.isQuote(a, "v3", swap, 0) }}
	if swap.FeeChain() == 369 && rng.IntN(2) == 0 {
		q = w.questionOf(kind, swap, knownIntegrator(rng, active))
	}
	from := randomIntegrator(rng, 0x77).Hex()
	q.target += "&from=" + from + "&include=" + include
	isQuote := q.judge
	q.judge = func(a load.Answer) error {
		if a.Status != http.StatusOK {
			return isQuote(a)
		}
		quote, details, err := referee.SplitDetails(a.Body)
		if err != nil {
			return err
		}
		a.Body = quote
		return errors.Join(isQuote(a), w.judgeAccount(details, from, kind))
	}
	return q
}

// judgeAccount judges what a quote says of the account: what the node said, or why not.
func (w *world) judgeAccount(details []byte, from, kind string) error {
	var d struct {
		SendCalls struct{ From string }
		Checks    *struct{ Native struct{ Actual string } }
		Reason    string

		Simulation       json.RawMessage
		SimulationReason string
	}
	err := json.Unmarshal(details, &d)
	switch {
	case err != nil || d.SendCalls.From != from || strings.Contains(string(details), secret):
		return fmt.Errorf("details of an account: %v %s", err, details)
	case d.Checks != nil && d.Checks.Native.Actual != accountHasShown, d.Checks == nil && d.Reason == "":
		return fmt.Errorf("balance, or the reason why it is missing: %s", details)
	case kind == "simulation" && (d.Simulation == nil || string(d.Simulation) == "null" && d.SimulationReason == ""):
		return fmt.Errorf("simulation, or the reason why it is missing: %s", details)
	case d.Checks != nil:
		w.tally.checkedAccounts.Add(1)
	default:
		w.tally.unchecked.Add(1)
	}
	return nil
}

// integratorQuestion names an integrator, whose standing may be out of reach. Most come again, so that caches are used.
func (w *world) integratorQuestion(rng *rand.Rand) question {
	integrator := knownIntegrator(rng, active)
	switch rng.IntN(10) {
	case 0:
		integrator = randomIntegrator(rng, unregistered)
	case 1:
		integrator = knownIntegrator(rng, inactive)
	case 2:
		integrator = randomIntegrator(rng, active)
	}
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return p.FeeChain() == 369 })
	return w.questionOf("integrator", swap, integrator)
}

// knownIntegrator is one of twenty.
func knownIntegrator(rng *rand.Rand, standing byte) common.Address {
	return randomIntegrator(rand.New(rand.NewPCG(1, uint64(rng.IntN(20)))), standing)
}

// heldQuestion is about an integrator that the gateway has not heard of, so that the answer waits for a node.
func (w *world) heldQuestion(integrator common.Address) question {
	return w.questionOf(held, w.judge.RandomSwap(newRand(), w.plainPair), integrator)
}

const held = "held"

func (w *world) questionOf(kind string, swap *referee.Swap, integrator common.Address) question {
	swap.Integrator = integrator.Hex()
	return question{kind, "", swap.Target("v3"), func(a load.Answer) error {
		return w.judgeIntegrator(a, swap, integrator)
	}}
}

func (w *world) judgeIntegrator(a load.Answer, swap *referee.Swap, integrator common.Address) error {
	if a.Status == http.StatusServiceUnavailable && !w.isSuspended(a, swap) {
		return isFault(a, http.StatusServiceUnavailable, "INTEGRATOR_UNVERIFIED")
	}
	// A node that lies names a fee above the cap for every other integrator.
	if integrator[1]%2 != 0 && isFault(a, http.StatusBadRequest, "INTEGRATOR_FEE_TOO_HIGH") == nil {
		return nil
	}
	switch integrator[0] {
	case unregistered:
		return isFault(a, http.StatusBadRequest, "INTEGRATOR_UNREGISTERED")
	case inactive:
		return isFault(a, http.StatusBadRequest, "INTEGRATOR_INACTIVE")
	}
	return w.isQuote(a, "v3", swap, feeBPS(integrator))
}

// isQuote judges a quote to the byte.
func (w *world) isQuote(a load.Answer, version string, swap *referee.Swap, integratorBPS int64) error {
	if w.isSuspended(a, swap) {
		return nil
	}
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		return fmt.Errorf("got %d %s, want a quote", a.Status, a.Body)
	}
	var rates []*big.Rat // that a burn may be quoted with
	if swap.Burn {
		rates = w.issuer.rates(w.judge.BuiltInBPS(swap.Src), w.judge.Domain(swap.Src))
	}
	if err := w.judge.Check(version, swap, integratorBPS, rates, a.Body); err != nil {
		return err
	}
	if version != "v3" || w.signed.Add(1)%clientChecks != 0 {
		return nil
	}
	return w.wouldSign(swap, a.Body)
}

// isSuspended tells whether a burn was refused, rightly, because of an absurd fee.
func (w *world) isSuspended(a load.Answer, swap *referee.Swap) bool {
	return swap.Burn && w.issuer.maySuspend(w.judge.BuiltInBPS(swap.Src), w.judge.Domain(swap.Src)) &&
		isFault(a, http.StatusServiceUnavailable, "ISSUER_FEE_TOO_HIGH") == nil
}

// clientChecks: one of so many quotes of v3 is checked by the client too, which takes longer than the referee.
const clientChecks = 64

// wouldSign wants the client that others use to take the quote.
func (w *world) wouldSign(swap *referee.Swap, answer []byte) error {
	_, err := client.Verify(client.Request{
		SrcChain: swap.Src, SrcToken: swap.SrcToken.Symbol, DstChain: swap.Dst, DstToken: swap.DstToken.Symbol,
		Amount: swap.Amount, Recipient: swap.Recipient, Integrator: common.HexToAddress(swap.Integrator),
	}, answer, client.Known{Listing: w.listing})
	return err
}

// goodQuery asks for a quote; each wrong request replaces a part of it.
const goodQuery = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
	"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

var wrongRequests = []struct {
	method, path, replaced, by string
	status                     int
	code                       string
}{
	{"", "/v3/swap/quote", "amount=100000000", "amount=9999999", 400, "AMOUNT_OUT_OF_RANGE"},
	{"", "/v3/swap/quote", "amount=100000000", "amount=1e8", 400, "INVALID_AMOUNT"},
	{"", "/v3/swap/quote", "&amount=100000000", "", 400, "MISSING_PARAMETER"},
	{"", "/v3/swap/quote", "srcChain=1&", "srcChain=2&", 400, "UNSUPPORTED_CHAIN"},
	{"", "/v3/swap/quote", "srcToken=USDC", "srcToken=PEPE", 400, "UNSUPPORTED_TOKEN"},
	{"", "/v3/swap/quote", "dstChain=369", "dstChain=8453", 400, "UNSUPPORTED_PAIR"},
	{"", "/v3/swap/quote", "0x5aAeb", "0x5aaeb", 400, "INVALID_RECIPIENT"},
	{"", "/v3/swap/nothing", "", "", 404, "NOT_FOUND"},
	{"DELETE", "/v3/swap/quote", "", "", 405, "METHOD_NOT_ALLOWED"},
}

func wrongQuestion(rng *rand.Rand) question {
	c := wrongRequests[rng.IntN(len(wrongRequests))]
	query := strings.Replace(goodQuery, c.replaced, c.by, 1)
	return question{"wrong", c.method, c.path + "?" + query, func(a load.Answer) error {
		return isFault(a, c.status, c.code)
	}}
}

// isFault judges an error: JSON in full, with the ID that the header has, and without a secret. One that is temporary
// says when to retry.
func isFault(a load.Answer, status int, code string) error {
	var body struct{ Error, Code, RequestID string }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return fmt.Errorf("not JSON: %s", a.Body)
	}
	identified := body.RequestID != "" && body.RequestID == a.Header.Get("X-Request-Id")
	typed := a.Header.Get("Content-Type") == "application/json"
	shown := strings.Contains(string(a.Body), secret)
	temporary := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
	if a.Status != status || body.Code != code || body.Error == "" || !identified || !typed || shown ||
		temporary && a.Header.Get("Retry-After") == "" {
		return fmt.Errorf("got %d %v %s, want %d %s", a.Status, a.Header, a.Body, status, code)
	}
	return nil
}

// says judges an answer by a part of it.
func says(a load.Answer, status int, part string) error {
	if a.Status != status || !json.Valid(a.Body) || !strings.Contains(string(a.Body), part) {
		return fmt.Errorf("got %d %s, want %d %s", a.Status, a.Body, status, part)
	}
	return nil
}
