package penstock

import (
	"math/bits"
	"slices"
	"time"
)

// Price is the price of each class of token, of a call, of an image and of a search unit on a target.
type Price struct {
	Input        Rate
	CachedInput  Rate
	CacheWrite   Rate
	CacheWrite1h Rate
	AudioInput   Rate
	Output       Rate
	Reasoning    Rate
	AudioOutput  Rate
	// Calls with more than LongInputTokens of input cost these rates instead of Input and Output, and the other classes
	// rise in proportion. 0 for no such rate.
	InputAbove200k  Rate
	OutputAbove200k Rate
	PerRequest      NanoUSD
	PerImage        NanoUSD
	PerSearch       NanoUSD // of a search unit, see SearchUnits
	// BatchDiscount is how much less work in the bulk lane costs, in percent.
	BatchDiscount int64
}

// rates are the prices of the classes.
func (p *Price) rates() [ClassCount]Rate {
	return [...]Rate{
		ClassInput: p.Input, ClassCachedInput: p.CachedInput, ClassCacheWrite: p.CacheWrite, ClassCacheWrite1h: p.CacheWrite1h,
		ClassAudioInput: p.AudioInput, ClassOutput: p.Output, ClassReasoning: p.Reasoning, ClassAudioOutput: p.AudioOutput,
	}
}

// Zero reports whether the target is free, or has no price at all.
func (p Price) Zero() bool { return p == Price{} }

// LongInputTokens is the size of the input above which some vendors charge higher rates for the whole call.
const LongInputTokens = 200_000

// long is the price of a call with more than LongInputTokens.
func (p Price) long() Price {
	if above := p.InputAbove200k; above > 0 {
		for _, rate := range []*Rate{&p.CachedInput, &p.CacheWrite, &p.CacheWrite1h, &p.AudioInput} {
			*rate = inProportion(*rate, p.Input, above)
		}
		p.Input = above
	}
	if above := p.OutputAbove200k; above > 0 {
		for _, rate := range []*Rate{&p.Reasoning, &p.AudioOutput} {
			*rate = inProportion(*rate, p.Output, above)
		}
		p.Output = above
	}
	p.InputAbove200k, p.OutputAbove200k = 0, 0
	return p
}

// inProportion is a rate that rises as another rises from one value to the next, rounded up.
func inProportion(rate, from, to Rate) Rate {
	if from <= 0 {
		return max(rate, to)
	}
	var product total
	product.add(int64(rate), int64(to))
	return Rate(product.over(uint64(from)))
}

// Dearest has for all classes the price of the most expensive class, for tokens whose class is not known yet.
func (p Price) Dearest() Price {
	long := p.long()
	p.Input = max(p.Input, p.CachedInput, p.CacheWrite, p.CacheWrite1h, p.AudioInput,
		long.Input, long.CachedInput, long.CacheWrite, long.CacheWrite1h, long.AudioInput)
	p.Output = max(p.Output, p.Reasoning, p.AudioOutput, long.Output, long.Reasoning, long.AudioOutput)
	p.InputAbove200k, p.OutputAbove200k = 0, 0
	p.CachedInput, p.CacheWrite, p.CacheWrite1h, p.AudioInput = p.Input, p.Input, p.Input, p.Input
	p.Reasoning, p.AudioOutput = p.Output, p.Output
	return p
}

// PriceChange is a price that applies from a moment on.
type PriceChange struct {
	From    time.Time
	Price   Price
	Version string
}

// PriceAt is the price of the target at a moment, and the version of that price.
func (t *Target) PriceAt(now time.Time) (Price, string) {
	price, version := t.Price, t.PriceVersion
	for _, c := range t.PriceChanges {
		if !c.From.After(now) {
			price, version = c.Price, c.Version
		}
	}
	return price, version
}

