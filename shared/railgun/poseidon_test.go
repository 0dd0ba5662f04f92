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

// samples are numbers below the prime: those at which carries happen, and
// random ones.
func samples(t testing.TB, random int) []*big.Int {
	prime := fieldPrime(t)
	one := big.NewInt(1)
	values := []*big.Int{new(big.Int), one, big.NewInt(2), new(big.Int).Sub(prime, one), new(big.Int).Rsh(prime, 1)}
	for shift := uint(64); shift <= 253; shift += 63 {
		power := new(big.Int).Lsh(one, shift)
		values = append(values, power, new(big.Int).Sub(power, one))
	}
	for range random {
		x, err := rand.Int(rand.Reader, prime)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, x)
	}
	return values
}

func TestPoseidonKnownAnswer(t *testing.T) {
	const want = "115cc0f5e7d690413df64c6b9662e9cf2a3617f2743245519e19607a4417189a"
	a, b := number(big.NewInt(1)), number(big.NewInt(2))
	if got := poseidon(a, b); hex.EncodeToString(got[:]) != want {
		t.Errorf("poseidon: got %x, want %s", got, want)
	}
	if got, err := poseidonAgain(a, b); err != nil || hex.EncodeToString(got[:]) != want {
		t.Errorf("poseidonAgain: got %x and %v, want %s", got, err, want)
	}
}

func TestPoseidonAgainstAnotherLibrary(t *testing.T) {
	values := samples(t, 30)
	for _, a := range values {
		for _, b := range values {
			want, err := poseidonAgain(number(a), number(b))
			if err != nil {
				t.Fatal(err)
			}
			if got := poseidon(number(a), number(b)); got != want {
				t.Fatalf("poseidon(%x, %x): got %x, want %x", a, b, got, want)
			}
		}
	}
}
