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

// A literal, so that one complete call can be read here word by word.
func TestSwapWordByWord(t *testing.T) {
	swap := calldata.Swap{
		DstChainID: 69696969,
		Amount:     *uint256.NewInt(10_000_000),
		Recipient:  common.FromHex("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
		DstToken:   common.HexToAddress("0x15D38573d2feeb82e7ad5187aB8c1D52810B1f07"),
	}
	want := "095ff22d" +
		"0000000000000000000000000000000000000000000000000000000004277dc9" + // dstChainId
		"0000000000000000000000000000000000000000000000000000000000989680" + // amount
		"00000000000000000000000000000000000000000000000000000000000000c0" + // offset of recipient
		"0000000000000000000000000000000000000000000000000000000000000000" + // recipientType
		"00000000000000000000000015d38573d2feeb82e7ad5187ab8c1d52810b1f07" + // dstToken
		"0000000000000000000000000000000000000000000000000000000000000000" + // integratorId
		"0000000000000000000000000000000000000000000000000000000000000014" + // length of recipient
		"5aaeb6053f3e94c9b9a09f33669435e7ef1beaed000000000000000000000000" // recipient
	if got := hex.EncodeToString(swap.Encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkEncode(b *testing.B) {
	amount, recipient := *uint256.NewInt(100_000_000), make([]byte, 20)
	swap := calldata.Swap{DstChainID: 369, Amount: amount, Recipient: recipient}
	burn := calldata.Burn{Swap: swap}
	for name, encode := range map[string]func() []byte{
		"swap":    swap.Encode,
		"burn":    burn.Encode,
		"approve": func() []byte { return calldata.Approve(common.Address{}, &amount) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				encode()
			}
		})
	}
}

// The selector is that of the compiled pool: see testdata/contracts/Pool.sol.
func TestToken(t *testing.T) {
	if got, want := hex.EncodeToString(calldata.Token()), "fc0c546a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
