// Package quote is the core that all versions share: it turns a Request into a
// Quote. It knows no version, no HTTP and no JSON. A version expresses what it
// does differently in the Request, and maps the Quote to its own JSON.
package quote

import (
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
	"github.com/quotegate/quotegate/shared/integrator"
)

// Config says how long the operator stands by a quote.
type Config struct {
	TTL time.Duration `env:"QUOTE_TTL, default=60s"`
}

// Validate reports a time that no wallet or no operator could live with.
func (c Config) Validate() error {
	if c.TTL < 5*time.Second || c.TTL > time.Hour {
		return fmt.Errorf("QUOTE_TTL: %v is not between 5s and 1h", c.TTL)
	}
	return nil
}

// Request asks for a swap of an amount of one token to a token on another chain.
type Request struct {
	SrcChain, DstChain chain.ID
	SrcToken, DstToken string      // symbol or address, as the caller wrote it
	Amount             uint256.Int // of the source token, in its smallest unit
	Recipient          Recipient
	Integrator         integrator.ID // zero for none

	Details  bool            // also explain the quote
	From     *common.Address // who will send it, nil for unknown; only with Details
	Simulate bool            // also try the transactions on the chain; only with From
}

// Same reports whether two requests ask for the same quote and, if not, the
// first part in which they differ. Tokens are compared as text. Details change
// nothing about a quote, so they are not compared.
func (r *Request) Same(other *Request) (same bool, differs fault.Role) {
	switch {
	case r.SrcChain != other.SrcChain:
		return false, fault.SourceChain
	case r.DstChain != other.DstChain:
		return false, fault.DestinationChain
	case r.SrcToken != other.SrcToken:
		return false, fault.SourceToken
	case r.DstToken != other.DstToken:
		return false, fault.DestinationToken
	case r.Amount != other.Amount:
		return false, fault.Amount
	case !r.Recipient.same(other.Recipient):
		return false, fault.Recipient
	case r.Integrator != other.Integrator:
		return false, fault.Integrator
	}
	return true, 0
}

// Quote is a swap that can be signed: the two transactions and their result.
type Quote struct {
	Pair       *chain.Pair
	To         chain.Address // the contract that receives the source transaction
	SrcAmount  uint256.Int   // in the source token's smallest unit
	DestAmount uint256.Int   // what is left after the fees, in the destination token's
	Fee        Fee
	Approval   Approval // zero when the source is native
	Calldata   []byte
	Value      uint256.Int // native value to send, zero for an ERC-20 source
	Details    *Details    // nil if the request did not ask for them

	issuerFee cctp.State // of a burn
}

// Fee is what the swap costs, in the destination token's smallest unit.
type Fee struct {
	fee.Split
	ChainID     chain.ID // the network of the pool that pays out
	ProtocolBPS fee.BPS
	Partner     integrator.Partner // zero for none
}

// Approval is the transaction that lets To spend the source token.
type Approval struct {
	Token    chain.Address
	Spender  chain.Address
	Amount   uint256.Int
	Calldata []byte
}
