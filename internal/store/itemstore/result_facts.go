package itemstore

import (
	"slices"

	"penstock"
	"penstock/internal/store/sqldb"
)

// resultLayout is the first byte of the facts of a result group.
const resultLayout = 2

// fixedCounts is how many counts of a usage, the first ones of all, stand in the fixed part of a charge. The others are
// fields: nearly every item has none of them.
const fixedCounts = 5

// The tags of a result group's fields. A count of a usage that is not fixed has the tag of its place in
// [penstock.UsageNames], so that a new count needs no new tag here.
const (
	itemCountTag    fieldTag = 0x20 // + place: a count of what the item used
	attemptCountTag fieldTag = 0x40 // + place: the same of the attempt, where its charge differs from the item's
	maxCounts                = 0x20
)

// The flags of an item.
const (
	flagSameCharge = 1 << iota // the attempt has the same charge as the item
	flagUsageKnown             // of the attempt
)

// charge is what an item and the attempt that decided it both have, nearly always the same.
type charge struct {
	target     string
	statusCode int
	price      string // version
	usage      penstock.Usage
	cost       penstock.NanoUSD
}

func (r *Row) charge() charge { return charge{r.Target, r.StatusCode, r.PriceVersion, r.Usage, r.Cost} }

func (r *Row) setCharge(c charge) {
	r.Target, r.StatusCode, r.PriceVersion, r.Usage, r.Cost = c.target, c.statusCode, c.price, c.usage, c.cost
}

func chargeOf(a *penstock.Attempt) charge {
	return charge{a.Target, a.StatusCode, a.PriceVersion, a.Usage, a.Cost}
}

// newResultFacts returns a writer for the facts of about so many items.
func newResultFacts(items int) factWriter {
	const usual, words = 71, 100 // bytes of an item, and of the words of a group
	return factWriter{buf: append(make([]byte, 0, words+items*usual), resultLayout)}
}

func (w *factWriter) charge(c *charge) {
	w.word(c.target)
	w.number(int64(c.statusCode))
	w.word(c.price)
	counts := c.usage.Counts()
	for _, n := range counts[:fixedCounts] {
		w.number(*n)
	}
	w.number(int64(c.cost))
}

// ended writes an item and the attempt that decided it.
func (w *factWriter) ended(r *Row) {
	a, flags, itemCharge := r.Last, byte(0), r.charge()
	attemptCharge := chargeOf(a)
	if itemCharge == attemptCharge {
		flags |= flagSameCharge
	}
	if a.UsageKnown {
		flags |= flagUsageKnown
	}
	w.number(int64(r.Index))
	w.text(r.CustomID)
	w.number(int64(r.Attempts))
	w.number(int64(r.Reserved))
	w.number(int64(len(r.Sealed.Inline)))
	w.charge(&itemCharge)
	w.buf = append(w.buf, flags)
	if flags&flagSameCharge == 0 {
		w.charge(&attemptCharge)
	}
	w.text(string(a.ID))
	w.word(a.Reason)
	w.word(a.Config)
	started := sqldb.Micros(a.StartedAt)
	w.number(started)
	w.number(sqldb.Micros(a.FirstTokenAt) - started)
	w.number(sqldb.Micros(a.FinishedAt) - started)

	more := slices.Clip(r.unknown).addCounts(itemCountTag, &itemCharge.usage)
	if flags&flagSameCharge == 0 {
		more = more.addCounts(attemptCountTag, &attemptCharge.usage)
	}
	w.fields(more)
}

// addCounts adds the counts of a usage that have no place in the fixed part.
func (f fields) addCounts(first fieldTag, u *penstock.Usage) fields {
	counts := u.Counts()
	for i := fixedCounts; i < len(counts); i++ {
		if n := *counts[i]; n != 0 {
			f = f.addNumber(first+fieldTag(i), n)
		}
	}
	return f
}

// resultReader reads the facts of a result group.
type resultReader struct {
	factReader
	counts int // of a usage that the reader knows
}

func (r *resultReader) charge() (c charge) {
	c.target, c.statusCode, c.price = r.word(), int(r.number()), r.word()
	counts := c.usage.Counts()
	for _, n := range counts[:fixedCounts] {
		*n = r.number()
	}
	c.cost = penstock.NanoUSD(r.number())
	return c
}

// ended reads the next item and the attempt that decided it. Its result begins where the one before it ends.
func (r *resultReader) ended(row *Row, a *penstock.Attempt, from int64) {
	row.Index, row.CustomID = int(r.number()), r.text()
	row.Attempts, row.Reserved = int(r.number()), penstock.NanoUSD(r.number())
	row.group.result = span{from, from + r.number()}
	paid := r.charge()
	row.setCharge(paid)
	flags := r.byte()
	if flags&flagSameCharge == 0 {
		paid = r.charge()
	}
	*a = penstock.Attempt{
		Number: 1, Fence: 1, Target: paid.target, StatusCode: paid.statusCode, PriceVersion: paid.price, Usage: paid.usage, Cost: paid.cost,
		UsageKnown: flags&flagUsageKnown != 0, ID: penstock.ID(r.text()), Reason: r.word(), Config: r.word(),
	}
	started := r.number()
	a.StartedAt, a.FirstTokenAt, a.FinishedAt = sqldb.FromMicros(started), sqldb.FromMicros(started+r.number()), sqldb.FromMicros(started+r.number())
	r.counted(row, a, flags)
	row.Last = a
}

// counted reads the fields of an item, which are counts of its usage and of the attempt's.
func (r *resultReader) counted(row *Row, a *penstock.Attempt, flags byte) {
	row.unknown = r.fields(func(tag fieldTag, value *factReader) bool {
		switch {
		case tag >= itemCountTag && tag < itemCountTag+maxCounts:
			return r.countedIn(&row.Usage, tag-itemCountTag, value)
		case tag >= attemptCountTag && tag < attemptCountTag+maxCounts:
			return r.countedIn(&a.Usage, tag-attemptCountTag, value)
		}
		return false
	})
	if flags&flagSameCharge != 0 {
		a.Usage = row.Usage
	}
}

// countedIn reads a count of a usage by its place, and reports whether the reader knows the count.
func (r *resultReader) countedIn(u *penstock.Usage, place fieldTag, value *factReader) bool {
	if place < fixedCounts || place >= fieldTag(r.counts) {
		return false
	}
	*u.Counts()[place] = value.number()
	return true
}

// decodeResults reads the facts of a result group, which has as many items as its row says.
func decodeResults(encoded []byte, items int64) ([]Row, error) {
	var u penstock.Usage
	r := resultReader{factReader: factReader{buf: encoded}, counts: len(u.Counts())}
	return r.decode(items)
}

func (r *resultReader) decode(items int64) ([]Row, error) {
	if r.byte() != resultLayout || items < 1 || items > resultGroupItems {
		return nil, errBrokenFacts
	}
	rows, attempts := make([]Row, items), make([]penstock.Attempt, items)
	var at int64
	for i := range rows {
		r.ended(&rows[i], &attempts[i], at)
		result := rows[i].group.result
		if at = result.to; r.broken || at < result.from {
			return nil, errBrokenFacts
		}
	}
	if r.more() {
		return nil, errBrokenFacts
	}
	return rows, nil
}
