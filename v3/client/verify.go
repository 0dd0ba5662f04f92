package client

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// A Call is one transaction to sign.
type Call struct {
	ChainID uint64 // the network to send it on
	To      common.Address
	Value   *big.Int
	Data    []byte
}

// A Checked quote is what was asked for. Only Verify makes one.
type Checked struct {
	Request Request
	Pair    *Pair
	Quote   *Quote // the answer

	// Calls are what to send, each after the one before is in a block: a reset of the allowance where the token may
	// need one, the approval, the main call. What is not needed is left out where the allowance is known. Empty for a
	// swap out of a privacy pool.
	Calls []Call

	// Wrap are the calls of a swap out of a privacy pool, for a RAILGUN wallet to wrap in its private transaction.
	// Never send them from a public account: that is an ordinary swap at another fee and without privacy.
	Wrap []Call

	Main     Call  // the main call, the last of either
	Approval *Call // nil when the source is native

	// What comes of it, in the destination token's smallest unit.
	Dest, Protocol, Integrator *big.Int
	Arrives                    *big.Int // Dest, less what others take of it, as the answer says RAILGUN does

	MaxFee    *big.Int  // what the issuer may take of a burn, which the service pays; nil for none
	Expires   time.Time // when the quote ends, by this machine's clock; Verify leaves it zero
	Unchecked []string  // what nobody can check, in sentences: show them
}

// Known is what a quote is held against, beside the request.
type Known struct {
	Listing   *Listing // pinned, or the gateway's own
	Routers   *Routers // contracts that were reviewed, in place of the listing's; nil for none
	Allowance *big.Int // of the source token, read by yourself; nil if it is not known
}

// settlement is where burns are minted.
func (k Known) settlement() Settlement {
	if k.Routers != nil {
		return k.Routers.Settlement
	}
	return k.Listing.Settlement
}

const refusedQuote = "do not sign this quote: it does not match the request"

// Verify holds an answer of the quote endpoint, as it came, against the request. Its error is an *Error with the code
// Unverified, whose Problems are everything that is wrong.
func Verify(r Request, answer []byte, k Known) (*Checked, error) {
	if k.Listing == nil {
		return nil, &Error{Code: InvalidRequest, Message: "a quote is checked against a listing, and there is none"}
	}
	if _, err := r.path(); err != nil {
		return nil, err
	}
	if err := k.Listing.check(); err != nil {
		return nil, unverified(refusedQuote, err)
	}
	c := &check{request: r, known: k, quote: &Quote{}, result: &Checked{Request: r}}
	if err := c.readRequest(); err != nil {
		return nil, unverified(refusedQuote, err)
	}
	if err := decodeBody(answer, c.quote); err != nil {
		return nil, unverified(refusedQuote, fmt.Errorf("the answer cannot be read: %w", err))
	}
	c.result.Pair = c.pair
	c.result.Quote = c.quote
	c.checkToken("srcToken", c.quote.SrcToken, c.pair.SrcToken)
	c.checkToken("destToken", c.quote.DestToken, c.pair.DstToken)
	c.checkTarget()
	c.checkAmounts()
	c.checkRoute()
	if c.checkCalls() {
		c.checkDetails()
	}
	if c.problems != nil {
		return nil, unverified(refusedQuote, c.problems...)
	}
	c.nameUnchecked()
	return c.result, nil
}

// check is one quote under suspicion.
type check struct {
	request   Request
	known     Known
	quote     *Quote
	pair      *Pair
	recipient []byte         // of an EVM recipient
	to        common.Address // the contract that there must be
	receiver  common.Address // of burns
	domain    uint32
	feeChain  uint64
	main      *function // what the main call calls
	problems  []error
	result    *Checked
}

func (c *check) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *check) compare(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.problem("%s: got %.200s, want %s", what, g, w)
	}
}

// compareAddress compares an address of the answer, in any case of its letters.
func (c *check) compareAddress(what, got string, want common.Address) {
	data, err := parseHex(got)
	if err != nil || !bytes.Equal(data, want[:]) {
		c.problem("%s: got %.200s, want %s", what, got, want)
	}
}

