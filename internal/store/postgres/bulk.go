package postgres

import (
	"fmt"
	"reflect"

	"penstock/internal/store/sqldb"
)

// gathered are the rows of a bulk write, turned into columns.
type gathered struct {
	bulk    *sqldb.Bulk
	columns []any // *[]string, *[]int64 or *[][]byte
	rows    int64
}

func gather(b *sqldb.Bulk) *gathered {
	g := &gathered{bulk: b, columns: make([]any, len(b.Types))}
	for i, t := range b.Types {
		switch t {
		case sqldb.Text:
			g.columns[i] = new([]string)
		case sqldb.Bigint:
			g.columns[i] = new([]int64)
		case sqldb.Bytea:
			g.columns[i] = new([][]byte)
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
		switch column := g.columns[i].(type) {
		case *[]string:
			*column = append(*column, reflect.ValueOf(value).String())
		case *[]int64:
			*column = append(*column, reflect.ValueOf(value).Int())
		case *[][]byte:
			*column = append(*column, value.([]byte))
		}
	}
	return nil
}

// statement writes the rows. A strict write fails by itself unless it finds every row, with a division by zero,
// which no other statement here can come to: so the commit can be on its way with it.
func (g *gathered) statement() string {
	if g.single() {
		return g.bulk.One
	}
	if !g.bulk.Strict {
		return g.bulk.Many
	}
	return fmt.Sprintf("WITH done AS (%s RETURNING 1) SELECT 1 / (CASE WHEN COUNT(*) = $%d THEN 1 ELSE 0 END) FROM done",
		g.bulk.Many, len(g.columns)+1)
}

// single reports whether there is one row, which is cheaper as values than as lists with one value each.
func (g *gathered) single() bool { return g.rows == 1 && !g.bulk.Strict }

// missed is the code of a strict write that did not find every row.
const missed = "22012" // division_by_zero

// args are the columns as the driver takes them, and for a strict write how many rows there are.
func (g *gathered) args() []any {
	args := make([]any, len(g.columns), len(g.columns)+1)
	for i, column := range g.columns {
		values := reflect.ValueOf(column).Elem()
		if g.single() {
			args[i] = values.Index(0).Interface()
		} else {
			args[i] = values.Interface()
		}
	}
	if g.bulk.Strict {
		args = append(args, g.rows)
	}
	return args
}
