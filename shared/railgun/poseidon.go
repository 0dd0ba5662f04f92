package railgun

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// Poseidon over the scalar field of BN254, as in circomlib for two inputs: a
// state of three elements. The first is the capacity and, at the end, the hash.
//
// Each round adds constants, raises elements to the fifth power (all three in a
// full round, only the first in a partial round), and multiplies by a matrix.
const (
	stateSize     = 3
	fullRounds    = 8 // half of them before the partial rounds, half after
	partialRounds = 57
	rounds        = fullRounds + partialRounds
)

type (
	state  [stateSize]fr.Element
	matrix [stateSize]state
)

// poseidon hashes two numbers below the prime of the field.
func poseidon(a, b [32]byte) [32]byte { return plainHash.hash(a, b) }

// poseidonBlinded computes the same hash as poseidon with different numbers.
// SelfTest proves the steps of the hash, which are the same for every input. An
// arithmetic fault, such as a lost carry, may still affect single inputs. Here
// every number is multiplied by a secret random factor, so that no addition or
// multiplication has the operands it has in poseidon.
func poseidonBlinded(a, b [32]byte) [32]byte { return blindedHash.hash(a, b) }

var (
	plainHash   = newPermutation(fr.One())
	blindedHash = newPermutation(randomFactor())
)

func randomFactor() (factor fr.Element) {
	for factor.IsZero() || factor.IsOne() {
		factor.MustSetRandom()
	}
	return factor
}

// permutation is Poseidon on numbers that are all multiplied by a factor. The
// partial rounds are in the form of the authors' appendix: most of each matrix
// is moved into the next round, which leaves five multiplications instead of
// nine.
type permutation struct {
	factor, inverse fr.Element
	constants       [rounds]state
	mix             matrix // of a full round
	sparse          [partialRounds]sparse
	rest            matrix // what was moved to the end of the partial rounds
}

func (p *permutation) hash(a, b [32]byte) [32]byte {
	var s state
	s[1].SetBytes(a[:])
	s[2].SetBytes(b[:])
	s.scale(&p.factor)
	for r := range fullRounds / 2 {
		p.fullRound(&s, r)
	}
	for r := range p.sparse {
		s.add(&p.constants[fullRounds/2+r])
		fifthPower(&s[0])
		p.sparse[r].mix(&s)
	}
	s = p.rest.times(&s)
	for r := rounds - fullRounds/2; r < rounds; r++ {
		p.fullRound(&s, r)
	}
	s[0].Mul(&s[0], &p.inverse)
	return s[0].Bytes()
}

func (p *permutation) fullRound(s *state, r int) {
	s.add(&p.constants[r])
	for i := range s {
		fifthPower(&s[i])
	}
	*s = p.mix.times(s)
}

func fifthPower(x *fr.Element) {
	var power fr.Element
	power.Square(x)
	power.Square(&power)
	x.Mul(x, &power)
}

func (s *state) add(constants *state) {
	for i := range s {
		s[i].Add(&s[i], &constants[i])
	}
}

func (s *state) scale(factor *fr.Element) {
	for i := range s {
		s[i].Mul(&s[i], factor)
	}
}

func (m *matrix) times(s *state) (product state) {
	for i := range m {
		product[i] = dot(&m[i], s)
	}
	return product
}

func dot(a, b *state) (sum fr.Element) {
	for i := range a {
		var product fr.Element
		product.Mul(&a[i], &b[i])
		sum.Add(&sum, &product)
	}
	return sum
}

// poseidonText holds the published constants as 32-byte numbers in hex: those
// of each round in order, then the matrix row by row. A test derives them again.
//
//go:embed poseidon.txt
var poseidonText string

func published() (constants [rounds]state, mix matrix) {
	lines := strings.Fields(poseidonText)
	read := func(s *state) {
		for i := range s {
			b, err := hex.DecodeString(lines[0])
			if err == nil {
				err = s[i].SetBytesCanonical(b)
			}
			if err != nil {
				panic(fmt.Sprintf("poseidon.txt: %q: %v", lines[0], err))
			}
			lines = lines[1:]
		}
	}
	for r := range constants {
		read(&constants[r])
	}
	for i := range mix {
		read(&mix[i])
	}
	return constants, mix
}