// readRequest finds out what the quote must be about.
func (c *check) readRequest() error {
	r, k := c.request, c.known
	var err error
	if c.pair, err = k.Listing.Find(r.SrcChain, r.SrcToken, r.DstChain, r.DstToken); err != nil {
		return err
	}
	c.to = c.pair.To
	c.feeChain = c.pair.FeeChain
	if k.Routers != nil {
		if err = k.Routers.check(); err != nil {
			return err
		}
		if c.to, err = k.Routers.find(c.pair); err != nil {
			return err
		}
	}
	if err = k.checkContract(c.pair, c.to); err != nil {
		return err
	}
	settlement := k.settlement()
	if !isChain(settlement.ChainID) {
		return fmt.Errorf("settlement: %d is no chain", settlement.ChainID)
	}
	c.domain = settlement.Domain
	if c.receiver, err = k.receiver(c.pair); err != nil {
		return err
	}
	if c.recipient, err = r.recipientOf(c.pair, k); err != nil {
		return err
	}
	if r.Amount.Cmp(c.pair.Min) < 0 || r.Amount.Cmp(c.pair.Max) > 0 {
		decimals := c.pair.SrcToken.Decimals
		return fmt.Errorf("amount: %s is outside of %s to %s %s, and yet there is a quote",
			FormatAmount(r.Amount, decimals), FormatAmount(c.pair.Min, decimals), FormatAmount(c.pair.Max, decimals),
			c.pair.SrcToken.Symbol)
	}
	c.main = swapCall
	if c.pair.Type == CCTPInbound {
		c.main = burnCall
	}
	return nil
}

// find gives the contract of a pair, which must have one row.
func (r *Routers) find(p *Pair) (to common.Address, err error) {
	rows := 0
	for _, row := range r.Data {
		if row.ChainID != p.SrcChain || row.Symbol != p.SrcToken.Symbol {
			continue
		}
		rows++
		token, tokenErr := readAddress(row.Token)
		if tokenErr != nil || token != p.SrcToken.Address {
			return to, fmt.Errorf("token in the router listing: got %.60q, want %s", row.Token, p.SrcToken.Address)
		}
		to, err = readAddress(row.Router)
		if err != nil {
			return to, fmt.Errorf("router in the router listing: got %.60q, which is none", row.Router)
		}
	}
	if rows != 1 {
		return to, fmt.Errorf("router listing: %d rows for %s on chain %d, want one",
			rows, p.SrcToken.Symbol, p.SrcChain)
	}
	return to, nil
}

// checkContract refuses a contract that would lose the money of a pair.
func (k Known) checkContract(p *Pair, to common.Address) error {
	what := k.unpayable(to)
	if p.Type == CCTPInbound && to == messenger {
		what = ""
	}
	if what == "" {
		what = k.takes(to, p.SrcToken.ChainID, p.SrcToken.Symbol)
	}
	if what != "" {
		return fmt.Errorf("the contract of this pair, %s, is %s: "+lost, to, what)
	}
	return nil
}

// receiver is whom a burn pays. Where no burn is quoted there may be none.
func (k Known) receiver(p *Pair) (common.Address, error) {
	s := k.settlement()
	if s.Receiver == "" && p.Type != CCTPInbound {
		return common.Address{}, nil
	}
	receiver, err := readAddress(s.Receiver)
	if err != nil {
		return receiver, fmt.Errorf("settlement: the receiver %w", err)
	}
	what := k.unpayable(receiver)
	if what == "" {
		what = k.takes(receiver, s.ChainID, "")
	}
	if what != "" {
		return receiver, fmt.Errorf("settlement: the receiver %s is %s: "+lost, receiver, what)
	}
	return receiver, nil
}

// unpayable says what an address is that must not be paid, empty if nothing is known against it.
func (k Known) unpayable(a common.Address) string {
	if what := unpayable(a); what != "" {
		return what
	}
	for _, row := range k.Listing.Tokens {
		if token, err := readAddress(row.Address); err == nil && token == a {
			return fmt.Sprintf("the contract of %s on chain %d", row.Symbol, row.ChainID)
		}
	}
	return ""
}

// takes says which other token an address takes on a network, as the contract of a pair. It is empty if it takes none.
func (k Known) takes(a common.Address, network uint64, symbol string) string {
	for _, row := range k.contracts() {
		to, err := readAddress(row.Router)
		if err == nil && to == a && k.Listing.network(row.ChainID) == network && row.Symbol != symbol {
			return fmt.Sprintf("the router of %s on chain %d", row.Symbol, row.ChainID)
		}
	}
	return ""
}

