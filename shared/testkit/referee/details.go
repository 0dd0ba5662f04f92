package referee

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Around is what a gateway knows around a quote with details and the request
// does not say.
type Around struct {
	From                       string   // the sender, if the request named one
	Native, Balance, Allowance *big.Int // of the sender; nil if they were not read
	ReadAt                     string   // when they were
	Reason                     string   // why not
	ValidUntil                 string
	ValidFor                   int    // the same in seconds
	CheckedAt                  string // when the integrator's registry was asked
	IssuerOrigin               string // where the issuer's fee comes from
}

// The details, in the order of their fields.
type (
	details struct {
		Request    requestBody      `json:"request"`
		Call       callBody         `json:"call"`
		Unshield   bool             `json:"unshield,omitempty"`
		SendCalls  *sendCalls       `json:"sendCalls,omitempty"`
		Arrival    arrival          `json:"arrival"`
		ValidUntil string           `json:"validUntil"`
		ValidFor   int              `json:"validForSeconds"`
		IssuerFee  *issuerFee       `json:"issuerFee,omitempty"`
		Integrator *integratorProof `json:"integrator,omitempty"`
		Checks     *json.RawMessage `json:"checks,omitempty"`
		Reason     string           `json:"reason,omitempty"`
	}
	requestBody struct {
		SrcChain      string `json:"srcChain"`
		SrcToken      string `json:"srcToken"`
		DstChain      string `json:"dstChain"`
		DstToken      string `json:"dstToken"`
		Amount        string `json:"amount"`
		Recipient     string `json:"recipient"`
		RecipientType uint8  `json:"recipientType"`
		IntegratorID  string `json:"integratorId,omitempty"`
	}
	callBody struct {
		Function  string          `json:"function"`
		Arguments json.RawMessage `json:"arguments"`
		Hook      json.RawMessage `json:"hook,omitempty"`
	}
	sendCalls struct {
		Version        string     `json:"version"`
		From           string     `json:"from,omitempty"`
		ChainID        string     `json:"chainId"`
		AtomicRequired bool       `json:"atomicRequired"`
		Calls          []sentCall `json:"calls"`
	}
	sentCall struct {
		To    string `json:"to"`
		Data  string `json:"data"`
		Value string `json:"value"`
	}
	arrival struct {
		Amount     string      `json:"amount"`
		Deductions []deduction `json:"deductions"`
		Seconds    uint32      `json:"seconds,omitempty"`
		Unshield   string      `json:"unshieldAmount,omitempty"`
	}
	deduction struct {
		By         string      `json:"by"`
		Percentage json.Number `json:"percentage"`
		Amount     string      `json:"amount"`
	}
	issuerFee struct {
		Percentage json.Number `json:"percentage"`
		Origin     string      `json:"origin"`
		MaxFee     string      `json:"maxFee"`
	}
	integratorProof struct {
		Registry  string `json:"registry"`
		ChainID   uint64 `json:"chainId"`
		CheckedAt string `json:"checkedAt"`
	}
)

// railgunBPS is what RAILGUN takes, each way.
const railgunBPS = 25

// SplitDetails takes the details off an answer of v3. The rest is the answer to
// the same request without include=details.
func SplitDetails(body []byte) (quote, details []byte, err error) {
	quote, rest, found := bytes.Cut(body, []byte(`,"details":`))
	details, closed := bytes.CutSuffix(rest, []byte("}\n"))
	if !found || !closed {
		return nil, nil, errors.New("the answer does not end with details")
	}
	return append(bytes.Clone(quote), "}\n"...), details, nil
}

// BodyWithDetails is the answer of v3 to a request with include=details.
func (r *Referee) BodyWithDetails(s *Swap, t Terms, around Around, note []byte) ([]byte, error) {
	body, err := r.Body("v3", s, t, note)
	if err != nil {
		return nil, err
	}
	d, err := r.details(s, t, around, body)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	quote := bytes.TrimSuffix(body, []byte("}\n"))
	return fmt.Appendf(nil, "%s,\"details\":%s}\n", quote, text), nil
}

