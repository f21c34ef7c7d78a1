package schema

import "math/big"

// span is how many multiples a number is chosen from.
const span = 100

// number generates a number: a multiple of what the schemas demand, within their bounds.
func (g *generator) number(kind kinds, all []*node) (*value, error) {
	bounds, err := g.bounds(all)
	if err != nil {
		return nil, err
	}
	step, free := bounds.multiple, bounds.multiple == nil
	switch {
	case kind == kindInteger && free:
		step = big.NewRat(1, 1)
	case kind == kindInteger:
		step = commonMultiple(step, big.NewRat(1, 1))
	case free:
		step = big.NewRat(1, 4)
	}
	worth := g.multiple(bounds, step)
	if worth == nil && kind == kindNumber && free && bounds.least != nil && bounds.most != nil {
		worth = new(big.Rat).Add(bounds.least, bounds.most) // there is no multiple of a quarter between them
		worth.Quo(worth, big.NewRat(2, 1))
	}
	if worth == nil || !bounds.allows(worth) {
		return nil, g.fail("no number was found within the bounds of the schema")
	}
	literal := decimal(worth)
	if rational(literal) == nil {
		return nil, g.fail("the bounds of the number have too many digits")
	}
	return &value{kind: '0', text: literal}, g.grow(len(literal))
}

// bounds are what all of some schemas demand of a number.
func (g *generator) bounds(all []*node) (number, error) {
	var b number
	for _, n := range all {
		m := &n.number
		if m.least != nil && (b.least == nil || m.least.Cmp(b.least) > 0 || (m.least.Cmp(b.least) == 0 && m.aboveLeast)) {
			b.least, b.aboveLeast = m.least, m.aboveLeast
		}
		if m.most != nil && (b.most == nil || m.most.Cmp(b.most) < 0 || (m.most.Cmp(b.most) == 0 && m.below)) {
			b.most, b.below = m.most, m.below
		}
		switch {
		case m.multiple == nil:
		case b.multiple == nil:
			b.multiple = m.multiple
		default:
			b.multiple = commonMultiple(b.multiple, m.multiple)
		}
		if b.multiple != nil && b.multiple.Num().BitLen()+b.multiple.Denom().BitLen() > 2048 {
			return b, errTooComplex
		}
	}
	return b, nil
}

// multiple chooses a multiple of step within the bounds, and one that is no integer if it can; nil if there is
// none.
func (g *generator) multiple(b number, step *big.Rat) *big.Rat {
	first := big.NewInt(1)
	if b.least != nil {
		first = floor(new(big.Rat).Quo(b.least, step))
		if worth := scaled(step, first); worth.Cmp(b.least) < 0 || (b.aboveLeast && worth.Cmp(b.least) == 0) {
			first.Add(first, big.NewInt(1))
		}
	}
	last := new(big.Int).Add(first, big.NewInt(span))
	if b.most != nil {
		highest := floor(new(big.Rat).Quo(b.most, step))
		if b.below && scaled(step, highest).Cmp(b.most) == 0 {
			highest.Sub(highest, big.NewInt(1))
		}
		if b.least == nil && highest.Cmp(first) < 0 {
			first = new(big.Int).Sub(highest, big.NewInt(span))
		}
		if highest.Cmp(last) < 0 {
			last = highest
		}
	}
	if first.Cmp(last) > 0 {
		return nil
	}
	count := new(big.Int).Sub(last, first).Int64() + 1 // at most span+1
	chosen := new(big.Int).Add(first, big.NewInt(g.rng.Int64N(count)))
	if !step.IsInt() && scaled(step, chosen).IsInt() && chosen.Cmp(last) < 0 {
		chosen.Add(chosen, big.NewInt(1))
	}
	return scaled(step, chosen)
}

func scaled(step *big.Rat, by *big.Int) *big.Rat {
	return new(big.Rat).Mul(step, new(big.Rat).SetInt(by))
}

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and a denominator is positive
}

// commonMultiple is the least number that is a multiple of both.
func commonMultiple(a, b *big.Rat) *big.Rat {
	x, y := new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(b.Num(), a.Denom())
	divisor := new(big.Int).GCD(nil, nil, x, y)
	least := new(big.Int).Mul(new(big.Int).Div(x, divisor), y)
	return new(big.Rat).SetFrac(least, new(big.Int).Mul(a.Denom(), b.Denom()))
}

// decimal writes a number exactly.
func decimal(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}