// MostFrom is the highest price of the target at any time from a moment on, for tokens of any class.
func (t *Target) MostFrom(now time.Time, c Charge) NanoUSD {
	price, _ := t.PriceAt(now)
	most := price.Dearest().Charge(c)
	for _, change := range t.PriceChanges {
		if change.From.After(now) {
			most = max(most, change.Price.Dearest().Charge(c))
		}
	}
	return most
}

// ChargesImages reports whether any price of the target charges for images.
func (t *Target) ChargesImages() bool {
	return t.Price.PerImage > 0 || slices.ContainsFunc(t.PriceChanges, func(c PriceChange) bool { return c.Price.PerImage > 0 })
}

// BySearch reports whether the target charges for search units and for no tokens, now and later.
func (t *Target) BySearch() bool {
	bySearch := func(p Price) bool { return p.PerSearch > 0 && p.rates() == [ClassCount]Rate{} }
	return bySearch(t.Price) && !slices.ContainsFunc(t.PriceChanges, func(c PriceChange) bool { return !bySearch(c.Price) })
}

// SearchUnitPieces is how many pieces of documents one search unit ranks against a query.
const SearchUnitPieces = 100

// SearchUnits are the search units of a call that ranks so many pieces of documents.
func SearchUnits(pieces int64) int64 { return (pieces + SearchUnitPieces - 1) / SearchUnitPieces }

// Charge is the usage, calls, images and search units that an upstream charges for.
type Charge struct {
	Usage    Usage
	Calls    int64
	Images   int64
	Searches int64
	Lane     Lane
}

// Cost is what the tokens of a usage cost at a price.
func (p Price) Cost(u Usage) NanoUSD { return p.Charge(Charge{Usage: u}) }

// Charge is the cost at a price. It is rounded up to a whole NanoUSD once, at the end, so that small calls are never
// free. It saturates instead of overflowing.
func (p Price) Charge(c Charge) NanoUSD {
	const picoPerNano = 1000
	if c.Usage.InputTokens > LongInputTokens*max(1, c.Calls) { // an estimate may be for many calls
		p = p.long()
	}
	var sum total
	rates := p.rates()
	for class, n := range c.Usage.Classes() {
		sum.add(n, int64(rates[class]))
	}
	var units total
	units.add(c.Calls, int64(p.PerRequest))
	units.add(c.Images, int64(p.PerImage))
	units.add(c.Searches, int64(p.PerSearch))
	sum = sum.plus(units.times(picoPerNano))
	if c.Lane == LaneBulk && p.BatchDiscount > 0 {
		const all = 100
		return sum.times(uint64(max(0, all-p.BatchDiscount))).over(picoPerNano * all)
	}
	return sum.over(picoPerNano)
}

// total is a sum of products in 128 bits. It saturates.
type total struct{ hi, lo uint64 }

// mostTotal is what a sum saturates at.
func mostTotal() total { return total{^uint64(0), ^uint64(0)} }

// add adds a product, unless one of its factors is not above zero.
func (t *total) add(n, each int64) {
	if n > 0 && each > 0 {
		hi, lo := bits.Mul64(uint64(n), uint64(each))
		*t = t.plus(total{hi, lo})
	}
}

func (t total) plus(v total) total {
	lo, carry := bits.Add64(t.lo, v.lo, 0)
	hi, over := bits.Add64(t.hi, v.hi, carry)
	if over > 0 {
		return mostTotal()
	}
	return total{hi, lo}
}

func (t total) times(n uint64) total {
	over, hi := bits.Mul64(t.hi, n)
	carry, lo := bits.Mul64(t.lo, n)
	hi, more := bits.Add64(hi, carry, 0)
	if over > 0 || more > 0 {
		return mostTotal()
	}
	return total{hi, lo}
}

// over divides and rounds up.
func (t total) over(n uint64) NanoUSD {
	const limit = NanoUSD(1<<63 - 1)
	if t.hi >= n {
		return limit
	}
	q, rest := bits.Div64(t.hi, t.lo, n)
	if q >= uint64(limit) {
		return limit
	}
	if rest > 0 {
		q++
	}
	return NanoUSD(q)
}
