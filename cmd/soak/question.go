package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/testdata/referee"
)

// question is a request and how its answer is judged.
type question struct {
	kind   string
	method string
	target string
	judge  func(load.Answer) error
}

// quotes tells whether a request is for a quote.
func quotes(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return strings.HasSuffix(path, "/quote")
}

// question makes one up, of some kind.
func (w *world) question(rng *rand.Rand) question {
	switch n := rng.IntN(100); {
	case n < 60:
		return w.quoteQuestion(rng)
	case n < 80:
		return w.integratorQuestion(rng)
	case n < 92:
		return w.wrongQuestion(rng)
	case n < 97:
		return question{"health", "GET", "/v3/swap/healthcheck", func(a load.Answer) error {
			return hasField(a, http.StatusOK, "status", "ok")
		}}
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

// quoteQuestion asks any version for any pair it knows.
func (w *world) quoteQuestion(rng *rand.Rand) question {
	version := w.versions[rng.IntN(len(w.versions))]
	pair := w.pairs[rng.IntN(len(w.pairs))]
	for !referee.Knows(version, pair) {
		pair = w.pairs[rng.IntN(len(w.pairs))]
	}
	swap := w.judge.RandomSwap(rng, pair)
	mayBeRefused := version == retiring && w.plan.refusing.Load()
	return question{version, "GET", swap.Target(version), func(a load.Answer) error {
		if a.Status == http.StatusGone && version == retiring && (mayBeRefused || w.plan.refusing.Load()) {
			return isFault(a, http.StatusGone, "VERSION_BROWNOUT")
		}
		return w.isQuote(a, version, swap, 0)
	}}
}

// isQuote judges a quote to the byte.
func (w *world) isQuote(a load.Answer, version string, swap *referee.Swap, integratorBPS int64) error {
	if a.Status != http.StatusOK || a.Header("Content-Type") != "application/json" {
		return fmt.Errorf("got %d %s, want a quote", a.Status, a.Body)
	}
	return w.judge.Check(version, swap, integratorBPS, w.issuerRates(swap), a.Body)
}

// integratorQuestion names an integrator, whose standing may be out of reach.
func (w *world) integratorQuestion(rng *rand.Rand) question {
	var towardsHub []referee.Pair
	for _, p := range w.pairs {
		if p.FeeChain() == 369 {
			towardsHub = append(towardsHub, p)
		}
	}
	swap := w.judge.RandomSwap(rng, towardsHub[rng.IntN(len(towardsHub))])
	// Most integrators come again, so that caches are used; some are new each time.
	standing, source := byte(active), rand.New(rand.NewPCG(1, uint64(rng.IntN(20))))
	switch rng.IntN(10) {
	case 0:
		standing, source = unregistered, rng
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
	if a.Status == http.StatusServiceUnavailable {
		if a.Header("Retry-After") == "" {
			return fmt.Errorf("a 503 does not say when to come back: %s", a.Head)
		}
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

// wrongQuestion asks for what cannot be had.
func (w *world) wrongQuestion(rng *rand.Rand) question {
	const good = "srcToken=USDC&dstToken=USDC&amount=100000000&srcChain=1&dstChain=369&recipient=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
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

// isFault judges an error: JSON in full, with the ID that the header has.
func isFault(a load.Answer, status int, code string) error {
	var body struct{ Error, Code, RequestID string }
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return fmt.Errorf("not JSON: %s", a.Body)
	}
	if a.Status != status || body.Code != code || body.Error == "" ||
		body.RequestID == "" || body.RequestID != a.Header("X-Request-Id") || a.Header("Content-Type") != "application/json" {
		return fmt.Errorf("got %s%s, want %d %s", a.Head, a.Body, status, code)
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
