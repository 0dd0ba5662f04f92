package railgun

import (
	"encoding/binary"
	"math/bits"
)

// The second opinion on Poseidon. The steps of the hash are the same for every
// input, so known answers prove them; what can go wrong for one input and not
// for another is the arithmetic, as when a rare carry is lost. poseidonAgain
// therefore shares the constants with poseidon, but no arithmetic.

// montgomery is a number x below the prime of the field, kept as x·2^256 modulo
// the prime, in little-endian words.
type montgomery [4]uint64

const (
	prime0 = 0x43e1f593f0000001 // words of the prime
	prime1 = 0x2833e84879b97091
	prime2 = 0xb85045b68181585d
	prime3 = 0x30644e72e131a029

	primeInverse = 0xc2e1f593efffffff // -1/prime modulo 2^64
)

// montgomerySquare is 2^512 modulo the prime: multiplied by it, a number gets its factor.
var montgomerySquare = montgomery{0x1bb8e645ae216da7, 0x53fe3ab1e35c59e3, 0x8c49833d53bb8085, 0x0216d0b17f4e44a5}

func toMontgomery(b [32]byte) (z montgomery) {
	for i := range z {
		z[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	z.mul(&z, &montgomerySquare)
	return z
}

func (z montgomery) bytes() (b [32]byte) {
	z.mul(&z, &montgomery{1})
	for i := range z {
		binary.BigEndian.PutUint64(b[24-8*i:], z[i])
	}
	return b
}

// mul is x·y/2^256. That the prime is below 2^254 spares it a fifth word.
func (z *montgomery) mul(x, y *montgomery) {
	var t0, t1, t2, t3 uint64
	for _, word := range y {
		// Add x·word, then the multiple of the prime that clears the low word,
		// and drop that word.
		c, low := mulAdd(x[0], word, t0, 0)
		m := low * primeInverse
		d, _ := mulAdd(m, prime0, low, 0)
		c, t1 = mulAdd(x[1], word, t1, c)
		d, t0 = mulAdd(m, prime1, t1, d)
		c, t2 = mulAdd(x[2], word, t2, c)
		d, t1 = mulAdd(m, prime2, t2, d)
		c, t3 = mulAdd(x[3], word, t3, c)
		d, t2 = mulAdd(m, prime3, t3, d)
		t3 = c + d
	}
	*z = montgomery{t0, t1, t2, t3}
	z.reduce()
}

func (z *montgomery) add(x, y *montgomery) {
	var c uint64
	z[0], c = bits.Add64(x[0], y[0], 0)
	z[1], c = bits.Add64(x[1], y[1], c)
	z[2], c = bits.Add64(x[2], y[2], c)
	z[3], _ = bits.Add64(x[3], y[3], c)
	z.reduce()
}

// reduce subtracts the prime once from a number not below it. It does not
// branch: a branch here is taken at random, and costs more than the work.
func (z *montgomery) reduce() {
	r0, b := bits.Sub64(z[0], prime0, 0)
	r1, b := bits.Sub64(z[1], prime1, b)
	r2, b := bits.Sub64(z[2], prime2, b)
	r3, b := bits.Sub64(z[3], prime3, b)
	keep := -b
	z[0] = z[0]&keep | r0&^keep
	z[1] = z[1]&keep | r1&^keep
	z[2] = z[2]&keep | r2&^keep
	z[3] = z[3]&keep | r3&^keep
}

// mulAdd is x·y + a + b, which fits two words.
func mulAdd(x, y, a, b uint64) (high, low uint64) {
	high, low = bits.Mul64(x, y)
	low, carry := bits.Add64(low, a, 0)
	high += carry
	low, carry = bits.Add64(low, b, 0)
	high += carry
	return high, low
}

var montgomeryConstants = parseConstants(toMontgomery)

// poseidonAgain is poseidon on its own arithmetic.
func poseidonAgain(a, b [32]byte) [32]byte {
	state := [stateSize]montgomery{{}, toMontgomery(a), toMontgomery(b)}
	fifthPower := func(x *montgomery) {
		var power montgomery
		power.mul(x, x)
		power.mul(&power, &power)
		x.mul(x, &power)
	}
	for r := range rounds {
		for i := range state {
			state[i].add(&state[i], &montgomeryConstants.round[r][i])
		}
		fifthPower(&state[0])
		if r < fullRounds/2 || r >= rounds-fullRounds/2 {
			fifthPower(&state[1])
			fifthPower(&state[2])
		}
		var mixed [stateSize]montgomery
		for i := range mixed {
			for j := range state {
				var product montgomery
				product.mul(&montgomeryConstants.matrix[i][j], &state[j])
				mixed[i].add(&mixed[i], &product)
			}
		}
		state = mixed
	}
	return state[0].bytes()
}
