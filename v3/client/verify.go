package client

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client/internal/call"
	"github.com/quotegate/quotegate/v3/client/internal/known"
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
	c.compare("route.type", c.quote.Route.Type, c.pair.Type)
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

// isThere reports a part that is missing, or there although it must not be. It tells whether there is one to check.
func (c *check) isThere(what string, isThere, isWanted bool, where string) bool {
	if isThere != isWanted {
		c.problem("%s: it must be there for %s, and only then", what, where)
	}
	return isThere && isWanted
}

// compareAddress compares an address of the answer, in any case of its letters.
func (c *check) compareAddress(what, got string, want common.Address) {
	if !known.IsAddress(got, want) {
		c.problem("%s: got %.200s, want %s", what, got, want)
	}
}

// compareWords compares values in any case of their letters, and wants no others beside them.
func (c *check) compareWords(what string, got, want map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		c.compare(what+"."+name, lower(got[name]), lower(want[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			c.problem("%s.%.60s: it must be left out", what, name)
		}
	}
}

// readRequest finds out what the quote must be about.
func (c *check) readRequest() (err error) {
	r, k := c.request, c.known
	if c.pair, err = k.Listing.Find(r.SrcChain, r.SrcToken, r.DstChain, r.DstToken); err != nil {
		return err
	}
	c.to = c.pair.To
	settlement := k.Listing.Settlement
	if k.Routers != nil {
		if err = k.Routers.check(); err != nil {
			return err
		}
		if c.to, err = k.Routers.find(c.pair); err != nil {
			return err
		}
		settlement = k.Routers.Settlement
	}
	isBurn := c.pair.Type == CCTPInbound
	if what := k.unpayable(c.to, c.pair.SrcToken.ChainID, c.pair.SrcToken.Symbol, isBurn); what != "" {
		return fmt.Errorf("the contract of this pair, %s, is %s: "+lost, c.to, what)
	}
	c.domain = settlement.Domain
	if isBurn || settlement.Receiver != "" {
		if c.receiver, err = known.ReadAddress(settlement.Receiver); err != nil {
			return fmt.Errorf("settlement: the receiver %w", err)
		}
		if what := k.unpayable(c.receiver, settlement.ChainID, "", false); what != "" {
			return fmt.Errorf("settlement: the receiver %s is %s: "+lost, c.receiver, what)
		}
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
	return nil
}

// unpayable says why an address must not be paid a token on a network, empty if nothing is known against it. The
// issuer's known.Messenger is paid by burns, and by nothing else.
func (k Known) unpayable(a common.Address, network uint64, symbol string, isBurn bool) string {
	if !isBurn || a != known.Messenger {
		if what := known.Unpayable(a); what != "" {
			return what
		}
		for _, row := range k.Listing.Tokens {
			if known.IsAddress(row.Address, a) {
				return fmt.Sprintf("the contract of %s on chain %d", row.Symbol, row.ChainID)
			}
		}
	}
	for _, row := range k.contracts() {
		if known.IsAddress(row.Router, a) && k.Listing.network(row.ChainID) == network && row.Symbol != symbol {
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

// checkTarget makes sure that the money goes to the contract that is known for it.
func (c *check) checkTarget() {
	if known.IsAddress(c.quote.To, c.to) {
		return
	}
	where := "the listing"
	if c.known.Routers != nil {
		where = "the router listing"
	}
	c.problem("to: got %.100s, want %s, the contract in %s for %s on chain %d",
		c.quote.To, c.to, where, c.pair.SrcToken.Symbol, c.pair.SrcChain)
}

func (c *check) checkToken(what string, got Token, want TokenOn) {
	c.compareAddress(what+".address", got.Address, want.Address)
	c.compare(what+".symbol", got.Symbol, want.Symbol)
	c.compare(what+".decimals", got.Decimals, want.Decimals)
	c.compare(what+".chainId", got.ChainID, want.ChainID)
}

// checkCalls makes sure of the transactions themselves. It gives false if there are none to go on with.
func (c *check) checkCalls() bool {
	data, err := parseHex(c.quote.MethodParameters.Calldata)
	want := []byte(nil)
	switch {
	case err != nil:
	case c.pair.Type == CCTPInbound:
		want, err = c.burnData(data)
	default:
		want, err = c.swapData(data)
	}
	if err != nil {
		c.problem("calldata: %w", err)
		return false
	}
	c.compareCall("calldata", c.method(), data, want)
	value := new(big.Int)
	if c.pair.SrcToken.Native() {
		value.Set(c.request.Amount)
	}
	c.compare("value", c.quote.MethodParameters.Value, "0x"+value.Text(16))
	c.result.Main = Call{c.pair.SrcToken.ChainID, c.to, value, want}
	c.checkApproval(c.quote.Approval)
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
	return Call{token.ChainID, token.Address, new(big.Int), call.Encode(call.Approve, c.to, amount)}
}

// checkApproval makes sure that nobody but the target may take the money, and no more of it.
func (c *check) checkApproval(got *Approval) {
	if !c.isThere("approval", got != nil, !c.pair.SrcToken.Native(), "a token") {
		return
	}
	want := c.approval(c.request.Amount)
	c.result.Approval = &want
	c.compareAddress("approval.token", got.Token, want.To)
	c.compareAddress("approval.spender", got.Spender, c.to)
	c.compare("approval.amount", got.Amount, c.request.Amount)
	data, err := parseHex(got.Calldata)
	if err != nil {
		c.problem("approval.calldata: %w", err)
		return
	}
	c.compareCall("approval.calldata", call.Approve, data, want.Data)
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
	// This token changes an allowance only from zero or to zero.
	needsReset := c.pair.SrcToken.ChainID == 1 && c.pair.SrcToken.Symbol == "USDT"
	switch {
	case c.pair.SrcToken.Native() || allowance != nil && allowance.Cmp(amount) >= 0:
		return []Call{main}
	case needsReset && (allowance == nil || allowance.Sign() > 0):
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
	trust := func(applies bool, format string, args ...any) {
		if applies {
			c.result.Unchecked = append(c.result.Unchecked, fmt.Sprintf(format, args...))
		}
	}
	p := c.pair
	trust(true, "what arrives: the contracts enforce no minimum, and the fees in force when the swap settles count")
	trust(true, "when it arrives: the contracts enforce no deadline")
	trust(true, "that it arrives: the contracts give no refund, so it rests on the operator")
	for _, token := range []TokenOn{p.SrcToken, p.DstToken} {
		trust(known.BySymbol(token.ChainID, token.Symbol) == nil,
			"the address of %s on chain %d, %s: this version does not know the token",
			token.Symbol, token.ChainID, token.Address)
	}
	trust(c.request.Integrator != common.Address{},
		"the integrator's fee of %s %%, from which its amount and the amount that arrives follow: "+
			"only its registry on chain %d can tell",
		c.quote.Fee.Integrator.Percentage, p.FeeChain)
	trust(p.Shields, uncheckedNote)
	trust(p.Shields || p.Unshields, "RAILGUN's own fee: its owner decides")
	trust(p.Unshields, "that a RAILGUN wallet wraps it: sent from a public account, "+
		"this is an ordinary swap at another fee, without privacy")
	trust(c.result.MaxFee != nil, "the issuer's fee: at most maxFee, %s, which the service pays", c.result.MaxFee)
	d := c.quote.Details
	if d == nil {
		return
	}
	if d.IssuerFee != nil {
		trust(true, "the issuer's percentage of %s and its origin, %.30q: the gateway's word",
			d.IssuerFee.Percentage, d.IssuerFee.Origin)
	}
	if d.Integrator != nil {
		trust(true, "the registry %.60q and when it was read: the gateway's word", d.Integrator.Registry)
	}
	trust(d.Checks != nil, "what %s holds and allows: only the chain can tell", c.request.From)
	trust(d.Simulation != nil,
		"the simulation: what a node of the gateway says, at the price of gas and the state of its block")
	trust(d.Arrival.Seconds > 0, "how long it takes: %d seconds is what it usually took", d.Arrival.Seconds)
}

func integratorText(r Request) string {
	if r.Integrator == (common.Address{}) {
		return ""
	}
	return common.Hash(r.integratorID()).Hex()
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