// contracts are those that take source transactions.
func (k Known) contracts() (rows []Router) {
	if k.Routers != nil {
		return k.Routers.Data
	}
	for _, p := range k.Listing.Pairs {
		rows = append(rows, Router{ChainID: p.SrcChain, Symbol: p.SrcToken, Router: p.To})
	}
	return rows
}

func (c *check) checkToken(what string, got Token, want TokenOn) {
	address := got.Address
	if a, err := parseHex(got.Address); err == nil && bytes.Equal(a, want.Address[:]) {
		address = want.Address.Hex() // in any case of its letters
	}
	c.compare(what,
		Token{address, got.Symbol, got.Decimals, got.ChainID},
		Token{want.Address.Hex(), want.Symbol, want.Decimals, want.ChainID})
}

// checkTarget makes sure that the money goes to the contract that is known for it.
func (c *check) checkTarget() {
	where := "the listing"
	if c.known.Routers != nil {
		where = "the router listing"
	}
	to, err := readAddress(c.quote.To)
	if err != nil {
		c.problem("to: %.100q %w", c.quote.To, err)
	} else if to != c.to {
		c.problem("to: got %s, want %s, the contract in %s for %s on chain %d",
			to, c.to, where, c.pair.SrcToken.Symbol, c.pair.SrcChain)
	}
}

func (c *check) checkRoute() {
	c.compare("route.type", c.quote.Route.Type, c.pair.Type)
}

// checkCalls makes sure of the transactions themselves. It gives false if there are none to go on with.
func (c *check) checkCalls() bool {
	data, err := parseHex(c.quote.MethodParameters.Calldata)
	if err != nil {
		c.problem("calldata: %w", err)
		return false
	}
	if c.main == burnCall {
		data = c.checkBurn(data)
	} else {
		data = c.checkSwap(data)
	}
	if data == nil {
		return false
	}
	value := new(big.Int)
	if c.pair.SrcToken.Native() {
		value.Set(c.request.Amount)
	}
	c.compare("value", c.quote.MethodParameters.Value, "0x"+value.Text(16))
	c.result.Main = Call{c.pair.SrcToken.ChainID, c.to, value, data}
	c.checkApproval()
	calls := c.callsFor(c.allowance())
	if c.pair.Unshields {
		c.result.Wrap = calls
	} else {
		c.result.Calls = calls
	}
	return true
}

// approval lets the target take so much of the source token.
func (c *check) approval(amount *big.Int) Call {
	token := c.pair.SrcToken
	return Call{token.ChainID, token.Address, new(big.Int), approveCall.encode(c.to[:], amount.Bytes())}
}

// checkApproval makes sure that nobody but the target may take the money, and no more of it.
func (c *check) checkApproval() {
	want := c.approval(c.request.Amount)
	got := c.quote.Approval
	native := c.pair.SrcToken.Native()
	switch {
	case native:
		if got != nil {
			c.problem("approval: there is one, where there must be none")
		}
	case got == nil:
		c.problem("approval: there is none, where the source token needs one")
	default:
		c.compareAddress("approval.token", got.Token, want.To)
		c.compareAddress("approval.spender", got.Spender, c.to)
		c.compare("approval.amount", got.Amount, c.request.Amount)
		data, err := parseHex(got.Calldata)
		if err != nil {
			c.problem("approval.calldata: %w", err)
		} else if !bytes.Equal(data, want.Data) {
			c.problem("approval.calldata: not the approval that was asked for%s",
				approveCall.difference(data, want.Data))
		}
	}
	if !native {
		c.result.Approval = &want
	}
}

// allowance is what the caller has read, or else what the gateway says for the account; nil if neither is there.
func (c *check) allowance() *big.Int {
	if c.known.Allowance != nil {
		return c.known.Allowance
	}
	return c.statedAllowance()
}

func (c *check) statedAllowance() *big.Int {
	d := c.quote.Details
	if c.request.From == (common.Address{}) || d == nil || d.Checks == nil || d.Checks.Allowance == nil {
		return nil
	}
	return d.Checks.Allowance.Actual.Int()
}

// callsFor are the calls to send at an allowance. If it is not known, all that may be needed are there: what is not
// needed does no harm.
func (c *check) callsFor(allowance *big.Int) []Call {
	amount, main := c.request.Amount, c.result.Main
	switch {
	case c.pair.SrcToken.Native() || allowance != nil && allowance.Cmp(amount) >= 0:
		return []Call{main}
	case needsReset(c.pair.SrcToken) && (allowance == nil || allowance.Sign() > 0):
		return []Call{c.approval(new(big.Int)), c.approval(amount), main}
	}
	return []Call{c.approval(amount), main}
}

