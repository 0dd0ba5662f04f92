package wallet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// A Gateway is where quotes are asked for.
type Gateway struct {
	URL  string       // without a path
	HTTP *http.Client // nil for the default
}

// paths of the quote endpoint, by version.
var paths = map[string]string{
	"v3":       "/v3/swap/quote",
	"v3legacy": "/v3legacy/swap/quote",
	"v1":       "/v1/quote",
}

// maxAnswer is more than any answer needs.
const maxAnswer = 1 << 20

// A Quote is an answer of any version, decoded strictly. Nothing in it has been checked.
type Quote struct {
	Version string          `json:"-"`
	Raw     json.RawMessage `json:"-"` // as it came
	Asked   bool            `json:"-"` // for details

	To               string    `json:"to"`
	SrcToken         Token     `json:"srcToken"`
	DestToken        Token     `json:"destToken"`
	SrcAmount        string    `json:"srcAmount"`
	DestAmount       string    `json:"destAmount"`
	Fee              Fee       `json:"fee"`
	Approval         *Approval `json:"approval,omitempty"`
	MethodParameters Call      `json:"methodParameters"`
	Route            Route     `json:"route"`
	Details          *Details  `json:"details,omitempty"`
}

// Token is how an answer names a token.
type Token struct {
	Address  string `json:"address"`
	Symbol   string `json:"symbol"`
	Decimals uint8  `json:"decimals"`
	ChainID  uint64 `json:"chainId"`
}

// Fee has the fields of every version: v3 fills the inner ones, the others the flat ones.
type Fee struct {
	ChainID    uint64        `json:"chainId,omitzero"`
	Token      string        `json:"token,omitzero"`
	Percentage json.Number   `json:"percentage,omitzero"`
	Amount     string        `json:"amount,omitzero"`
	Protocol   FeePart       `json:"protocol,omitzero"`
	Integrator IntegratorFee `json:"integrator,omitzero"`
	Total      TotalFee      `json:"total,omitzero"`
}

// FeePart is what the protocol takes.
type FeePart struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
}

// IntegratorFee is what the integrator takes.
type IntegratorFee struct {
	Percentage json.Number `json:"percentage"`
	Amount     string      `json:"amount"`
	ID         string      `json:"id,omitempty"`
	Address    string      `json:"address,omitempty"`
}

// TotalFee is what both take.
type TotalFee struct {
	Amount string `json:"amount"`
}

// Approval is the transaction that lets a contract spend the source token.
type Approval struct {
	Token    string `json:"token"`
	Spender  string `json:"spender"`
	Amount   string `json:"amount"`
	Calldata string `json:"calldata"`
}

// Call is the main transaction.
type Call struct {
	Calldata string `json:"calldata"`
	Value    string `json:"value"`
}

// Route has the fields of every version.
type Route struct {
	Type  string     `json:"type,omitempty"`
	Paths []string   `json:"paths,omitempty"`
	Swaps []PoolSwap `json:"swaps,omitempty"`
}

// PoolSwap is one step of a route.
type PoolSwap struct {
	Pool string `json:"pool"`
	In   string `json:"in"`
	Out  string `json:"out"`
}

// Details are what a gateway says of a swap beyond the quote. The calls in them are not read: those to sign are worked
// out here.
type Details struct {
	ValidUntil       string      `json:"validUntil"`
	ValidForSeconds  json.Number `json:"validForSeconds,omitzero"`
	Reason           string      `json:"reason,omitempty"`
	Simulation       *Simulation `json:"simulation,omitempty"`
	SimulationReason string      `json:"simulationReason,omitempty"`

	Request    ignored `json:"request,omitzero"`
	Call       ignored `json:"call,omitzero"`
	SendCalls  ignored `json:"sendCalls,omitzero"`
	Unshield   bool    `json:"unshield,omitempty"`
	Arrival    ignored `json:"arrival,omitzero"`
	IssuerFee  ignored `json:"issuerFee,omitzero"`
	Integrator ignored `json:"integrator,omitzero"`
	Checks     ignored `json:"checks,omitzero"`
}

// Simulation is what the gateway says that the transactions would do.
type Simulation struct {
	BlockNumber json.Number     `json:"blockNumber"`
	Calls       []SimulatedCall `json:"calls"`
	Event       *bool           `json:"event,omitempty"`
	Native      Needed          `json:"native"`
}

