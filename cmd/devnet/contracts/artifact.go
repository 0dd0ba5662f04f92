package contracts

import (
	"embed"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

//go:embed artifacts/*.json
var artifacts embed.FS

// An artifact is one compiled contract.
type artifact struct {
	ABI              abi.ABI
	Storage          []variable
	DeployedBytecode hexutil.Bytes
}

// A variable is the place of a state variable: a slot, and how many bytes from its right end.
type variable struct {
	Label  string
	Slot   int64
	Offset int
}

// load reads an embedded artifact. The artifacts are part of the program, so one that does not parse is a bug in it.
func load(contract string) artifact {
	var a artifact
	text, err := artifacts.ReadFile("artifacts/" + contract + ".json")
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		panic(fmt.Sprintf("contracts: %s: %v", contract, err))
	}
	return a
}

// account is the contract as it stands in a genesis: its code, and the given state variables as set.
func (a artifact) account(settings map[string][]byte) types.Account {
	storage := make(map[common.Hash]common.Hash)
	for label, value := range settings {
		v := a.variable(label)
		word := storage[v.slot()]
		copy(word[len(word)-v.Offset-len(value):], value)
		storage[v.slot()] = word
	}
	return types.Account{Code: a.DeployedBytecode, Storage: storage, Balance: new(big.Int)}
}

// variable finds a state variable, which the contract must have.
func (a artifact) variable(label string) variable {
	return a.Storage[slices.IndexFunc(a.Storage, func(v variable) bool { return v.Label == label })]
}

// entry is the slot of a key in the mapping of that name.
func (a artifact) entry(mapping string, key common.Hash) common.Hash {
	slot := a.variable(mapping).slot()
	return crypto.Keccak256Hash(key[:], slot[:])
}

func (v variable) slot() common.Hash { return common.BigToHash(big.NewInt(v.Slot)) }
