package sqlstore

import "math"

// wideSum is SQL that adds up a column without overflowing, whatever its rows say: the upper and the lower half of each number
// apart. SUM fails on SQLite when 64 bits are too few, and on PostgreSQL when its sum is read as 64 bits. It makes two columns,
// which are scanned into a wide.
func wideSum(column string) string {
	return `SUM((` + column + `) >> 32) /*pg ::bigint */, SUM((` + column + `) & 4294967295) /*pg ::bigint */`
}

// wide is a sum in two halves.
type wide struct{ upper, lower int64 }

// total is the sum, or the largest or smallest number that there is.
func (w wide) total() int64 {
	upper := w.upper + w.lower>>32
	switch {
	case upper > math.MaxInt32:
		return math.MaxInt64
	case upper < math.MinInt32:
		return math.MinInt64
	}
	return upper<<32 | w.lower&math.MaxUint32
}
