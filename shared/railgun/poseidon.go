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
const (
	stateSize     = 3
	fullRounds    = 8 // half of them before the partial rounds, half after
	partialRounds = 57
)

type state [stateSize]fr.Element

// poseidon hashes two numbers below the prime of the field. Each round adds constants,
// raises elements to the fifth power (all three in a full round, only the first in a
// partial round), and multiplies by a matrix.
func poseidon(a, b [32]byte) [32]byte {
	var s state
	s[1].SetBytes(a[:])
	s[2].SetBytes(b[:])
	for round := range roundConstants {
		full := round < fullRounds/2 || round >= fullRounds/2+partialRounds
		for i := range s {
			s[i].Add(&s[i], &roundConstants[round][i])
			if full || i == 0 {
				fifthPower(&s[i])
			}
		}
		s = mix.times(&s)
	}
	return s[0].Bytes()
}

func fifthPower(x *fr.Element) {
	var power fr.Element
	power.Square(x)
	power.Square(&power)
	x.Mul(x, &power)
}

type matrix [stateSize]state

func (m *matrix) times(s *state) (result state) {
	for i := range m {
		for j := range s {
			var product fr.Element
			product.Mul(&m[i][j], &s[j])
			result[i].Add(&result[i], &product)
		}
	}
	return result
}

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

// poseidonText has the numbers of the authors' generator as 32 bytes in hex, three a
// row: the constants of each round, then the matrix.
//
//go:embed poseidon.txt
var poseidonText string

var roundConstants, mix = func() (constants [fullRounds + partialRounds]state, m matrix) {
	lines := strings.Fields(poseidonText)
	row := func() (s state) {
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
		return s
	}
	for i := range constants {
		constants[i] = row()
	}
	for i := range m {
		m[i] = row()
	}
	return constants, m
}()
