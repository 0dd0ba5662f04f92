package client

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

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
	Warnings  []string  // what may be a mistake, in sentences: show them

	// Sufficient tells whether Request.From has the tokens and coins that the calls need, as the gateway read it: true
	// if a simulation says that all would succeed and be paid for, false if some are lacking or it has failed, nil if
	// that is not known.
	Sufficient *bool

	OwnNote bool   // Main has a note of WithNote
	Warning string // the gateway's own, of a quote that must not be signed: see Error.Checked

	origin *Client // whose Quote gave it
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
		return nil, &Error{Code: InvalidRequest, Message: "Known.Listing is required"}
	}
	if _, err := r.path(); err != nil {
		return nil, err
	}
	if err := k.Listing.check(); err != nil {
		return nil, unverified(refusedQuote, err)
	}
	c := &check{request: r, known: k, answer: &Quote{}, result: &Checked{Request: r}}
	if err := c.readRequest(); err != nil {
		return nil, unverified(refusedQuote, err)
	}
	came, err := decodeKnown(answer, c.answer)
	if err != nil {
		return nil, unverified(refusedQuote, fmt.Errorf("the response is malformed: %w", err))
	}
	c.result.Pair = c.pair
	c.result.Quote = c.answer
	c.buildCalls()
	want := tree(c.expect())
	copyFields(want, came, told...)
	c.sayRanges(want)
	if wrong := append(worstFirst(differences("", came, want)), c.problems...); wrong != nil {
		return nil, unverified(refusedQuote, wrong...)
	}
	c.nameUnchecked()
	c.warn()
	c.result.Sufficient = c.answer.Details.sufficient()
	return c.result, nil
}

// check is what is known of one quote while it is verified.
type check struct {
	request   Request
	known     Known
	answer    *Quote
	pair      *Pair
	recipient []byte         // of an EVM recipient
	private   string         // a 0zk recipient
	to        common.Address // the contract that there must be
	receiver  common.Address // of burns
	domain    uint32
	call      DecodedCall // what the main call must be
	result    *Checked
	problems
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
	if isBurn && k.Routers == nil && c.to != known.Messenger {
		return fmt.Errorf("the contract of this burn, %s, is not the issuer's TokenMessenger, %s: "+
			"pin the routers if you have reviewed it", c.to, known.Messenger)
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
	if err = c.readRecipient(); err != nil {
		return err
	}
	if !c.pair.allows(r.Amount) {
		amount := FormatAmount(r.Amount, c.pair.SrcToken.Decimals)
		return fmt.Errorf("amount: %s is outside the limits, %s", amount, c.pair.limits())
	}
	return nil
}

var privateRecipients = regexp.MustCompile(`^(0zk1[02-9ac-hj-np-z]{123}|0ZK1[02-9AC-HJ-NP-Z]{123})$`)

const lost = "funds sent there are lost"

// readRecipient refuses a recipient that cannot own money, among them every token and every contract that is known or
// listed, on any chain.
func (c *check) readRecipient() error {
	if c.pair.Shields {
		if !privateRecipients.MatchString(c.request.Recipient) {
			return errors.New("the recipient must be a 0zk address")
		}
		c.private = strings.ToLower(c.request.Recipient) // as answers have it
		return nil
	}
	address, err := known.ParseAddress(c.request.Recipient)
	if err != nil {
		return fmt.Errorf("the recipient %w", err)
	}
	what := c.known.unpayable(address, anyNetwork, "", false)
	if c.known.Routers != nil && what == "" { // the listing's own contracts count too
		what = Known{Listing: c.known.Listing}.unpayable(address, anyNetwork, "", false)
	}
	if address == c.receiver {
		what = "the receiver of burns"
	}
	if what != "" {
		return fmt.Errorf("the recipient %s is %s: "+lost, address, what)
	}
	c.recipient = address[:]
	return nil
}

const anyNetwork = 0

// unpayable says why an address must not be paid a token on a network, empty if nothing is known against it. The
// issuer's known.Messenger is paid by burns, and by nothing else.
func (k Known) unpayable(a common.Address, network uint64, symbol string, isBurn bool) string {
	if !isBurn || a != known.Messenger {
		if what := known.Unpayable(a); what != "" {
			return what
		}
		for _, row := range k.Listing.Tokens {
			if known.IsAddress(row.Address, a) {
				return "the contract of " + on(row.ChainID, row.Symbol)
			}
		}
	}
	for _, row := range k.contracts() {
		isNear := network == anyNetwork || network == k.Listing.network(row.ChainID)
		if known.IsAddress(row.Router, a) && isNear && row.Symbol != symbol {
			return "the router of " + on(row.ChainID, row.Symbol)
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
	other.OwnNote = true
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
			"the address of %s, %s: this version does not know the token",
			on(token.ChainID, token.Symbol), token.Address)
	}
	trust(c.request.hasIntegrator(),
		"the integrator's fee of %s %%, from which its amount and the amount that arrives follow: "+
			"only its registry on chain %d can tell",
		c.answer.Fee.Integrator.Percentage, p.FeeChain)
	trust(p.Shields, uncheckedNote)
	trust(p.Shields || p.Unshields, "RAILGUN's own fee: its owner decides")
	trust(p.Unshields, "that a RAILGUN wallet wraps it: sent from a public account, "+
		"this is an ordinary swap at another fee, without privacy")
	trust(c.result.MaxFee != nil, "the issuer's fee: at most maxFee, %s, which the service pays", c.result.MaxFee)
	d := c.answer.Details
	if d == nil {
		return
	}
	if d.IssuerFee != nil {
		trust(true, "the issuer's percentage of %s and its origin, %s: the gateway's word",
			d.IssuerFee.Percentage, quoted(d.IssuerFee.Origin))
	}
	if d.Integrator != nil {
		trust(true, "the registry %s and when it was read: the gateway's word", quoted(d.Integrator.Registry))
	}
	trust(d.Checks != nil, "what %s holds and allows: only the chain can tell", c.request.From)
	trust(d.Simulation != nil,
		"the simulation: what a node of the gateway says, at the price of gas and the state of its block")
	trust(d.Arrival.Seconds > 0, "how long it takes: %d seconds is what it usually took", d.Arrival.Seconds)
}

// warn says what may be a mistake, as far as the answer tells.
func (c *check) warn() {
	code := valueOf(valueOf(valueOf(c.answer.Details).Checks).Recipient)
	if code.Source == nil || code.Destination == nil || *code.Source == *code.Destination {
		return
	}
	with, without := c.pair.SrcToken.ChainID, c.pair.DstToken.ChainID
	if *code.Destination {
		with, without = without, with
	}
	const warning = "the recipient has code on chain %d and none on chain %d: " +
		"if it is a smart account, make sure that it is yours on both"
	c.result.Warnings = append(c.result.Warnings, fmt.Sprintf(warning, with, without))
}
