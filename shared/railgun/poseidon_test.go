package railgun

import (
	"crypto/rand"
	"encoding/hex"
	"math/big"
	"testing"
)

func number(x *big.Int) (b [32]byte) {
	x.FillBytes(b[:])
	return b
}

// TestPoseidon compares with a known answer and with another library, at numbers at which carries happen and at random
// ones.
func TestPoseidon(t *testing.T) {
	const known = "115cc0f5e7d690413df64c6b9662e9cf2a3617f2743245519e19607a4417189a"
	if got := poseidon(number(big.NewInt(1)), number(big.NewInt(2))); hex.EncodeToString(got[:]) != known {
		t.Errorf("got %x, want %s", got, known)
	}
	prime, _ := new(big.Int).SetString("21888242871839275222246405745257275088548364400416034343698204186575808495617", 10)
	one := big.NewInt(1)
	values := []*big.Int{new(big.Int), one, big.NewInt(2), new(big.Int).Sub(prime, one), new(big.Int).Rsh(prime, 1)}
	for shift := uint(64); shift <= 253; shift += 63 {
		power := new(big.Int).Lsh(one, shift)
		values = append(values, power, new(big.Int).Sub(power, one))
	}
	for range 30 {
		x, err := rand.Int(rand.Reader, prime)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, x)
	}
	for _, a := range values {
		for _, b := range values {
			want, err := poseidonAgain(number(a), number(b))
			if got := poseidon(number(a), number(b)); err != nil || got != want {
				t.Fatalf("poseidon(%x, %x): got %x, want %x (%v)", a, b, got, want, err)
			}
		}
	}
}
