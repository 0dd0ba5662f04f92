package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/referee"
	"github.com/quotegate/quotegate/v3/client"
)

// question is a request and how its answer is judged.
type question struct {
	kind   string
	method string
	target string
	judge  func(load.Answer) error
}

func (q question) request(host string, client int) []byte {
	request := load.AppendRequest(nil, host, q.target, load.ClientAddress(client))
	return append([]byte(q.method), request[len("GET"):]...)
}

// quotes tells whether a request is for a quote.
func quotes(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return strings.HasSuffix(path, "/quote")
}

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
		return w.wrongQuestion(rng)
	case n < 97:
		return w.healthQuestion()
	default:
		return question{"routers", "GET", "/v3/app/routers", func(a load.Answer) error {
			var body struct{ Data []json.RawMessage }
			if err := json.Unmarshal(a.Body, &body); err != nil || a.Status != http.StatusOK || len(body.Data) < 30 {
				return fmt.Errorf("got %d %s", a.Status, a.Body)
			}
			return nil
		}}
	}
}

func (w *world) healthQuestion() question {
	return question{"health", "GET", "/v3/swap/healthcheck", func(a load.Answer) error {
		if w.stopping.Load() && a.Status == http.StatusServiceUnavailable {
			return hasField(a, http.StatusServiceUnavailable, "status", "draining")
		}
		return hasField(a, http.StatusOK, "status", "ok")
	}}
}

// slowQuestion asks for what a node is needed for.
func (w *world) slowQuestion(rng *rand.Rand) question {
	switch rng.IntN(6) {
	case 0, 1:
		return w.integratorQuestion(rng)
	case 2:
		return w.statusQuestion(rng)
	case 3:
		return w.accountQuestion(rng, "simulation", "details,simulation")
	}
	return w.accountQuestion(rng, "checks", "details")
}

// statusQuestion asks for a transaction that no node knows.
func (w *world) statusQuestion(rng *rand.Rand) question {
	chain := []string{"1", "369"}[rng.IntN(2)]
	target := fmt.Sprintf("/v3/swap/status?srcChain=%s&txHash=0x%016x%016x%016x%016x",
		chain, rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64())
	return question{"status", "GET", target, func(a load.Answer) error {
		if a.Status == http.StatusServiceUnavailable {
			return isRetryable(a, http.StatusServiceUnavailable, "CHAIN_UNAVAILABLE")
		}
		return hasField(a, http.StatusOK, "state", "NOT_FOUND")
	}}
}

// accountQuestion asks what an account has, and has its calls be tried. Nodes never
// decide whether there is a quote, but for that of an integrator.
func (w *world) accountQuestion(rng *rand.Rand, kind, include string) question {
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return p.Src == 1 || p.Src == 369 }) // which have nodes
	var integrator common.Address
	if swap.FeeChain() == 369 && rng.IntN(2) == 0 {
		integrator = randomIntegrator(rand.New(rand.NewPCG(1, uint64(rng.IntN(20)))), active)
		swap.Integrator = integrator.Hex()
	}
	from := randomIntegrator(rng, 0x77).Hex()
	target := swap.Target("v3") + "&from=" + from + "&include=" + include
	return question{kind, "GET", target, func(a load.Answer) error {
		if a.Status == http.StatusOK {
			quote, details, err := referee.SplitDetails(a.Body)
			if err == nil {
				err = w.judgeAccount(details, from, kind)
			}
			if err != nil {
				return err
			}
			a.Body = quote
		}
		if swap.Integrator != "" {
			return w.judgeIntegrator(a, swap, integrator)
		}
		return w.isQuote(a, "v3", swap, 0)
	}}
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
	}
	if d.Checks != nil {
		w.tally.checkedAccounts.Add(1)
	} else {
		w.tally.unchecked.Add(1)
	}
	return nil
}

// quoteQuestion asks any version for any pair it knows.
func (w *world) quoteQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return referee.Knows(version, p) })
	mayBeRefused := version == w.retiring && w.refusing.Load()
	return question{version, "GET", swap.Target(version), func(a load.Answer) error {
		if a.Status == http.StatusGone && version == w.retiring && (mayBeRefused || w.refusing.Load()) {
			return isFault(a, http.StatusGone, "VERSION_BROWNOUT")
		}
		return w.isQuote(a, version, swap, 0)
	}}
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

