package integrator

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
	"github.com/quotegate/quotegate/shared/calldata"
	"github.com/quotegate/quotegate/shared/fault"
)

const checksummed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // from EIP-55

// The calls are encoded as the contract's own interface encodes them.
func TestQuestions(t *testing.T) {
	for name, test := range map[string]struct {
		got    []byte
		wallet common.Address
	}{
		"lookup": {getIntegrator(calldata.IntegratorIDOf(wallet(1))), wallet(1)},
		"probe":  {Probe(), common.HexToAddress("0x1")},
	} {
		want, err := contracts.RegistryABI.Pack("getIntegrator", contracts.IntegratorID(test.wallet))
		if err != nil || !bytes.Equal(test.got, want) {
			t.Errorf("%s: got %x, want %x (%v)", name, test.got, want, err)
		}
	}
	for name, test := range map[string]struct {
		output     []byte
		isRegistry bool
	}{
		"nobody has that ID": {make([]byte, 96), true},
		"nothing":            {nil, false},
		"one word":           {make([]byte, 32), false},
		"ones":               {bytes.Repeat([]byte{1}, 96), false},
		"another wallet":     {append(common.LeftPadBytes([]byte{2}, 32), make([]byte, 64)...), false},
	} {
		if err := CheckProbe(test.output); (err == nil) != test.isRegistry {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The vectors of docs/contracts.md, for authors of registries.
func TestRegistryVectors(t *testing.T) {
	page, err := os.ReadFile("../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	id, err := calldata.ParseIntegratorID("0x17E6000000000000000000000000000000000003")
	if err != nil {
		t.Fatal(err)
	}
	word := func(text string) []byte { return common.LeftPadBytes(common.FromHex(text), 32) }
	question := hex.EncodeToString(getIntegrator(id))
	if want := fmt.Sprintf("`0x%s` ‖ `%s`", question[:8], question[8:]); !strings.Contains(string(page), want) {
		t.Errorf("the page does not tell the question %s", want)
	}
	wallet := id.String()
	for _, vector := range []struct {
		wallet, fee, active string
		code                fault.Code // empty for a quote
	}{
		{wallet, "0x0019", "0x01", ""},
		{wallet, "0x03e8", "0x01", ""},
		{wallet, "0x03e9", "0x01", fault.IntegratorFeeTooHigh},
		{wallet, "0x0019", "0x00", fault.IntegratorInactive},
		{"0x", "0x", "0x", fault.IntegratorUnregistered},
		{"0x18", "0x0019", "0x01", fault.IntegratorUnverified},
	} {
		reg, failure := decode(id, slices.Concat(word(vector.wallet), word(vector.fee), word(vector.active)))
		var err error
		if failure != nil {
			err = faultOf(failure, 369)
		} else {
			_, err = reg.result(369)
		}
		if vector.code == "" && err != nil || vector.code != "" && fault.From(err).Code != vector.code || !strings.Contains(string(page), string(vector.code)) {
			t.Errorf("%+v: got %v", vector, err)
		}
	}
}

// Every answer that decodes is the one encoding of what it decodes to, and every
// such encoding decodes.
func FuzzDecode(f *testing.F) {
	outputs := contracts.RegistryABI.Methods["getIntegrator"].Outputs
	pack := func(t testing.TB, wallet common.Address, fee uint16, active bool) []byte {
		data, err := outputs.Pack(wallet, fee, active)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	owner := common.HexToAddress(checksummed)
	f.Add(pack(f, owner, 25, true))
	f.Add(pack(f, owner, 65535, false))
	f.Add(pack(f, common.Address{}, 0, false))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, output []byte) {
		var wallet common.Address
		if len(output) >= 32 {
			wallet = common.BytesToAddress(output[12:32])
		}
		a, failure := decode(calldata.IntegratorIDOf(wallet), output)
		if failure != nil {
			if values, err := outputs.Unpack(output); err == nil {
				if canonical, err := outputs.Pack(values...); err == nil && bytes.Equal(output, canonical) {
					t.Errorf("%x: %v, though it is how the contract answers %v", output, failure, values)
				}
			}
			return
		}
		want := pack(t, a.Wallet.Address, a.FeeBPS, a.active)
		if a == (registration{}) {
			want, output = want[:32], output[:32] // the rest has no meaning
		}
		if !bytes.Equal(output, want) {
			t.Errorf("%x was decoded as %+v, which is %x", output, a, want)
		}
	})
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{1, time.Millisecond}, {4096, 30 * time.Second}, {1 << 20, time.Hour}} {
		if err := cfg.Validate(); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for _, cfg := range []Config{{0, time.Millisecond - 1}, {1<<20 + 1, time.Hour + 1}} {
		_, err := New(cfg, deployment, nil, Options{})
		if err == nil || !strings.Contains(err.Error(), "INTEGRATOR_CACHE_SIZE: ") ||
			!strings.Contains(err.Error(), "INTEGRATOR_CACHE_TTL: ") {
			t.Errorf("%+v: got %v, want both problems", cfg, err)
		}
	}
}
