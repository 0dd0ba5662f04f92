package contracts

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Files holds the Solidity sources and, under artifacts/, what they were compiled to.
//
//go:embed *.sol artifacts/*.json
var Files embed.FS

// An Artifact is one compiled contract.
type Artifact struct {
	Contract         string            `json:"contract"`
	Solc             string            `json:"solc"`
	Sources          map[string]string `json:"sources"` // each file it was compiled from, with its SHA-256
	ABI              abi.ABI           `json:"abi"`
	Storage          []Variable        `json:"storage"`
	Bytecode         hexutil.Bytes     `json:"bytecode"`
	DeployedBytecode hexutil.Bytes     `json:"deployedBytecode"`
}

// A Variable is the place of a state variable: Size bytes of a slot, Offset bytes from its right end.
type Variable struct {
	Label  string `json:"label"`
	Slot   int64  `json:"slot"`
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	Type   string `json:"type"`
}

// load reads an embedded artifact. The artifacts are part of the program, so one that does not parse is a bug in it.
func load(contract string) Artifact {
	text, err := Files.ReadFile("artifacts/" + contract + ".json")
	if err != nil {
		panic(fmt.Sprintf("contracts: %v", err))
	}
	var a Artifact
	if err := json.Unmarshal(text, &a); err != nil {
		panic(fmt.Sprintf("contracts: artifact of %s: %v", contract, err))
	}
	return a
}

// account gives the contract as it stands in a genesis: its code, and its variables set to the bytes given by name.
func (a Artifact) account(variables map[string][]byte) types.Account {
	storage := make(map[common.Hash]common.Hash)
	for label, value := range variables {
		v := a.variable(label)
		if len(value) > v.Size {
			panic(fmt.Sprintf("contracts: %s.%s takes %d bytes, not %d", a.Contract, label, v.Size, len(value)))
		}
		slot := common.BigToHash(big.NewInt(v.Slot))
		word := storage[slot]
		copy(word[len(word)-v.Offset-len(value):], value)
		storage[slot] = word
	}
	maps.DeleteFunc(storage, func(_, word common.Hash) bool { return word == common.Hash{} })
	return types.Account{Code: slices.Clone(a.DeployedBytecode), Storage: storage, Balance: new(big.Int)}
}

func (a Artifact) variable(label string) Variable {
	i := slices.IndexFunc(a.Storage, func(v Variable) bool { return v.Label == label })
	if i < 0 {
		panic(fmt.Sprintf("contracts: %s has no variable %s", a.Contract, label))
	}
	return a.Storage[i]
}

// entry is the slot of a key in the mapping of the given name.
func (a Artifact) entry(label string, key common.Hash) common.Hash {
	slot := common.BigToHash(big.NewInt(a.variable(label).Slot))
	return crypto.Keccak256Hash(key[:], slot[:])
}
