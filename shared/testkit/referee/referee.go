// Package referee works out what the gateway must answer, to the byte, from a
// request and the public facts: the tables of the specification, the facts
// about the chains and the reference deployment read from their files,
// go-ethereum's ABI encoder and big integers. Of the gateway's own code it uses
// only the opening of shield notes, so a mistake of the gateway is not repeated
// here.
package referee

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// contracts is the interface of the three contracts that quotes call.
const contracts = `[
 {"type":"function","name":"swap","inputs":[
  {"type":"uint256","name":"dstChainId"},{"type":"uint256","name":"amount"},{"type":"bytes","name":"recipient"},
  {"type":"uint8","name":"recipientType"},{"type":"address","name":"dstToken"},
  {"type":"bytes32","name":"integratorId"}]},
 {"type":"function","name":"approve","inputs":[{"type":"address","name":"spender"},{"type":"uint256","name":"amount"}]},
 {"type":"function","name":"depositForBurnWithHook","inputs":[
  {"type":"uint256","name":"amount"},{"type":"uint32","name":"destinationDomain"},
  {"type":"bytes32","name":"mintRecipient"},{"type":"address","name":"burnToken"},
  {"type":"bytes32","name":"destinationCaller"},{"type":"uint256","name":"maxFee"},
  {"type":"uint32","name":"minFinalityThreshold"},{"type":"bytes","name":"hookData"}]}]`

// Referee knows the facts. It is safe for concurrent use.
type Referee struct {
	chains     map[uint64]chainFacts
	deployment deployment
	abi        abi.ABI
	wallets    []wallet
	pairs      []Pair
}

type chainFacts struct {
	ChainID uint64
	CCTP    *struct {
		Domain         uint32
		TokenMessenger string
		FastFeeBps     json.Number
	}
	Tokens map[string]struct {
		Address  string
		Decimals uint8
	}
}

type deployment struct {
	Settlement struct {
		ChainID  uint64
		Receiver common.Address
	}
	Pools []struct {
		ChainID uint64
		Token   string
		Router  string
	}
	Registries map[string]string
	Seconds    []struct{ Seconds uint32 } // one row, for all pairs
}

// wallet is a privacy wallet whose notes can be opened.
type wallet struct {
	Address    string
	ViewingKey string
	AcceptFor  map[uint64]bool
}

// New reads the facts from the files of the module at root.
func New(root string) (*Referee, error) {
	r := &Referee{chains: map[uint64]chainFacts{}}
	var chains []chainFacts
	var vectors struct{ Valid []wallet }
	for path, into := range map[string]any{
		"testdata/chains.json":          &chains,
		"testdata/railgun/vectors.json": &vectors,
		"shared/chain/reference.json":   &r.deployment,
	} {
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, c := range chains {
		r.chains[c.ChainID] = c
	}
	r.wallets = vectors.Valid
	var err error
	if r.abi, err = abi.JSON(strings.NewReader(contracts)); err != nil {
		return nil, err
	}
	r.pairs, err = r.readPairs()
	return r, err
}

// BuiltInBPS is the issuer's published fee for fast transfers from a chain.
func (r *Referee) BuiltInBPS(chain uint64) *big.Rat {
	facts, ok := r.chains[chain]
	if !ok || facts.CCTP == nil {
		return new(big.Rat)
	}
	bps, _ := new(big.Rat).SetString(facts.CCTP.FastFeeBps.String())
	return bps
}

// Domain is the issuer's number of a chain.
func (r *Referee) Domain(chain uint64) uint32 { return r.chains[chain].CCTP.Domain }

// target is the contract that must receive the source transaction.
func (r *Referee) target(p Pair) (string, error) {
	if p.Burn {
		return r.chains[p.Src].CCTP.TokenMessenger, nil
	}
	for _, pool := range r.deployment.Pools {
		if pool.ChainID == p.Src && pool.Token == p.SrcToken.Symbol {
			return pool.Router, nil
		}
	}
	return "", fmt.Errorf("there is no pool for %s on chain %d", p.SrcToken.Symbol, p.Src)
}
