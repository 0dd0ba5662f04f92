package railgun

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	iden3 "github.com/iden3/go-iden3-crypto/poseidon"
)

// Poseidon over the scalar field of BN254, as in circomlib for two inputs: a
// state of three elements. The first is the capacity and, at the end, the hash.
//
// Each round raises elements to the fifth power (all three in a full round, only
// the first in a partial round), adds constants, and multiplies by a matrix. This
// is the form of the authors' appendix, with the constants that circomlib publishes
// for it: most of each partial round is moved into the rounds before it, which
// leaves one addition and five multiplications.
const (
	stateSize     = 3
	fullRounds    = 8 // half of them before the partial rounds, half after
	partialRounds = 57
)

type (
	state  [stateSize]fr.Element
	matrix [stateSize]state
)

// poseidon hashes two numbers below the prime of the field.
func poseidon(a, b [32]byte) [32]byte { return hash.of(a, b) }

// poseidonAgain is the same hash by another library. SelfTest proves the steps of
// ours, which are the same for every input; an arithmetic fault, such as a lost carry,
// may still affect single inputs, and no two libraries have the same.
func poseidonAgain(a, b [32]byte) (again [32]byte, err error) {
	x, err := iden3.Hash([]*big.Int{new(big.Int).SetBytes(a[:]), new(big.Int).SetBytes(b[:])})
	if err != nil {
		return again, err
	}
	x.FillBytes(again[:])
	return again, nil
}

var hash = newPermutation()

type permutation struct {
	first         state // added to the input
	before, after [fullRounds / 2]fullRound
	partial       [partialRounds]partialRound
}

type fullRound struct {
	constants state
	mix       matrix
}

// partialRound has a matrix that is the identity except for its first row and column.
type partialRound struct {
	constant fr.Element
	row      state
	column   [stateSize - 1]fr.Element // below the row
}

func (p *permutation) of(a, b [32]byte) [32]byte {
	var s state
	s[1].SetBytes(a[:])
	s[2].SetBytes(b[:])
	s.add(&p.first)
	for r := range p.before {
		p.before[r].apply(&s)
	}
	for r := range p.partial {
		p.partial[r].apply(&s)
	}
	for r := range p.after {
		p.after[r].apply(&s)
	}
	return s[0].Bytes()
}

func (r *fullRound) apply(s *state) {
	for i := range s {
		fifthPower(&s[i])
	}
	s.add(&r.constants)
	*s = state{dot(&r.mix[0], s), dot(&r.mix[1], s), dot(&r.mix[2], s)}
}

func (r *partialRound) apply(s *state) {
	fifthPower(&s[0])
	s[0].Add(&s[0], &r.constant)
	first := dot(&r.row, s)
	for i := range r.column {
		var product fr.Element
		product.Mul(&r.column[i], &s[0])
		s[i+1].Add(&s[i+1], &product)
	}
	s[0] = first
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

func dot(a, b *state) (sum fr.Element) {
	for i := range a {
		var product fr.Element
		product.Mul(&a[i], &b[i])
		sum.Add(&sum, &product)
	}
	return sum
}

// poseidonText holds the constants as 32-byte numbers in hex, in the order in which
// newPermutation reads them: those of each round, then its matrix row by row, of a
// partial round only the row and the column. A test compares the hash with one made
// from the constants that the authors' generator gives.
//
//go:embed poseidon.txt
var poseidonText string

func newPermutation() *permutation {
	lines := strings.Fields(poseidonText)
	next := func() (x fr.Element) {
		b, err := hex.DecodeString(lines[0])
		if err == nil {
			err = x.SetBytesCanonical(b)
		}
		if err != nil {
			panic(fmt.Sprintf("poseidon.txt: %q: %v", lines[0], err))
		}
		lines = lines[1:]
		return x
	}
	row := func() state { return state{next(), next(), next()} }
	full := func() fullRound { return fullRound{row(), matrix{row(), row(), row()}} }

	p := &permutation{first: row()}
	for r := range p.before {
		p.before[r] = full()
	}
	for r := range p.partial {
		p.partial[r] = partialRound{next(), row(), [...]fr.Element{next(), next()}}
	}
	for r := range p.after {
		p.after[r] = full()
	}
	return p
}
