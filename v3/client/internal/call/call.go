// Package call encodes and decodes the contract calls of a quote: approvals, swaps and burns. It shares no code with
// the gateway, whose calls it is used to check.
package call

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// The functions that a quote may call, as their contracts declare them.
var (
	Approve = newMethod("approve", "address spender", "uint256 amount")
	Swap    = newMethod("swap", "uint256 dstChainId", "uint256 amount", "bytes recipient", "uint8 recipientType",
		"address dstToken", "bytes32 integratorId")
	Burn = newMethod("depositForBurnWithHook", "uint256 amount", "uint32 destinationDomain", "bytes32 mintRecipient",
		"address burnToken", "bytes32 destinationCaller", "uint256 maxFee", "uint32 minFinalityThreshold",
		"bytes hookData")
	Methods = []*abi.Method{Approve, Swap, Burn}
)

func newMethod(name string, inputs ...string) *abi.Method {
	var arguments abi.Arguments
	for _, input := range inputs {
		kind, argument, _ := strings.Cut(input, " ")
		t, err := abi.NewType(kind, "", nil)
		if err != nil {
			panic(err)
		}
		arguments = append(arguments, abi.Argument{Name: argument, Type: t})
	}
	method := abi.NewMethod(name, name, abi.Function, "nonpayable", false, false, arguments, nil)
	return &method
}

// Encode panics if the Go types of the arguments are not those of the method.
func Encode(method *abi.Method, args ...any) []byte {
	data, err := method.Inputs.Pack(args...)
	if err != nil {
		panic(err)
	}
	return slices.Concat(method.ID, data)
}

// Decode accepts only the one canonical encoding of a call.
func Decode(method *abi.Method, data []byte) ([]any, error) {
	if !bytes.HasPrefix(data, method.ID) {
		return nil, errors.New("it calls another function than " + method.Name)
	}
	args, err := method.Inputs.UnpackValues(data[len(method.ID):])
	if err != nil || !bytes.Equal(Encode(method, args...), data) {
		return nil, errors.New("its arguments are not encoded as the contract's interface says")
	}
	return args, nil
}

// Explain says what a call does, as the details of a quote do: numbers in decimal, all else as 0x and digits. Only a
// burn has a hook.
func Explain(method *abi.Method, args []any) (arguments, hook map[string]string) {
	arguments = map[string]string{}
	for i, arg := range args {
		arguments[method.Inputs[i].Name] = show(arg)
	}
	if method == Burn {
		hook = hookFields(args[len(args)-1].([]byte))
	}
	return arguments, hook
}

func show(value any) string {
	switch value := value.(type) {
	case [32]byte:
		return hexutil.Encode(value[:])
	case []byte:
		return hexutil.Encode(value)
	}
	return fmt.Sprint(value)
}

// hookSize is that of a hook before its recipient. Its fields are packed without padding.
const hookSize = 32 + 20 + 32 + 1

func hookFields(hook []byte) map[string]string {
	if len(hook) < hookSize {
		return nil
	}
	return map[string]string{
		"dstChainId":    new(big.Int).SetBytes(hook[:32]).String(),
		"dstToken":      show(hook[32:52]),
		"integratorId":  show(hook[52:84]),
		"recipientType": fmt.Sprint(hook[84]),
		"recipient":     show(hook[85:]),
	}
}
