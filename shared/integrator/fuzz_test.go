package integrator

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

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
		a, failure := decode(idOf(wallet), output)
		if failure != nil {
			if values, err := outputs.Unpack(output); err == nil {
				if canonical, err := outputs.Pack(values...); err == nil && bytes.Equal(output, canonical) {
					t.Errorf("%x: %v, though it is how the contract answers %v", output, failure, values)
				}
			}
			return
		}
		want := pack(t, a.partner.Wallet.Address, a.partner.FeeBPS, a.standing == active)
		if a.standing == unregistered {
			want, output = want[:32], output[:32] // the rest has no meaning
		}
		if !bytes.Equal(output, want) {
			t.Errorf("%x was decoded as %+v, which is %x", output, a, want)
		}
	})
}
