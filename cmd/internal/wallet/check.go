package wallet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// A Transaction is what is left to sign.
type Transaction struct {
	To    common.Address
	Value *big.Int
	Data  []byte
}

// A Checked quote is what was asked for. Only Check makes one.
type Checked struct {
	Swap     Swap
	Main     Transaction
	OwnNote  bool         // Main carries a note made here for the recipient, and not the answer's, which nobody opened
	Approval *Transaction // nil when the source is native

	// What comes of it, in the destination token's smallest unit.
	Dest, Protocol, Integrator *big.Int
	Arrives                    *big.Int // Dest, less what RAILGUN takes of it where it is shielded

	// Unshield is what to take out of the privacy pool so that RAILGUN leaves the amount to swap; nil for a swap that does
	// not start there.
	Unshield *big.Int

	Railgun chain.Railgun // what RAILGUN takes for itself, as the pinned deployment says

	MaxFee    *big.Int // what the issuer may take of a burn, which the service pays; nil for none
	Unchecked []string // what of the answer had to be taken on trust
}

// Knowledge is what a quote is held against, beside the swap that was asked for.
type Knowledge struct {
	Deployment *chain.Deployment // whose contracts have been reviewed
	Listing    Listing           // the gateway's own
	ViewingKey *[32]byte         // of a private recipient; nil if it is not at hand
}

// Check holds a quote against the swap that was asked for. The error joins everything that is wrong with it.
func Check(s Swap, q *Quote, k Knowledge) (*Checked, error) {
	if err := s.CheckRecipient(k.Deployment, k.Listing); err != nil {
		return nil, err
	}
	recipient, err := s.recipient()
	if err != nil {
		return nil, err
	}
	c := &check{swap: s, quote: q, recipient: recipient, viewingKey: k.ViewingKey, result: &Checked{Swap: s, Railgun: k.Deployment.Railgun}}
	c.checkToken("srcToken", q.SrcToken, s.SrcToken)
	c.checkToken("destToken", q.DestToken, s.DstToken)
	c.checkTarget(k)
	c.checkAmounts(k.Deployment)
	c.checkRoute()
	c.checkCalls(k.Deployment)
	if q.Details != nil && !q.Asked {
		c.problem("details: they were not asked for")
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	return c.result, nil
}

// check is one quote under suspicion.
type check struct {
	swap       Swap
	quote      *Quote
	recipient  []byte
	viewingKey *[32]byte
	to         common.Address
	problems   []error
	result     *Checked
}

func (c *check) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *check) unchecked(what string) { c.result.Unchecked = append(c.result.Unchecked, what) }

func (c *check) compare(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.problem("%s: got %.200s, want %s", what, g, w)
	}
}

func (c *check) checkToken(what string, got Token, want chain.Token) {
	c.compare(what, got, Token{want.Address.String(), want.Symbol, want.Decimals, uint64(want.ChainID)})
}

// checkTarget makes sure that the money goes to the contract that the listing names, and the one that was reviewed.
func (c *check) checkTarget(k Knowledge) {
	var err error
	if c.to, err = chain.ParseAddress(c.quote.To); err != nil {
		c.problem("to: %.100q %w", c.quote.To, err)
		return
	}
	if want := k.Deployment.Target(c.swap.Pair); c.to != want.Address {
		c.problem("to: got %s, want %s, the contract that deployment %q pins for %s on chain %s", c.to, want, k.Deployment.Name, c.swap.SrcToken.Symbol, c.swap.Src)
	}
	rows := 0
	for _, row := range k.Listing.Routers {
		if row.ChainID != uint64(c.swap.Src) || row.Symbol != c.swap.SrcToken.Symbol {
			continue
		}
		rows++
		c.compare("token in the router listing", row.Token, c.swap.SrcToken.Address)
		c.compare("router in the router listing", row.Router, c.to)
	}
	if rows != 1 {
		c.problem("router listing: %d rows for %s on chain %s, want one", rows, c.swap.SrcToken.Symbol, c.swap.Src)
	}
}

func (c *check) checkRoute() {
	if c.quote.Version == "v1" {
		src, dst := c.swap.SrcToken.Address.String(), c.swap.DstToken.Address.String()
		c.compare("route.paths", c.quote.Route.Paths, []string{src, dst})
		c.compare("route.swaps", c.quote.Route.Swaps, []PoolSwap{{c.to.Hex(), src, dst}})
		return
	}
	want := "DIRECT"
	if c.swap.Route == chain.CCTPInbound {
		want = "CCTP_INBOUND"
	}
	c.compare("route.type", c.quote.Route.Type, want)
}

// checkCalls makes sure of the transactions themselves.
func (c *check) checkCalls(d *chain.Deployment) {
	data, err := parseHex(c.quote.MethodParameters.Calldata)
	if err != nil {
		c.problem("calldata: %w", err)
		return
	}
	if c.swap.Route == chain.CCTPInbound {
		c.checkBurn(data, d.Settlement)
	} else {
		data = c.checkSwap(data)
	}
	value := new(big.Int)
	if c.swap.SrcToken.Native() {
		value.Set(c.swap.Amount)
	}
	c.compare("value", c.quote.MethodParameters.Value, "0x"+value.Text(16))
	c.result.Main = Transaction{c.to, value, data}
	c.checkApproval()
}

// checkApproval makes sure that nobody but the target may take the money, and no more of it. The oldest version leaves
// the approval to its clients: here it is.
func (c *check) checkApproval() {
	want := &Transaction{c.swap.SrcToken.Address.Address, new(big.Int), pack("approve", c.to, c.swap.Amount)}
	got := c.quote.Approval
	switch {
	case c.swap.SrcToken.Native() || c.quote.Version == "v1":
		if got != nil {
			c.problem("approval: there is one, where there must be none")
		}
		if c.swap.SrcToken.Native() {
			return
		}
	case got == nil:
		c.problem("approval: there is none, where the source token needs one")
	default:
		c.compare("approval.token", got.Token, c.swap.SrcToken.Address)
		c.compare("approval.spender", got.Spender, c.to)
		c.compare("approval.amount", got.Amount, c.swap.Amount)
		data, err := parseHex(got.Calldata)
		if err != nil {
			c.problem("approval.calldata: %w", err)
		} else if !bytes.Equal(data, want.Data) {
			c.problem("approval.calldata: not the approval that was asked for%s", difference("approve", data, want.Data))
		}
	}
	c.result.Approval = want
}

func parseHex(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return nil, errors.New("does not start with 0x")
	}
	return hex.DecodeString(digits)
}