// ValidUntilIn is where the time lies in an answer with details.
func ValidUntilIn(body []byte) (from, to int) {
	name := []byte(`"validUntil":"`)
	from = bytes.Index(body, name) + len(name)
	return from, from + len("2026-11-15T12:00:00Z")
}

// CheckDetails tells whether the details of a quote are what they must be. The
// quote itself has passed Check.
func (r *Referee) CheckDetails(s *Swap, t Terms, around Around, quote, got []byte) error {
	want, err := r.details(s, t, around, quote)
	if err != nil {
		return err
	}
	got = withoutSimulation(got)
	if text, err := json.Marshal(want); err != nil || !bytes.Equal(text, got) {
		return fmt.Errorf("got details %s\nwant %s (%v)", got, text, err)
	}
	return nil
}

// withoutSimulation takes the simulation off the end of details: what a chain would
// do is tested on chains.
func withoutSimulation(details []byte) []byte {
	if rest, _, found := bytes.Cut(details, []byte(`,"simulation":`)); found {
		return append(bytes.Clone(rest), '}')
	}
	return details
}

func (r *Referee) details(s *Swap, t Terms, around Around, quote []byte) (*details, error) {
	var answer struct {
		tail
		To string
	}
	if err := json.Unmarshal(quote, &answer); err != nil {
		return nil, err
	}
	d := &details{ValidUntil: around.ValidUntil, ValidFor: around.ValidFor, Arrival: s.arrival(t), Request: requestBody{
		SrcChain: strconv.FormatUint(s.Src, 10), SrcToken: s.SrcToken.Address,
		DstChain: strconv.FormatUint(s.Dst, 10), DstToken: s.DstToken.Address,
		Amount: s.Amount.String(), Recipient: s.Recipient,
	}}
	if len(r.deployment.Seconds) > 0 {
		d.Arrival.Seconds = r.deployment.Seconds[0].Seconds
	}
	if s.Shields() {
		d.Request.RecipientType = 2
	} else {
		d.Request.Recipient = common.HexToAddress(s.Recipient).Hex()
	}
	if s.Integrator != "" {
		d.Request.IntegratorID = hexutil.Encode(common.LeftPadBytes(common.FromHex(s.Integrator), 32))
		registry := r.deployment.Registries[strconv.FormatUint(s.FeeChain(), 10)]
		d.Integrator = &integratorProof{registry, s.FeeChain(), around.CheckedAt}
	}
	if s.Burn {
		percentage := new(big.Rat).Quo(t.IssuerBPS, big.NewRat(100, 1)).FloatString(12)
		percentage = strings.TrimSuffix(strings.TrimRight(percentage, "0"), ".")
		d.IssuerFee = &issuerFee{json.Number(percentage), around.IssuerOrigin, maxFee(s.Amount, t.IssuerBPS).String()}
	}
	var err error
	if d.Call, err = r.decodeCall(answer.Method.Calldata); err != nil {
		return nil, err
	}
	d.Checks, d.Reason = s.checks(around), around.Reason
	if network(s.Src) != s.Src {
		d.Unshield = true // the wallet wraps the call, and pays from the pool
		if around.From != "" {
			null := json.RawMessage("null")
			d.Checks = &null
			d.Reason = "The swap is paid from the privacy pool, not from this account"
		}
		return d, nil
	}
	d.SendCalls = &sendCalls{Version: "2.0.0", From: around.From, ChainID: hexutil.EncodeUint64(network(s.Src))}
	if a := answer.Approval; a != nil && (around.Allowance == nil || around.Allowance.Cmp(s.Amount) < 0) {
		if s.SrcToken.Symbol == "USDT" && s.Src == 1 && (around.Allowance == nil || around.Allowance.Sign() > 0) {
			reset, err := r.abi.Pack("approve", common.HexToAddress(answer.To), new(big.Int))
			if err != nil {
				return nil, err
			}
			d.SendCalls.Calls = append(d.SendCalls.Calls, sentCall{a.Token, hexutil.Encode(reset), "0x0"})
		}
		d.SendCalls.Calls = append(d.SendCalls.Calls, sentCall{a.Token, a.Calldata, "0x0"})
	}
	d.SendCalls.Calls = append(d.SendCalls.Calls, sentCall{answer.To, answer.Method.Calldata, answer.Method.Value})
	return d, nil
}

