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

// sparse is a matrix that is the identity except for its first row and column.
type sparse struct {
	row    state
	column [stateSize - 1]fr.Element // below the row
}

func (m *sparse) mix(s *state) {
	first := dot(&m.row, s)
	for i := range m.column {
		var product fr.Element
		product.Mul(&m.column[i], &s[0])
		s[i+1].Add(&s[i+1], &product)
	}
	s[0] = first
}

// newPermutation prepares the published permutation for numbers multiplied by
// a factor f.
//
// The constants are multiplied by f too. The fifth power of f·x is f⁵·x⁵, so the
// matrix entries for elements that were raised are divided by f⁴.
func newPermutation(factor fr.Element) *permutation {
	p := &permutation{factor: factor}
	p.inverse.Inverse(&factor)
	p.constants, p.mix = published()
	for r := range p.constants {
		p.constants[r].scale(&factor)
	}
	var fourth fr.Element
	fourth.Square(&p.inverse)
	fourth.Square(&fourth)
	partial := p.mix
	for i := range p.mix {
		p.mix[i].scale(&fourth)
		partial[i][0].Mul(&partial[i][0], &fourth)
	}
	p.splitPartialRounds(&partial)
	return p
}

// splitPartialRounds finds the sparse matrices of the partial rounds.
//
// Say the state of a round is A·z, and A does not change the first element. The
// fifth power changes only the first element, so A can be applied after it,
// together with the round's matrix M. Then M·A = B·S, where B does not change the
// first element and S is sparse: B has the lower right of M·A; S has the first
// row of M·A and, as first column, B⁻¹ times that of M·A. B becomes the A of the
// next round. The constants in between are multiplied by B⁻¹.
func (p *permutation) splitPartialRounds(m *matrix) {
	a := identity()
	for r := range p.sparse {
		product := multiply(m, &a)
		b := product.lowerRight()
		inverse := b.invert()
		column := inverse.times(&state{{}, product[1][0], product[2][0]})
		p.sparse[r] = sparse{row: product[0], column: [stateSize - 1]fr.Element(column[1:])}
		if next := fullRounds/2 + r + 1; r+1 < partialRounds {
			p.constants[next] = inverse.times(&p.constants[next])
		}
		a = b
	}
	p.rest = a
}

func identity() (m matrix) {
	for i := range m {
		m[i][i].SetOne()
	}
	return m
}

func multiply(a, b *matrix) (product matrix) {
	for j := range b {
		column := a.times(&state{b[0][j], b[1][j], b[2][j]})
		for i := range product {
			product[i][j] = column[i]
		}
	}
	return product
}

// lowerRight replaces the first row and column by those of the identity.
func (m *matrix) lowerRight() matrix {
	part := identity()
	for i := 1; i < stateSize; i++ {
		copy(part[i][1:], m[i][1:])
	}
	return part
}

// invert inverts a matrix whose first row and column are those of the identity.
func (m *matrix) invert() matrix {
	var determinant, cross fr.Element
	determinant.Mul(&m[1][1], &m[2][2])
	cross.Mul(&m[1][2], &m[2][1])
	determinant.Sub(&determinant, &cross)
	determinant.Inverse(&determinant)
	inverse := identity()
	inverse[1][1].Mul(&m[2][2], &determinant)
	inverse[2][2].Mul(&m[1][1], &determinant)
	determinant.Neg(&determinant)
	inverse[1][2].Mul(&m[1][2], &determinant)
	inverse[2][1].Mul(&m[2][1], &determinant)
	return inverse
}
