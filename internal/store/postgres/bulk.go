package postgres

import (
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5/pgconn"

	"penstock/internal/store/sqlstore"
)

// gathered are the rows of a bulk write, turned into columns.
type gathered struct {
	bulk    *sqlstore.Bulk
	columns []any // *[]string, *[]int64 or *[][]byte
	rows    int64
}

func gather(b *sqlstore.Bulk) *gathered {
	g := &gathered{bulk: b, columns: make([]any, len(b.Types))}
	for i, t := range b.Types {
		switch t {
		case sqlstore.Text:
			g.columns[i] = new([]string)
		case sqlstore.Bigint:
			g.columns[i] = new([]int64)
		case sqlstore.Bytea:
			g.columns[i] = new([][]byte)
		}
	}
	return g
}

func (g *gathered) add(row []any) error {
	if len(row) != len(g.columns) {
		return fmt.Errorf("%s has %d columns, got %d values", sqlstore.Brief(g.bulk.One), len(g.columns), len(row))
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

// check fails unless every row was found.
func (g *gathered) check(tag pgconn.CommandTag) error {
	if tag.RowsAffected() != g.rows {
		return sqlstore.ErrMissed
	}
	return nil
}

// args are the columns as the driver takes them.
func (g *gathered) args() []any {
	args := make([]any, len(g.columns))
	for i, column := range g.columns {
		args[i] = reflect.ValueOf(column).Elem().Interface()
	}
	return args
}
