package sqldb

import (
	"context"
	"strings"
)

// Query is SQL with its arguments.
type Query struct {
	SQL  string
	Args []any
}

// SQL makes a query.
func SQL(sql string, args ...any) Query { return Query{sql, args} }

// IDQuery asks for the rows of many ids at once.
type IDQuery struct {
	SQL  string
	IDs  []string
	Args []any
}

// Question is a query with the function that takes its rows.
type Question struct {
	IDQuery // with nil IDs it is a plain query, whose arguments begin at $1
	Scan    func(Row) error
}

// Ask makes a question of a plain query.
func Ask(q Query, scan func(Row) error) Question {
	return Question{IDQuery{SQL: q.SQL, Args: q.Args}, scan}
}

// QueryAll collects the rows of a query.
func QueryAll[T any](ctx context.Context, tx Reader, q Query, scan func(Row) (T, error)) ([]T, error) {
	rows, err := tx.Query(ctx, q.SQL, q.Args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// QueryOne returns the first row of a query and whether there is one.
func QueryOne[T any](ctx context.Context, tx Reader, q Query, scan func(Row) (T, error)) (T, bool, error) {
	all, err := QueryAll(ctx, tx, q, scan)
	if err != nil || len(all) == 0 {
		var zero T
		return zero, false, err
	}
	return all[0], true, nil
}

// ScanOne scans a row of a single column.
func ScanOne[T any](row Row) (value T, err error) { return value, row.Scan(&value) }

// Brief names a statement in an error by its first words.
func Brief(sql string) string {
	words := strings.Fields(sql)
	return strings.Join(words[:min(4, len(words))], " ")
}
