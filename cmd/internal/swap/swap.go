// Package swap is what the commands do around the client: it reads a swap as a person types it, pins the contracts of a
// reviewed deployment, opens or replaces a shield note, knows the gas bound of each chain, and follows what was sent.
package swap

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/railgun"
	"github.com/quotegate/quotegate/v3/client"
)

// A Swap is what somebody wants.
type Swap struct {
	*chain.Pair
	Amount     *big.Int       // of the source token, in its smallest unit
	Recipient  string         // an EVM address, or a 0zk address for a privacy pool
	Integrator common.Address // zero for none
	Sender     common.Address // whose transactions the gateway shall simulate; zero for nobody's
}

// ParseEnd reads one end of a swap, such as USDC@1.
func ParseEnd(text string) (token string, id chain.ID, err error) {
	token, number, ok := strings.Cut(text, "@")
	if !ok || token == "" {
		return "", 0, fmt.Errorf("%q is not a token and a chain, such as USDC@1", text)
	}
	if id, err = chain.ParseID(number); err != nil {
		return "", 0, fmt.Errorf("%q: %w", text, err)
	}
	return token, id, nil
}

// NewSwap reads what a person typed: both ends, and an amount in whole tokens such as 100 or 0.5. The integrator may be
// empty.
func NewSwap(from, to, amount, recipient, integrator string) (Swap, error) {
	var s Swap
	srcToken, src, err := ParseEnd(from)
	if err != nil {
		return s, err
	}
	dstToken, dst, err := ParseEnd(to)
	if err != nil {
		return s, err
	}
	if s.Pair, err = chain.FindPair(src, srcToken, dst, dstToken); err != nil {
		return s, err
	}
	if s.Amount, err = client.ParseAmount(amount, s.SrcToken.Decimals); err != nil {
		return s, err
	}
	s.Recipient = recipient
	if _, err := s.recipient(); err != nil {
		return s, err
	}
	if integrator != "" {
		if s.Integrator, err = chain.ParseAddress(integrator); err != nil {
			return s, fmt.Errorf("the integrator %w", err)
		}
		if s.Integrator == (common.Address{}) {
			return s, errors.New("the integrator is the zero address: name a registered wallet, or none")
		}
	}
	return s, nil
}

// Request asks for the swap.
func (s Swap) Request() client.Request {
	return client.Request{
		SrcChain: uint64(s.Src), SrcToken: s.SrcToken.Symbol, DstChain: uint64(s.Dst), DstToken: s.DstToken.Symbol,
		Amount: s.Amount, Recipient: s.Recipient, Integrator: s.Integrator,
		From: s.Sender, Simulate: s.Sender != common.Address{},
	}
}

// recipient gives an EVM recipient, or zero for a private one. It refuses a recipient that no deployment can pay.
func (s Swap) recipient() (common.Address, error) {
	if s.Dst.Private() {
		address, err := railgun.ParseAddress(s.Recipient)
		if err != nil {
			return common.Address{}, err
		}
		return common.Address{}, address.PayableOn(uint64(s.Dst.Network()))
	}
	address, err := chain.ParseAddress(s.Recipient)
	if err != nil {
		return address, fmt.Errorf("the recipient %w", err)
	}
	_, what := chain.Unpayable(address)
	return address, lost(address, what)
}

// CheckRecipient refuses a recipient that cannot own money, among them every contract of the deployment, on whichever
// chain it is.
func (s Swap) CheckRecipient(d *chain.Deployment) error {
	address, err := s.recipient()
	if err != nil || address == (common.Address{}) {
		return err
	}
	_, what := d.Unpayable(address, chain.AnyChain)
	return lost(address, what)
}

// lost is the error of a recipient that is something else than an account, nil if it is nothing else.
func lost(recipient common.Address, what string) error {
	if what == "" {
		return nil
	}
	return fmt.Errorf("the recipient %s is %s: funds sent there are lost", recipient, what)
}

// Money is an amount of a token as people write it.
func Money(amount *big.Int, token chain.Token) string {
	return client.FormatAmount(amount, token.Decimals) + " " + token.Symbol
}
