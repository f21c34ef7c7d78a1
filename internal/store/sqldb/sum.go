package sqldb

import "math"

// WideSum is SQL that adds up a column without overflow: it sums the upper and the lower half of each number apart. A
// plain SUM fails on SQLite when 64 bits are too few, and on PostgreSQL when its result is read as 64 bits. It makes two
// columns, which are scanned into a [Wide].
func WideSum(column string) string {
	return `SUM((` + column + `) >> 32) /*pg ::bigint */, SUM((` + column + `) & 4294967295) /*pg ::bigint */`
}

// Wide is a sum in two halves.
type Wide struct{ Upper, Lower int64 }

// Total is the sum, or the largest or smallest number that 64 bits hold.
func (w Wide) Total() int64 {
	upper := w.Upper + w.Lower>>32
	switch {
	case upper > math.MaxInt32:
		return math.MaxInt64
	case upper < math.MinInt32:
		return math.MinInt64
	}
	return upper<<32 | w.Lower&math.MaxUint32
}
