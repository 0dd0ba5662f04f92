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

// grain is the generator by which the authors of Poseidon choose constants: a
// shift register of 80 bits, seeded with the parameters of the hash.
type grain struct {
	bits []byte
}

func newGrain() *grain {
	g := &grain{}
	for _, field := range []struct{ value, size int }{
		{1, 2}, {0, 4}, {254, 12}, {stateSize, 12}, {fullRounds, 10}, {partialRounds, 10}, {1<<30 - 1, 30},
	} {
		for i := field.size - 1; i >= 0; i-- {
			g.bits = append(g.bits, byte(field.value>>i&1))
		}
	}
	for range 160 {
		g.shift()
	}
	return g
}

func (g *grain) shift() byte {
	b := g.bits[62] ^ g.bits[51] ^ g.bits[38] ^ g.bits[23] ^ g.bits[13] ^ g.bits[0]
	g.bits = append(g.bits[1:], b)
	return b
}

// number takes 254 bits, each the second of a pair whose first is one.
func (g *grain) number() *big.Int {
	x := new(big.Int)
	for size := 0; size < 254; {
		keep, b := g.shift(), g.shift()
		if keep == 1 {
			x.Lsh(x, 1).Or(x, big.NewInt(int64(b)))
			size++
		}
	}
	return x
}

// TestPoseidonOfTheGenerator makes the hash as the paper defines it, from the
// constants that the generator gives, and compares.
func TestPoseidonOfTheGenerator(t *testing.T) {
	prime, g := fieldPrime(t), newGrain()
	const rounds = fullRounds + partialRounds
	var constants []*big.Int
	for len(constants) < rounds*stateSize {
		if x := g.number(); x.Cmp(prime) < 0 {
			constants = append(constants, x)
		}
	}
	var cauchy [2 * stateSize]*big.Int
	for i := range cauchy {
		cauchy[i] = g.number()
	}
	var matrix [stateSize][stateSize]*big.Int
	for i, x := range cauchy[:stateSize] {
		for j, y := range cauchy[stateSize:] {
			sum := new(big.Int).Add(x, y)
			matrix[i][j] = sum.ModInverse(sum, prime)
		}
	}
	hash := func(a, b *big.Int) [32]byte {
		s := [stateSize]*big.Int{new(big.Int), a, b}
		for r := range rounds {
			for i := range s {
				s[i] = new(big.Int).Add(s[i], constants[r*stateSize+i])
				if full := r < fullRounds/2 || r >= rounds-fullRounds/2; full || i == 0 {
					s[i].Exp(s[i], big.NewInt(5), prime)
				}
			}
			var mixed [stateSize]*big.Int
			for i := range mixed {
				mixed[i] = new(big.Int)
				for j := range s {
					mixed[i].Add(mixed[i], new(big.Int).Mul(matrix[i][j], s[j]))
				}
				mixed[i].Mod(mixed[i], prime)
			}
			s = mixed
		}
		return number(s[0])
	}
	values := samples(t, 5)
	for _, a := range values {
		for _, b := range values {
			if got, want := poseidon(number(a), number(b)), hash(a, b); got != want {
				t.Fatalf("poseidon(%x, %x): got %x, want %x", a, b, got, want)
			}
		}
	}
}
