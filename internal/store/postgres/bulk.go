package postgres

import (
	"fmt"
	"math"
	"reflect"
	"sync/atomic"

	"penstock/internal/store/sqldb"
)

// gathered are the rows of a bulk write, turned into columns.
type gathered struct {
	bulk    *sqldb.Bulk
	columns []any     // *[]string, *[]int64 or *[][]byte
	differ  columnSet // columns whose values differ
	rows    int64
}

// columnSet is a set of columns, by their numbers.
type columnSet uint64

const allColumns columnSet = math.MaxUint64

func (s columnSet) has(column int) bool { return s == allColumns || s&(1<<column) != 0 }

func gather(b *sqldb.Bulk) *gathered {
	g := &gathered{bulk: b, columns: make([]any, len(b.Types)), differ: 1} // the first column has the number of rows
	if !b.IsInsert() || len(b.Types) >= 64 {
		g.differ = allColumns
	}
	for i, t := range b.Types {
		switch t {
		case sqldb.Text:
			g.columns[i] = new([]string)
		case sqldb.Bigint:
			g.columns[i] = new([]int64)
		case sqldb.Bytea:
			g.columns[i] = new([][]byte)
			g.differ |= 1 << i
		}
	}
	return g
}

func (g *gathered) add(row []any) error {
	if len(row) != len(g.columns) {
		return fmt.Errorf("%s has %d columns, got %d values", sqldb.Brief(g.bulk.One), len(g.columns), len(row))
	}
	g.rows++
	for i, value := range row {
		differs := false
		switch column := g.columns[i].(type) {
		case *[]string:
			text := reflect.ValueOf(value).String()
			*column = append(*column, text)
			differs = text != (*column)[0]
		case *[]int64:
			n := reflect.ValueOf(value).Int()
			*column = append(*column, n)
			differs = n != (*column)[0]
		case *[][]byte:
			*column = append(*column, value.([]byte))
		}
		if differs {
			g.differ |= 1 << i
		}
	}
	return nil
}

// query writes the rows. A strict write fails by itself unless it finds every row, with a division by zero,
// which no other statement here can come to: so the commit can be on its way with it.
func (g *gathered) query(e *Engine) (text string, args []any) {
	single := g.rows == 1 && !g.bulk.Strict // one row is cheaper as values than as arrays with one value each
	switch {
	case single:
		text, g.differ = g.bulk.One, 0
	case g.bulk.Strict:
		text = fmt.Sprintf("WITH done AS (%s RETURNING 1) SELECT 1 / (CASE WHEN COUNT(*) = $%d THEN 1 ELSE 0 END) FROM done", g.many(e), len(g.columns)+1)
	default:
		text = g.many(e)
	}
	args = make([]any, len(g.columns), len(g.columns)+1)
	for i, column := range g.columns {
		values := reflect.ValueOf(column).Elem()
		if !g.differ.has(i) {
			values = values.Index(0)
		}
		args[i] = values.Interface()
	}
	if g.bulk.Strict {
		args = append(args, g.rows)
	}
	return text, args
}

// many is the statement for several rows. A value that all rows of an insert share, such as the tenant of a group of submits, is
// sent once: an array of it costs the server a scan of its own. A column whose values differed in one transaction is an array
// in all later ones, so that a write soon has one statement, which each connection prepares once.
func (g *gathered) many(e *Engine) string {
	if g.differ == allColumns {
		return g.bulk.Many
	}
	known, _ := e.differ.LoadOrStore(g.bulk, new(atomic.Uint64))
	g.differ |= columnSet(known.(*atomic.Uint64).Or(uint64(g.differ)))
	key := manyKey{g.bulk, g.differ}
	if text, ok := e.texts.Load(key); ok {
		return text.(string)
	}
	text := g.bulk.ManySharing(func(column int) bool { return !g.differ.has(column) })
	e.texts.Store(key, text)
	return text
}

// manyKey names a statement for several rows.
type manyKey struct {
	bulk   *sqldb.Bulk
	differ columnSet
}

// missed is the code of a strict write that did not find every row.
const missed = "22012" // division_by_zero