// SimulatedCall is what one transaction would do.
type SimulatedCall struct {
	GasUsed json.Number `json:"gasUsed"`
	Status  string      `json:"status"`
	Error   string      `json:"error,omitempty"`
}

// Needed compares what an account has with what it needs.
type Needed struct {
	Actual number `json:"actual"`
	Needed number `json:"needed"`
}

// A Router is a row of the gateway's listing.
type Router struct {
	ChainID uint64 `json:"chainId"`
	Symbol  string `json:"symbol"`
	Token   string `json:"token"`
	Router  string `json:"router"`
}

// A Listing is what a gateway says of its contracts.
type Listing struct {
	Routers    []Router   `json:"data"`
	Settlement Settlement `json:"settlement"` // of burns; a gateway may leave it out
}

// Settlement is where burns are minted.
type Settlement struct {
	ChainID  uint64 `json:"chainId"`
	Domain   uint32 `json:"domain"`
	Receiver string `json:"receiver"`
}

// QuoteURL is where to get a quote in the words of a version: v3, v3legacy or v1.
func (g Gateway) QuoteURL(version string, s Swap) (string, error) {
	path, ok := paths[version]
	if !ok {
		return "", fmt.Errorf("version %q is not v3, v3legacy or v1", version)
	}
	query := url.Values{
		"srcToken": {s.SrcToken.Symbol}, "dstToken": {s.DstToken.Symbol},
		"srcChain": {s.Src.String()}, "dstChain": {s.Dst.String()},
		"amount": {s.Amount.String()}, "recipient": {s.Recipient},
	}
	if s.Integrator != (common.Address{}) {
		if version != "v3" {
			return "", fmt.Errorf("%s knows no integrators: use v3", version)
		}
		query.Set("integratorId", s.Integrator.Hex())
	}
	if s.Sender != (common.Address{}) {
		if version != "v3" {
			return "", fmt.Errorf("%s knows no simulation: use v3", version)
		}
		query.Set("include", "details,simulation")
		query.Set("from", s.Sender.Hex())
	}
	return g.at(path) + "?" + query.Encode(), nil
}

// Quote asks for a quote in the words of a version.
func (g Gateway) Quote(ctx context.Context, version string, s Swap) (*Quote, error) {
	address, err := g.QuoteURL(version, s)
	if err != nil {
		return nil, err
	}
	q := &Quote{Version: version, Asked: s.Sender != (common.Address{})}
	if q.Raw, err = g.get(ctx, address, q); err != nil {
		return nil, err
	}
	return q, nil
}

// Listing asks for the gateway's own list of its contracts.
func (g Gateway) Listing(ctx context.Context) (l Listing, err error) {
	if _, err = g.get(ctx, g.at("/v3/app/routers"), &l); err != nil {
		return l, fmt.Errorf("the router listing: %w", err)
	}
	return l, nil
}

func (g Gateway) at(path string) string { return strings.TrimSuffix(g.URL, "/") + path }

func (g Gateway) get(ctx context.Context, address string, into any) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := g.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("the gateway's answer broke off: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, errors.New("the gateway's answer is too long to be one")
	}
	if res.StatusCode != http.StatusOK {
		return nil, refusal(res, body)
	}
	if err := decodeExactly(body, into); err != nil {
		return nil, fmt.Errorf("the gateway's answer is not what it should be: %w", err)
	}
	return body, nil
}

// A Refusal is an answer that is none, in the gateway's words.
type Refusal struct {
	Status                   int
	Message, Code, RequestID string        // empty if the answer is no error of a gateway
	RetryAfter               time.Duration // 0 if it does not say
	size                     int
}

func (r *Refusal) Error() string {
	if r.Message == "" {
		return fmt.Sprintf("the gateway answered %d and %d bytes that are no error of a gateway: is this its address?", r.Status, r.size)
	}
	return fmt.Sprintf("the gateway refused: %s (%s, request %s)", r.Message, r.Code, r.RequestID)
}

func refusal(res *http.Response, body []byte) error {
	r := &Refusal{Status: res.StatusCode, size: len(body)}
	var problem struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		RequestID string `json:"requestId"`
	}
	if decodeExactly(body, &problem) == nil && problem.Error != "" {
		r.Message, r.Code, r.RequestID = problem.Error, problem.Code, problem.RequestID
	}
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); err == nil {
		r.RetryAfter = time.Duration(seconds) * time.Second
	}
	return r
}