func (s *Swap) arrival(t Terms) arrival {
	net := s.Split(t.IntegratorBPS).Net
	a := arrival{Amount: net.String(), Deductions: []deduction{}}
	if s.Shields() {
		taken := part(net, railgunBPS)
		a.Deductions = []deduction{{"RAILGUN", percent(railgunBPS), taken.String()}}
		a.Amount = new(big.Int).Sub(net, taken).String()
	}
	if network(s.Src) != s.Src {
		// Counted up from below, one by one.
		n := new(big.Int).Quo(new(big.Int).Mul(s.Amount, big.NewInt(10_000)), big.NewInt(10_000-railgunBPS))
		for n.Sub(n, big.NewInt(2)); new(big.Int).Sub(n, part(n, railgunBPS)).Cmp(s.Amount) < 0; {
			n.Add(n, big.NewInt(1))
		}
		a.Unshield = n.String()
	}
	return a
}

func (s *Swap) checks(around Around) *json.RawMessage {
	if around.From == "" {
		return nil
	}
	text := json.RawMessage("null")
	if around.Balance != nil {
		check := func(name string, actual, needed *big.Int) string {
			return fmt.Sprintf(`"%s":{"actual":"%s","needed":"%s"},`, name, actual, needed)
		}
		value, allowance := new(big.Int), ""
		if s.SrcToken.Address == native {
			value = s.Amount
		} else {
			allowance = check("allowance", around.Allowance, s.Amount)
		}
		recipient := "" // of the node of the goldens, on two chains
		if strings.HasPrefix(s.Recipient, "0x") {
			has := func(id uint64) string {
				return map[uint64]string{1: "true", 369: "false"}[network(id)]
			}
			recipient = fmt.Sprintf(`"recipient":{"source":%s,"destination":%s},`,
				cmp.Or(has(s.Src), "null"), cmp.Or(has(s.Dst), "null"))
		}
		text = json.RawMessage("{" +
			check("native", around.Native, value) + check("balance", around.Balance, s.Amount) + allowance +
			recipient + `"checkedAt":"` + around.ReadAt + `"}`)
	}
	return &text
}

// decodeCall reads calldata with go-ethereum's decoder.
func (r *Referee) decodeCall(text string) (callBody, error) {
	data := common.FromHex(text)
	method, err := r.abi.MethodById(data)
	if err != nil {
		return callBody{}, err
	}
	values, err := method.Inputs.UnpackValues(data[4:])
	if err != nil {
		return callBody{}, err
	}
	body := callBody{Function: method.Sig, Arguments: fields(method.Inputs, values)}
	if method.Name == "depositForBurnWithHook" {
		hook := values[7].([]byte)
		body.Hook = json.RawMessage(fmt.Sprintf(
			`{"dstChainId":"%s","dstToken":"%s","integratorId":"0x%x","recipientType":"%d","recipient":"0x%x"}`,
			new(big.Int).SetBytes(hook[:32]), common.BytesToAddress(hook[32:52]), hook[52:84], hook[84], hook[85:]))
	}
	return body, nil
}

// fields writes arguments as an object, in their order.
func fields(inputs abi.Arguments, values []any) json.RawMessage {
	var list []string
	for i, in := range inputs {
		text := fmt.Sprint(values[i])
		switch v := values[i].(type) {
		case []byte:
			text = hexutil.Encode(v)
		case [32]byte:
			text = hexutil.Encode(v[:])
		}
		list = append(list, fmt.Sprintf("%q:%q", in.Name, text))
	}
	return json.RawMessage("{" + strings.Join(list, ",") + "}")
}
