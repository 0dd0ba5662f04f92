package railgun

import "github.com/consensys/gnark-crypto/ecc/bn254/fr"

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