// Note is the shield note of a swap into a privacy pool: 160 bytes that only its owner can open. Nil for other swaps.
func (q *Checked) Note() []byte {
	if !q.Pair.Shields {
		return nil
	}
	return slices.Clone(q.Main.Data[noteAt:])
}

// WithNote gives the same quote with another shield note, such as one that you made yourself for the recipient. Nobody
// can tell whom a gateway's note pays but the owner of the viewing key.
func (q *Checked) WithNote(note []byte) (*Checked, error) {
	if !q.Pair.Shields || len(note) != noteSize {
		text := fmt.Sprintf("a note of %d bytes does not fit this swap", len(note))
		return nil, &Error{Code: InvalidRequest, Message: text}
	}
	other := *q
	other.Main.Data = append(q.Main.Data[:noteAt:noteAt], note...)
	for _, calls := range []*[]Call{&other.Calls, &other.Wrap} {
		*calls = slices.Clone(*calls)
		if n := len(*calls); n > 0 {
			(*calls)[n-1] = other.Main
		}
	}
	isOfNote := func(what string) bool { return what == uncheckedNote }
	other.Unchecked = slices.DeleteFunc(slices.Clone(q.Unchecked), isOfNote)
	return &other, nil
}

const uncheckedNote = "whom the note in the answer pays: only the viewing key of the 0zk address can tell"

// nameUnchecked says what of the answer, and of what happens after it, has to be taken on trust.
func (c *check) nameUnchecked() {
	c.trust("what arrives: the contracts enforce no minimum, and the fees in force when the swap settles count")
	c.trust("when it arrives: the contracts enforce no deadline")
	c.trust("that it arrives: the contracts give no refund, so it rests on the operator")
	for _, token := range []TokenOn{c.pair.SrcToken, c.pair.DstToken} {
		if knownBySymbol(token.ChainID, token.Symbol) == nil {
			c.trust("the address of %s on chain %d, %s: this version does not know the token",
				token.Symbol, token.ChainID, token.Address)
		}
	}
	if c.request.Integrator != (common.Address{}) {
		c.trust("the integrator's fee of %s %%, from which its amount and the amount that arrives follow: "+
			"only its registry on chain %d can tell",
			c.quote.Fee.Integrator.Percentage, c.feeChain)
	}
	if c.pair.Shields {
		c.trust(uncheckedNote)
	}
	if c.pair.Shields || c.pair.Unshields {
		c.trust("RAILGUN's own fee: its owner decides")
	}
	if c.pair.Unshields {
		c.trust("that a RAILGUN wallet wraps it: sent from a public account, " +
			"this is an ordinary swap at another fee, without privacy")
	}
	if c.result.MaxFee != nil {
		c.trust("the issuer's fee: at most maxFee, %s, which the service pays", c.result.MaxFee)
	}
	if d := c.quote.Details; d != nil {
		c.nameUncheckedDetails(d)
	}
}

// trust says one thing that has to be taken on trust.
func (c *check) trust(format string, args ...any) {
	c.result.Unchecked = append(c.result.Unchecked, fmt.Sprintf(format, args...))
}

func (c *check) nameUncheckedDetails(d *Details) {
	if d.IssuerFee != nil {
		c.trust("the issuer's percentage of %s and its origin, %.30q: the gateway's word",
			d.IssuerFee.Percentage, d.IssuerFee.Origin)
	}
	if d.Integrator != nil {
		c.trust("the registry %.60q and when it was read: the gateway's word", d.Integrator.Registry)
	}
	if d.Checks != nil {
		c.trust("what %s holds and allows: only the chain can tell", c.request.From)
	}
	if d.Simulation != nil {
		c.trust("the simulation: what a node of the gateway says, at the price of gas and the state of its block")
	}
	if d.Arrival.Seconds > 0 {
		c.trust("how long it takes: %d seconds is what it usually took", d.Arrival.Seconds)
	}
}

// recipientText is the recipient as the details and a status name it.
func (c *check) recipientText() string {
	if c.pair.Shields {
		return c.request.Recipient
	}
	return common.BytesToAddress(c.recipient).Hex()
}

func integratorText(r Request) string {
	if r.Integrator == (common.Address{}) {
		return ""
	}
	id := r.integratorID()
	return "0x" + hex.EncodeToString(id[:])
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