// isSuspended tells whether a burn was refused, rightly, because of a fee that nobody believes.
func (w *world) isSuspended(a load.Answer, swap *referee.Swap) bool {
	return swap.Burn && w.issuer.maySuspend(w.judge.BuiltInBPS(swap.Src), w.judge.Domain(swap.Src)) &&
		isRetryable(a, http.StatusServiceUnavailable, "ISSUER_FEE_TOO_HIGH") == nil
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

// integratorQuestion names an integrator, whose standing may be out of reach.
func (w *world) integratorQuestion(rng *rand.Rand) question {
	swap := w.randomSwap(rng, func(p referee.Pair) bool { return p.FeeChain() == 369 })
	// Most integrators come again, so that caches are used; some are new each time.
	standing := byte(active)
	source := rand.New(rand.NewPCG(1, uint64(rng.IntN(20))))
	switch rng.IntN(10) {
	case 0:
		standing = unregistered
		source = rng
	case 1:
		standing = inactive
	case 2:
		source = rng
	}
	integrator := randomIntegrator(source, standing)
	swap.Integrator = integrator.Hex()
	return question{"integrator", "GET", swap.Target("v3"), func(a load.Answer) error {
		return w.judgeIntegrator(a, swap, integrator)
	}}
}

func (w *world) judgeIntegrator(a load.Answer, swap *referee.Swap, integrator common.Address) error {
	if a.Status == http.StatusServiceUnavailable && !w.isSuspended(a, swap) {
		return isRetryable(a, http.StatusServiceUnavailable, "INTEGRATOR_UNVERIFIED")
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

// wrongQuestion asks for what cannot be had.
func (w *world) wrongQuestion(rng *rand.Rand) question {
	const good = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369" +
		"&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	wrong := []struct {
		method, path, from, to string
		status                 int
		code                   string
	}{
		{"GET", "/v3/swap/quote", "amount=100000000", "amount=9999999", 400, "AMOUNT_OUT_OF_RANGE"},
		{"GET", "/v3/swap/quote", "amount=100000000", "amount=1e8", 400, "INVALID_AMOUNT"},
		{"GET", "/v3/swap/quote", "&amount=100000000", "", 400, "MISSING_PARAMETER"},
		{"GET", "/v3/swap/quote", "srcChain=1&", "srcChain=2&", 400, "UNSUPPORTED_CHAIN"},
		{"GET", "/v3/swap/quote", "srcToken=USDC", "srcToken=PEPE", 400, "UNSUPPORTED_TOKEN"},
		{"GET", "/v3/swap/quote", "dstChain=369", "dstChain=8453", 400, "UNSUPPORTED_PAIR"},
		{"GET", "/v3/swap/quote", "0x5aAeb", "0x5aaeb", 400, "INVALID_RECIPIENT"},
		{"GET", "/v3/swap/nothing", "", "", 404, "NOT_FOUND"},
		{"DELETE", "/v3/swap/quote", "", "", 405, "METHOD_NOT_ALLOWED"},
	}
	c := wrong[rng.IntN(len(wrong))]
	query := strings.Replace(good, c.from, c.to, 1)
	return question{"wrong", c.method, c.path + "?" + query, func(a load.Answer) error {
		return isFault(a, c.status, c.code)
	}}
}

// isRetryable judges an error that says when to come back.
func isRetryable(a load.Answer, status int, code string) error {
	if a.Header.Get("Retry-After") == "" {
		return fmt.Errorf("a %d does not say when to come back: %v", a.Status, a.Header)
	}
	return isFault(a, status, code)
}

// isFault judges an error: JSON in full, with the ID that the header has.
func isFault(a load.Answer, status int, code string) error {
	var body struct{ Error, Code, RequestID string }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return fmt.Errorf("not JSON: %s", a.Body)
	}
	identified := body.RequestID != "" && body.RequestID == a.Header.Get("X-Request-Id")
	typed := a.Header.Get("Content-Type") == "application/json"
	if a.Status != status || body.Code != code || body.Error == "" || !identified || !typed {
		return fmt.Errorf("got %d %v %s, want %d %s", a.Status, a.Header, a.Body, status, code)
	}
	if strings.Contains(string(a.Body), secret) {
		return fmt.Errorf("it shows a secret: %s", a.Body)
	}
	return nil
}

func hasField(a load.Answer, status int, name, value string) error {
	var body map[string]any
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return fmt.Errorf("not JSON: %s", a.Body)
	}
	if a.Status != status || body[name] != value {
		return fmt.Errorf("got %d %s, want %s %q", a.Status, a.Body, name, value)
	}
	return nil
}
