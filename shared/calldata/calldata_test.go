package calldata_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"

	"github.com/quotegate/quotegate/shared/calldata"
)

// vectors were encoded by two other libraries: see testdata/calldata/generate.mjs.
type vectors struct {
	Swaps []struct {
		Name         string
		DstChainID   uint64
		Amount       string
		Recipient    hexutil.Bytes
		DstToken     common.Address
		IntegratorID common.Hash
		Calldata     hexutil.Bytes

		RecipientType uint8
	}
	Approvals []struct {
		Name     string
		Spender  common.Address
		Amount   string
		Calldata hexutil.Bytes
	}
	Burns []struct {
		Name              string
		Amount            string
		DestinationDomain uint32
		Receiver          common.Address
		BurnToken         common.Address
		MaxFee            string
		Hook              struct {
			DstChainID    uint64
			DstToken      common.Address
			IntegratorID  common.Hash
			RecipientType uint8
			Recipient     hexutil.Bytes
		}
		Calldata hexutil.Bytes
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("../../testdata/calldata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Swaps) < 8 || len(v.Approvals) < 3 || len(v.Burns) < 4 {
		t.Fatalf("only %d swaps, %d approvals and %d burns", len(v.Swaps), len(v.Approvals), len(v.Burns))
	}
	return v
}

func TestAgainstOtherEncoders(t *testing.T) {
	v := readVectors(t)
	for _, s := range v.Swaps {
		t.Run("swap/"+s.Name, func(t *testing.T) {
			swap := calldata.Swap{
				DstChainID: s.DstChainID, Amount: *uint256.MustFromDecimal(s.Amount), Recipient: s.Recipient,
				RecipientType: s.RecipientType, DstToken: s.DstToken, IntegratorID: s.IntegratorID,
			}
			equal(t, swap.Encode(), s.Calldata)
		})
	}
	for _, a := range v.Approvals {
		t.Run("approve/"+a.Name, func(t *testing.T) {
			equal(t, calldata.Approve(a.Spender, uint256.MustFromDecimal(a.Amount)), a.Calldata)
		})
	}
	for _, b := range v.Burns {
		t.Run("burn/"+b.Name, func(t *testing.T) {
			burn := calldata.Burn{
				DestinationDomain: b.DestinationDomain, Receiver: b.Receiver,
				BurnToken: b.BurnToken, MaxFee: *uint256.MustFromDecimal(b.MaxFee),
				Swap: calldata.Swap{Amount: *uint256.MustFromDecimal(b.Amount), DstChainID: b.Hook.DstChainID, DstToken: b.Hook.DstToken, IntegratorID: b.Hook.IntegratorID,
					RecipientType: b.Hook.RecipientType, Recipient: b.Hook.Recipient},
			}
			equal(t, burn.Encode(), b.Calldata)
		})
	}
}

func equal(t *testing.T, got, want []byte) {
	t.Helper()
	if string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", hex.EncodeToString(got), hex.EncodeToString(want))
	}
	if len(got) != cap(got) {
		t.Errorf("got capacity %d for %d bytes, want the exact size", cap(got), len(got))
	}
}

// The selector is that of the compiled pool: see testdata/contracts/Pool.sol.
func TestToken(t *testing.T) {
	if got, want := hex.EncodeToString(calldata.Token()), "fc0c546a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
