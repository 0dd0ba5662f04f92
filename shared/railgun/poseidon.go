package railgun

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// Poseidon over the scalar field of BN254, as in circomlib for two inputs: a
// state of three, its first element the capacity and, in the end, the hash.
const (
	stateSize     = 3
	fullRounds    = 8 // half of them before the partial rounds, half after
	partialRounds = 57
	rounds        = fullRounds + partialRounds
)

// poseidonText holds the published constants as 32-byte numbers in hex: those
// of each round in order, then the matrix row by row. A test derives them anew.
//
//go:embed poseidon.txt
var poseidonText string

// constants are the numbers of poseidonText as elements of some arithmetic.
type constants[E any] struct {
	round  [rounds][stateSize]E
	matrix [stateSize][stateSize]E
}

func parseConstants[E any](element func([32]byte) E) *constants[E] {
	lines := strings.Fields(poseidonText)
	next := func() E {
		var b [32]byte
		if n, err := hex.Decode(b[:], []byte(lines[0])); n != len(b) || err != nil {
			panic(fmt.Sprintf("poseidon.txt: bad number %q", lines[0]))
		}
		lines = lines[1:]
		return element(b)
	}
	var c constants[E]
	for r := range c.round {
		for i := range c.round[r] {
			c.round[r][i] = next()
		}
	}
	for i := range c.matrix {
		for j := range c.matrix[i] {
			c.matrix[i][j] = next()
		}
	}
	return &c
}

var poseidonConstants = parseConstants(func(b [32]byte) (e fr.Element) {
	e.SetBytes(b[:])
	return e
})

// poseidon hashes two numbers below the prime of the field.
func poseidon(a, b [32]byte) [32]byte {
	var state [stateSize]fr.Element
	state[1].SetBytes(a[:])
	state[2].SetBytes(b[:])

	for r := range rounds {
		for i := range state {
			state[i].Add(&state[i], &poseidonConstants.round[r][i])
		}
		fifthPower(&state[0])
		if r < fullRounds/2 || r >= rounds-fullRounds/2 {
			fifthPower(&state[1])
			fifthPower(&state[2])
		}
		var mixed [stateSize]fr.Element
		for i := range mixed {
			for j := range state {
				var product fr.Element
				product.Mul(&poseidonConstants.matrix[i][j], &state[j])
				mixed[i].Add(&mixed[i], &product)
			}
		}
		state = mixed
	}
	return state[0].Bytes()
}

func fifthPower(x *fr.Element) {
	var power fr.Element
	power.Square(x)
	power.Square(&power)
	x.Mul(x, &power)
}
