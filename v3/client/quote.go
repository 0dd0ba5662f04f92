package client

import (
	"slices"
	"time"
)

// A Quote is an answer of the quote endpoint. Verify says what of it is true.
type Quote struct {
	To               string    `json:"to"`
	SrcToken         Token     `json:"srcToken"`
	DestToken        Token     `json:"destToken"`
	SrcAmount        Amount    `json:"srcAmount"`
	DestAmount       Amount    `json:"destAmount"`
	Fee              Fee       `json:"fee"`
	Approval         *Approval `json:"approval,omitempty"`
	MethodParameters Payload   `json:"methodParameters"`
	Route            Route     `json:"route"`
	Details          *Details  `json:"details,omitempty"`
}

// Token is how an answer names a token.
type Token struct {
	Address  string `json:"address"`
	Symbol   string `json:"symbol"`
	Decimals uint8  `json:"decimals"`
	ChainID  uint64 `json:"chainId"` // a network, also for a privacy pool
}

// Fee is what is taken, and where.
type Fee struct {
	ChainID    uint64        `json:"chainId"`
	Token      string        `json:"token"`
	Protocol   FeePart       `json:"protocol"`
	Integrator IntegratorFee `json:"integrator"`
	Total      TotalFee      `json:"total"`
}

// FeePart is what the protocol takes.
type FeePart struct {
	Percentage Percentage `json:"percentage"`
	Amount     Amount     `json:"amount"`
}

// IntegratorFee is what the integrator takes.
type IntegratorFee struct {
	Percentage Percentage `json:"percentage"`
	Amount     Amount     `json:"amount"`
	ID         string     `json:"id,omitempty"`
	Address    string     `json:"address,omitempty"`
}

// TotalFee is what both take.
type TotalFee struct {
	Amount Amount `json:"amount"`
}

// Approval is the transaction that lets a contract spend the source token.
type Approval struct {
	Token    string `json:"token"`
	Spender  string `json:"spender"`
	Amount   Amount `json:"amount"`
	Calldata string `json:"calldata"`
}

// Payload is the main transaction.
type Payload struct {
	Calldata string `json:"calldata"`
	Value    string `json:"value"`
}

// Route is the way that the money takes.
type Route struct {
	Type string `json:"type"`
}

// Details are what v3 says beyond the quote.
type Details struct {
	Request          DetailsRequest   `json:"request"`
	Call             DecodedCall      `json:"call"`
	SendCalls        *SendCalls       `json:"sendCalls,omitempty"` // not for unshielding
	Unshield         bool             `json:"unshield,omitempty"`
	Contract         string           `json:"contract,omitempty"` // MISSING if one that the swap needs does not exist
	Arrival          Arrival          `json:"arrival"`
	ValidUntil       Time             `json:"validUntil"`
	ValidForSeconds  uint64           `json:"validForSeconds"`     // the same without a clock
	IssuerFee        *IssuerFee       `json:"issuerFee,omitempty"` // of a burn
	Integrator       *RegistryReading `json:"integrator,omitempty"`
	Checks           *Checks          `json:"checks,omitempty"`           // with From; nil if the chain was not asked
	Reason           string           `json:"reason,omitempty"`           // why Checks is nil
	Simulation       *Simulation      `json:"simulation,omitempty"`       // with Simulate; nil if no node could
	SimulationReason string           `json:"simulationReason,omitempty"` // why Simulation is nil
}

// DetailsRequest is the request as the gateway understood it.
type DetailsRequest struct {
	SrcChain      string `json:"srcChain"`
	SrcToken      string `json:"srcToken"`
	DstChain      string `json:"dstChain"`
	DstToken      string `json:"dstToken"`
	Amount        Amount `json:"amount"`
	Recipient     string `json:"recipient"`
	RecipientType uint64 `json:"recipientType"`
	IntegratorID  string `json:"integratorId,omitempty"`
}

// DecodedCall says what calldata does. Numbers are decimal, all else is 0x and digits.
type DecodedCall struct {
	Function  string            `json:"function"`
	Arguments map[string]string `json:"arguments"`
	Hook      map[string]string `json:"hook,omitempty"` // of a burn
}

// SendCalls are the parameters of wallet_sendCalls (EIP-5792).
type SendCalls struct {
	Version        string     `json:"version"`
	From           string     `json:"from,omitempty"`
	ChainID        string     `json:"chainId"`
	AtomicRequired bool       `json:"atomicRequired"`
	Calls          []SendCall `json:"calls"`
}

