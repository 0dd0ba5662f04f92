package wallet

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// calls are the functions that a quote may call, as their contracts declare them.
var calls = parseABI(`[
 {"type":"function","name":"approve","inputs":[{"type":"address","name":"spender"},{"type":"uint256","name":"amount"}]},
 {"type":"function","name":"allowance","stateMutability":"view","inputs":[{"type":"address","name":"owner"},{"type":"address","name":"spender"}],"outputs":[{"type":"uint256","name":""}]},
 {"type":"function","name":"swap","inputs":[
  {"type":"uint256","name":"dstChainId"},{"type":"uint256","name":"amount"},{"type":"bytes","name":"recipient"},
  {"type":"uint8","name":"recipientType"},{"type":"address","name":"dstToken"},{"type":"bytes32","name":"integratorId"}]},
 {"type":"function","name":"depositForBurnWithHook","inputs":[
  {"type":"uint256","name":"amount"},{"type":"uint32","name":"destinationDomain"},{"type":"bytes32","name":"mintRecipient"},
  {"type":"address","name":"burnToken"},{"type":"bytes32","name":"destinationCaller"},{"type":"uint256","name":"maxFee"},
  {"type":"uint32","name":"minFinalityThreshold"},{"type":"bytes","name":"hookData"}]}]`)

func parseABI(text string) abi.ABI {
	parsed, err := abi.JSON(strings.NewReader(text))
	if err != nil {
		panic("the interfaces of a quote: " + err.Error())
	}
	return parsed
}

func pack(method string, args ...any) []byte {
	data, err := calls.Pack(method, args...)
	if err != nil {
		panic("encoding " + method + ": " + err.Error())
	}
	return data
}

const (
	toAddress = 0
	toPrivate = 2

	fastFinality = 1000
)

// checkSwap builds a pool's call again, and gives the call to sign.
func (c *check) checkSwap(data []byte) []byte {
	if c.swap.Dst.Private() {
		return c.checkShield(data)
	}
	return c.checkSwapTo(c.recipient, toAddress, data)
}

// checkSwapTo gives the call that pays a recipient so encoded, which data must be.
func (c *check) checkSwapTo(recipient []byte, kind uint8, data []byte) []byte {
	want := c.swap.call(recipient, kind)
	if !bytes.Equal(data, want) {
		c.problem("calldata: not the call that was asked for%s", difference("swap", data, want))
	}
	return want
}

// call is a pool's call for this swap.
func (s Swap) call(recipient []byte, kind uint8) []byte {
	return pack("swap", new(big.Int).SetUint64(uint64(s.Dst)), s.Amount, recipient, kind, s.DstToken.Address.Address, s.integratorID())
}

// checkBurn reads the burn argument by argument, then builds it again.
func (c *check) checkBurn(data []byte, settlement chain.Settlement) {
	var burn struct {
		Amount               *big.Int
		DestinationDomain    uint32
		MintRecipient        [32]byte
		BurnToken            common.Address
		DestinationCaller    [32]byte
		MaxFee               *big.Int
		MinFinalityThreshold uint32
		HookData             []byte
	}
	if err := unpackCall("depositForBurnWithHook", data, &burn); err != nil {
		c.problem("calldata: %w", err)
		return
	}
	receiver := common.BytesToHash(settlement.Receiver.Bytes())
	dst := common.BigToHash(new(big.Int).SetUint64(uint64(c.swap.Dst)))
	id := c.swap.integratorID()
	hook := slices.Concat(dst[:], c.swap.DstToken.Address.Bytes(), id[:], []byte{toAddress}, c.recipient)

	c.compare("burn amount", burn.Amount, c.swap.Amount)
	c.compare("burn destinationDomain", burn.DestinationDomain, settlement.Domain)
	c.compare("burn mintRecipient", common.Hash(burn.MintRecipient), receiver)
	c.compare("burn burnToken", burn.BurnToken, c.swap.SrcToken.Address.Address)
	c.compare("burn destinationCaller", common.Hash(burn.DestinationCaller), receiver)
	c.compare("burn minFinalityThreshold", burn.MinFinalityThreshold, uint32(fastFinality))
	c.compareHook(burn.HookData, hook)
	if limit := maxFee(c.swap.Amount); burn.MaxFee.Cmp(limit) > 0 {
		c.problem("burn maxFee: %s is more than 1.2 %% of the amount, %s", burn.MaxFee, limit)
	}
	c.result.MaxFee = burn.MaxFee

	// Arguments that decode alike can be written in several ways; the canonical one is as long as it must be.
	want := pack("depositForBurnWithHook", burn.Amount, burn.DestinationDomain, burn.MintRecipient, burn.BurnToken,
		burn.DestinationCaller, burn.MaxFee, burn.MinFinalityThreshold, burn.HookData)
	if !bytes.Equal(data, want) {
		c.problem("calldata: its arguments are not encoded as a contract's interface says")
	}
}

// maxFee is the most that a burn may cost: the highest fee that is taken for one, 1 %, and a fifth of that; both round up.
func maxFee(amount *big.Int) *big.Int {
	fee := new(big.Int).Add(amount, big.NewInt(99))
	fee.Quo(fee, big.NewInt(100))
	fee.Add(fee.Mul(fee, big.NewInt(6)), big.NewInt(4))
	return fee.Quo(fee, big.NewInt(5))
}

// compareHook says which field of a hook is wrong.
func (c *check) compareHook(got, want []byte) {
	if len(got) != len(want) {
		c.problem("hook: %d bytes, want %d", len(got), len(want))
		return
	}
	at := 0
	for _, field := range []struct {
		name string
		size int
	}{{"dstChainId", 32}, {"dstToken", 20}, {"integratorId", 32}, {"recipientType", 1}, {"recipient", 20}} {
		if g, w := got[at:at+field.size], want[at:at+field.size]; !bytes.Equal(g, w) {
			c.problem("hook %s: got 0x%x, want 0x%x", field.name, g, w)
		}
		at += field.size
	}
}

// difference names the arguments in which two calls of a method differ.
func difference(method string, got, want []byte) string {
	gotArgs, err := unpackArgs(method, got)
	if err != nil {
		return ": " + err.Error()
	}
	wantArgs, err := unpackArgs(method, want)
	if err != nil {
		return ": " + err.Error()
	}
	var parts []string
	for i, input := range calls.Methods[method].Inputs {
		if g, w := show(gotArgs[i]), show(wantArgs[i]); g != w {
			parts = append(parts, fmt.Sprintf("%s is %s, want %s", input.Name, g, w))
		}
	}
	if len(parts) == 0 {
		return ": its arguments are not encoded as the contract's interface says"
	}
	return ": " + strings.Join(parts, ", ")
}

func show(arg any) string {
	switch arg := arg.(type) {
	case []byte:
		return "0x" + hex.EncodeToString(arg)
	case [32]byte:
		return "0x" + hex.EncodeToString(arg[:])
	}
	return fmt.Sprint(arg)
}

func unpackArgs(method string, data []byte) ([]any, error) {
	m := calls.Methods[method]
	if !bytes.HasPrefix(data, m.ID) {
		return nil, errors.New("it calls another function than " + method)
	}
	return m.Inputs.Unpack(data[len(m.ID):])
}

func unpackCall(method string, data []byte, into any) error {
	values, err := unpackArgs(method, data)
	if err != nil {
		return err
	}
	return calls.Methods[method].Inputs.Copy(into, values)
}
