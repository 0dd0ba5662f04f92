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
	Contract         string
	ABI              abi.ABI
	Storage          []variable
	DeployedBytecode hexutil.Bytes
}

// A variable is the place of a state variable: Size bytes of a slot, Offset bytes from its right end.
type variable struct {
	Label  string
	Slot   int64
	Offset int
	Size   int
}

// load reads an embedded artifact. The artifacts are part of the program, so one that does not parse is a bug in it.
func load(contract string) artifact {
	text, err := artifacts.ReadFile("artifacts/" + contract + ".json")
	if err != nil {
		panic(fmt.Sprintf("contracts: %v", err))
	}
	var a artifact
	if err := json.Unmarshal(text, &a); err != nil {
		panic(fmt.Sprintf("contracts: artifact of %s: %v", contract, err))
	}
	return a
}

// A setting gives a state variable its bytes.
type setting struct {
	label string
	value []byte
}

// account is the contract as it stands in a genesis: its code, and its variables as set.
func (a artifact) account(settings ...setting) types.Account {
	storage := make(map[common.Hash]common.Hash)
	for _, s := range settings {
		v := a.variable(s.label)
		if len(s.value) > v.Size {
			panic(fmt.Sprintf("contracts: %s.%s takes %d bytes, not %d", a.Contract, s.label, v.Size, len(s.value)))
		}
		word := storage[v.slot()]
		copy(word[len(word)-v.Offset-len(s.value):], s.value)
		storage[v.slot()] = word
	}
	return types.Account{Code: slices.Clone(a.DeployedBytecode), Storage: storage, Balance: new(big.Int)}
}

func (a artifact) variable(label string) variable {
	i := slices.IndexFunc(a.Storage, func(v variable) bool { return v.Label == label })
	if i < 0 {
		panic(fmt.Sprintf("contracts: %s has no variable %s", a.Contract, label))
	}
	return a.Storage[i]
}

// entry is the slot of a key in the mapping of that name.
func (a artifact) entry(mapping string, key common.Hash) common.Hash {
	slot := a.variable(mapping).slot()
	return crypto.Keccak256Hash(key[:], slot[:])
}

func (v variable) slot() common.Hash { return common.BigToHash(big.NewInt(v.Slot)) }
