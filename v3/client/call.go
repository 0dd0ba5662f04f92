package client

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/v3/client/internal/call"
)

// compareCall reports the arguments in which a call differs from the one that was asked for.
func (c *check) compareCall(what string, method *abi.Method, got, want []byte) {
	if bytes.Equal(got, want) {
		return
	}
	gotCall, err := call.Explain(method, got)
	if err != nil {
		c.problem("%s: %w", what, err)
		return
	}
	wantCall, err := call.Explain(method, want)
	if err != nil {
		c.problem("%s: %w", what, err)
		return
	}
	c.compareWords(what, gotCall.Arguments, wantCall.Arguments)
	c.compareWords(what+".hook", gotCall.Hook, wantCall.Hook)
}

const (
	toAddress    = 0
	toPrivate    = 2
	fastFinality = 1000

	noteSize = 160
	noteAt   = 4 + 7*32 // in a swap: six words, then the length of the bytes
)

// method is what the main call calls.
func (c *check) method() *abi.Method {
	if c.pair.Type == CCTPInbound {
		return call.Burn
	}
	return call.Swap
}

// swapData builds a pool's call. A note is taken from the answer: nobody else can make it, and nobody but its owner
// can open it.
func (c *check) swapData(answer []byte) ([]byte, error) {
	recipient, kind := c.recipient, uint8(toAddress)
	if c.pair.Shields {
		if len(answer) != noteAt+noteSize {
			return nil, fmt.Errorf("%d bytes, where shielding takes %d", len(answer), noteAt+noteSize)
		}
		recipient = answer[noteAt:]
		kind = toPrivate
	}
	return call.Encode(call.Swap, new(big.Int).SetUint64(c.pair.DstChain), c.request.Amount, recipient, kind,
		c.pair.DstToken.Address, c.request.integratorID()), nil
}

// burnData builds the issuer's burn. The maxFee is taken from the answer, within its bound.
func (c *check) burnData(answer []byte) ([]byte, error) {
	args, err := call.Decode(call.Burn, answer)
	if err != nil {
		return nil, err
	}
	fee, limit := args[5].(*big.Int), maxFee(c.request.Amount)
	if fee.Cmp(limit) > 0 {
		c.problem("burn maxFee: %s is more than 1.2 %% of the amount, %s", fee, limit)
		fee = limit
	}
	c.result.MaxFee = fee
	chain := common.BigToHash(new(big.Int).SetUint64(c.pair.DstChain))
	id := c.request.integratorID()
	hook := slices.Concat(chain[:], c.pair.DstToken.Address[:], id[:], []byte{toAddress}, c.recipient)
	receiver := [32]byte(common.BytesToHash(c.receiver[:]))
	return call.Encode(call.Burn, c.request.Amount, c.domain, receiver, c.pair.SrcToken.Address, receiver, fee,
		uint32(fastFinality), hook), nil
}

// maxFee is the most that a burn may cost: the highest fee that is taken for one, 1 %, and a fifth of that; both
// round up.
func maxFee(amount *big.Int) *big.Int {
	fee := new(big.Int).Add(amount, big.NewInt(99))
	fee.Quo(fee, big.NewInt(100))
	fee.Add(fee.Mul(fee, big.NewInt(6)), big.NewInt(4))
	return fee.Quo(fee, big.NewInt(5))
}

func parseHex(text string) ([]byte, error) {
	if !strings.HasPrefix(text, "0x") {
		return nil, errors.New("does not start with 0x")
	}
	return hexutil.Decode(text)
}