// SendCall is one of them.
type SendCall struct {
	To    string `json:"to"`
	Data  string `json:"data"`
	Value string `json:"value"`
}

// Arrival is what the recipient really gets.
type Arrival struct {
	Amount         Amount      `json:"amount"`
	Deductions     []Deduction `json:"deductions"`
	Seconds        uint64      `json:"seconds,omitzero"` // what it usually takes; 0 if that is not known
	UnshieldAmount Amount      `json:"unshieldAmount,omitzero"`
}

// Deduction is what somebody else takes of it, as RAILGUN does.
type Deduction struct {
	By         string     `json:"by"`
	Percentage Percentage `json:"percentage"`
	Amount     Amount     `json:"amount"`
}

// IssuerFee is what the issuer may take of a burn. The service pays it.
type IssuerFee struct {
	Percentage Percentage `json:"percentage"`
	Origin     string     `json:"origin"`
	MaxFee     Amount     `json:"maxFee"`
}

// RegistryReading is where the integrator's fee was read.
type RegistryReading struct {
	Registry  string `json:"registry"`
	ChainID   uint64 `json:"chainId"`
	CheckedAt Time   `json:"checkedAt"`
}

// Checks compare what the account has with what it needs.
type Checks struct {
	Native    Check          `json:"native"`
	Balance   Check          `json:"balance"`
	Allowance *Check         `json:"allowance,omitempty"` // nil where the source is native
	Recipient *RecipientCode `json:"recipient,omitempty"` // nil for a 0zk address
	CheckedAt Time           `json:"checkedAt"`
}

// RecipientCode tells on which networks of a swap its recipient is a contract; nil where that is not known.
type RecipientCode struct {
	Source      *bool `json:"source,omitempty"`
	Destination *bool `json:"destination,omitempty"`
}

// Check is one of them.
type Check struct {
	Actual Amount `json:"actual"`
	Needed Amount `json:"needed"`
}

// Simulation is what the gateway says that the calls would do, one after the other.
type Simulation struct {
	BlockNumber uint64          `json:"blockNumber"`
	Calls       []SimulatedCall `json:"calls"`
	Event       *bool           `json:"event,omitempty"` // whether the contract tells of this swap; nil if not known
	Native      Check           `json:"native"`          // the coins for value and gas
}

// SimulatedCall is what one call would do.
type SimulatedCall struct {
	GasUsed  uint64 `json:"gasUsed"`
	GasLimit uint64 `json:"gasLimit"` // enough to send it with
	Status   string `json:"status"`   // SUCCESS, FAILED or UNPROVEN
	Error    string `json:"error,omitempty"`
}

// Lacking tells whether the account lacks tokens or coins, as the gateway read it. Without coins it cannot pay for gas.
func (d *Details) Lacking() bool {
	var coins []Check
	if d.Checks != nil {
		coins = append(coins, d.Checks.Native)
	}
	if d.Simulation != nil {
		coins = append(coins, d.Simulation.Native)
	}
	lacks := func(c Check) bool { return c.Actual.Int().Cmp(c.Needed.Int()) < 0 }
	hasNone := func(c Check) bool { return c.Actual.Int().Sign() == 0 }
	return d.Checks != nil && lacks(d.Checks.Balance) || slices.ContainsFunc(coins, lacks) ||
		slices.ContainsFunc(coins, hasNone)
}

func (d *Details) sufficient() *bool {
	switch {
	case d == nil:
		return nil
	case d.Lacking() || d.Simulation.failed():
		return new(bool)
	case d.Checks == nil || d.Simulation == nil || !d.Simulation.succeeded():
		return nil
	}
	enough := true
	return &enough
}

// failed tells whether a call fails, or the contract does something else than was asked for.
func (s *Simulation) failed() bool {
	isFailed := func(c SimulatedCall) bool { return c.Status == "FAILED" }
	return s != nil && (s.Event != nil && !*s.Event || slices.ContainsFunc(s.Calls, isFailed))
}

func (s *Simulation) succeeded() bool {
	isOther := func(c SimulatedCall) bool { return c.Status != "SUCCESS" }
	return s.Event != nil && *s.Event && !slices.ContainsFunc(s.Calls, isOther)
}

// expires is when a quote ends, by the clock of this machine, which may be wrong.
func (d *Details) expires(asked time.Time) time.Time {
	const longest = 24 * 60 * 60
	return asked.Add(time.Duration(min(d.ValidForSeconds, longest)) * time.Second)
}
