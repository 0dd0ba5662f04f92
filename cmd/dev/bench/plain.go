package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"

	"github.com/quotegate/quotegate/v3/client"
)

// plainRoute gives v3 quotes of some pairs as a Go engineer would write that with well-known libraries, each used as
// its documentation shows. It has what one route needs: validated parameters, a limit for each client behind a trusted
// proxy, a request ID and an access log. It has nothing else of what the gateway does around a quote.
type plainRoute struct {
	pairs map[pairKey]*plainPair
	abi   abi.ABI
}

type pairKey struct{ srcChain, srcToken, dstChain, dstToken string }

// plainPair is a pair with what is the same in each of its quotes.
type plainPair struct {
	*client.Pair
	dstChain, srcScale, dstScale *big.Int
	pool                         string
	src, dst                     client.Token
}

// plainQuote is the answer. A share's percentage is a plain number, since types of one's own cost encoding/json time.
type plainQuote struct {
	To               string          `json:"to"`
	SrcToken         client.Token    `json:"srcToken"`
	DestToken        client.Token    `json:"destToken"`
	SrcAmount        client.Amount   `json:"srcAmount"`
	DestAmount       client.Amount   `json:"destAmount"`
	Fee              plainFee        `json:"fee"`
	Approval         client.Approval `json:"approval"`
	MethodParameters client.Payload  `json:"methodParameters"`
	Route            client.Route    `json:"route"`
}

type plainFee struct {
	ChainID    uint64          `json:"chainId"`
	Token      string          `json:"token"`
	Protocol   plainShare      `json:"protocol"`
	Integrator plainShare      `json:"integrator"`
	Total      client.TotalFee `json:"total"`
}

type plainShare struct {
	Percentage float64       `json:"percentage"`
	Amount     client.Amount `json:"amount"`
}

const plainABI = `[
	{"type": "function", "name": "approve", "inputs": [
		{"name": "spender", "type": "address"}, {"name": "amount", "type": "uint256"}]},
	{"type": "function", "name": "swap", "inputs": [
		{"name": "dstChainId", "type": "uint256"}, {"name": "amount", "type": "uint256"},
		{"name": "recipient", "type": "bytes"}, {"name": "recipientType", "type": "uint8"},
		{"name": "dstToken", "type": "address"}, {"name": "integratorId", "type": "bytes32"}]}]`

func newPlain(log io.Writer) http.Handler {
	contracts, err := abi.JSON(strings.NewReader(plainABI))
	if err != nil {
		panic(err)
	}
	scale := func(t client.TokenOn) *big.Int {
		return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Decimals)), nil)
	}
	token := func(t client.TokenOn) client.Token {
		return client.Token{Address: t.Address.Hex(), Symbol: t.Symbol, Decimals: t.Decimals, ChainID: t.ChainID}
	}
	route := &plainRoute{pairs: map[pairKey]*plainPair{}, abi: contracts}
	for _, p := range mixPairs() {
		dstChain := new(big.Int).SetUint64(p.DstChain)
		key := pairKey{strconv.FormatUint(p.SrcChain, 10), p.SrcToken.Symbol, dstChain.String(), p.DstToken.Symbol}
		route.pairs[key] = &plainPair{
			Pair:     p,
			dstChain: dstChain,
			srcScale: scale(p.SrcToken),
			dstScale: scale(p.DstToken),
			pool:     p.To.Hex(),
			src:      token(p.SrcToken),
			dst:      token(p.DstToken),
		}
	}
	r := chi.NewRouter()
	r.Use(
		middleware.RequestID,
		middleware.ClientIPFromXFF("127.0.0.0/8"),
		plainLog(slog.New(slog.NewJSONHandler(log, nil))),
		middleware.Recoverer,
		httprate.LimitBy(limit, time.Minute, func(r *http.Request) (string, error) {
			return httprate.CanonicalizeIP(middleware.GetClientIP(r.Context())), nil
		}),
	)
	r.Get("/v3/swap/quote", route.serve)
	return r
}

// plainLog writes a line for each request.
func plainLog(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			answer := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
			next.ServeHTTP(answer, r)
			log.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("requestId", middleware.GetReqID(r.Context())),
				slog.String("route", chi.RouteContext(r.Context()).RoutePattern()),
				slog.String("method", r.Method),
				slog.Int("status", answer.Status()),
				slog.Float64("durationMs", float64(time.Since(start).Microseconds())/1000),
				slog.String("client", middleware.GetClientIP(r.Context())))
		})
	}
}

func (p *plainRoute) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Request-Id", middleware.GetReqID(r.Context()))
	quote, err := p.quote(r.URL.Query())
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // as below
		return
	}
	_ = json.NewEncoder(w).Encode(quote) // an error means that the client has left
}

const protocolBPS = 30

func (p *plainRoute) quote(query url.Values) (*plainQuote, error) {
	pair := p.pairs[pairKey{
		query.Get("srcChain"), strings.ToUpper(query.Get("srcToken")),
		query.Get("dstChain"), strings.ToUpper(query.Get("dstToken")),
	}]
	if pair == nil {
		return nil, errors.New("the pair is not supported")
	}
	amount, ok := new(big.Int).SetString(query.Get("amount"), 10)
	if !ok || amount.Cmp(pair.Min) < 0 || amount.Cmp(pair.Max) > 0 {
		return nil, errors.New("the amount is not a number within the limits")
	}
	recipient, err := common.NewMixedcaseAddressFromString(query.Get("recipient"))
	if err != nil || !recipient.ValidChecksum() {
		return nil, errors.New("the recipient is not an address with its checksum")
	}
	gross := new(big.Int).Mul(amount, pair.dstScale)
	gross.Quo(gross, pair.srcScale)
	fee := new(big.Int).Mul(gross, big.NewInt(protocolBPS))
	fee.Quo(fee, big.NewInt(10_000))
	approve, err := p.abi.Pack("approve", pair.To, amount)
	if err != nil {
		return nil, err
	}
	swap, err := p.abi.Pack("swap",
		pair.dstChain, amount, recipient.Address().Bytes(), uint8(0), pair.DstToken.Address, [32]byte{})
	if err != nil {
		return nil, err
	}
	srcAmount, feeAmount := client.Amount(amount.String()), client.Amount(fee.String())
	return &plainQuote{
		To:         pair.pool,
		SrcToken:   pair.src,
		DestToken:  pair.dst,
		SrcAmount:  srcAmount,
		DestAmount: client.Amount(gross.Sub(gross, fee).String()),
		Fee: plainFee{
			ChainID:    pair.FeeChain,
			Token:      "destination",
			Protocol:   plainShare{protocolBPS / 100., feeAmount},
			Integrator: plainShare{0, "0"},
			Total:      client.TotalFee{Amount: feeAmount},
		},
		Approval: client.Approval{
			Token: pair.src.Address, Spender: pair.pool, Amount: srcAmount, Calldata: hexutil.Encode(approve),
		},
		MethodParameters: client.Payload{Calldata: hexutil.Encode(swap), Value: "0x0"},
		Route:            client.Route{Type: pair.Type},
	}, nil
}
