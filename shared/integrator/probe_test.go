package integrator

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/cmd/devnet/contracts"
)

func TestProbe(t *testing.T) {
	want, err := contracts.RegistryABI.Pack("getIntegrator", contracts.IntegratorID(common.HexToAddress("0x1")))
	if err != nil {
		t.Fatal(err)
	}
	if got := Probe(); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	for _, c := range []struct {
		name   string
		output []byte
		is     bool
	}{
		{"nobody has that ID", make([]byte, 96), true},
		{"nothing", nil, false},
		{"one word", make([]byte, 32), false},
		{"ones", bytes.Repeat([]byte{1}, 96), false},
		{"another wallet", append(common.LeftPadBytes([]byte{2}, 32), make([]byte, 64)...), false},
	} {
		if err := CheckProbe(c.output); (err == nil) != c.is {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}
