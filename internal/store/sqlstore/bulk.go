package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// Bulk is a write of one row that a transaction repeats for many. SQLite runs One for each of them:
// nothing is saved by handing a library its rows together. A server is sent Many, once, with a list of
// values for each column: that saves it the work of a statement for every row.
type Bulk struct {
	One   string
	Many  string
	Types []ColumnType // of the columns, in the order of the arguments
	// Strict fails the transaction with ErrMissed unless every row is found.
	Strict bool
}

// ErrMissed says that a strict write did not find a row.
var ErrMissed = errors.New("a row was not as expected")

// ColumnType is the type of a column in both engines.
type ColumnType string

// The types of columns.
const (
	Text   ColumnType = "text"
	Bigint ColumnType = "bigint"
	Bytea  ColumnType = "bytea"
)

// insertInto is a Bulk that adds rows. Columns are given as "id text, n bigint"; what follows the values,
// a conflict clause for example, comes last.
func insertInto(table, columns, rest string) *Bulk {
	names, types := parseColumns(columns)
	list := strings.Join(names, ", ")
	return &Bulk{
		Types: types,
		One:   fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) %s", table, list, strings.Join(parameters(len(names)), ", "), rest),
		Many:  fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM unnest(%s) %s", table, list, lists(types), rest),
	}
}

// overwriting is the conflict clause by which a row that is there takes columns of the one that was to be added.
func overwriting(key, columns string) string {
	names, _ := parseColumns(columns)
	for i, name := range names {
		names[i] = name + " = excluded." + name
	}
	return fmt.Sprintf("ON CONFLICT (%s) DO UPDATE SET %s", key, strings.Join(names, ", "))
}

// update is a Bulk that changes rows, every one of which must be found by the key. Assignments that are the
// same for all rows come last.
func update(table, key, columns, constant string) *Bulk {
	keys, keyTypes := parseColumns(key)
	names, types := parseColumns(columns)
	var one, many, oneKey, manyKey []string
	for i, name := range keys {
		oneKey = append(oneKey, fmt.Sprintf("%s = $%d", name, i+1))
		manyKey = append(manyKey, fmt.Sprintf("%s.%s = v.%s", table, name, name))
	}
	for i, name := range names {
		one = append(one, fmt.Sprintf("%s = $%d", name, len(keys)+i+1))
		many = append(many, fmt.Sprintf("%s = v.%s", name, name))
	}
	if constant != "" {
		one, many = append(one, constant), append(many, constant)
	}
	types = append(keyTypes, types...)
	return &Bulk{
		Strict: true,
		Types:  types,
		One:    fmt.Sprintf("UPDATE %s SET %s WHERE %s", table, strings.Join(one, ", "), strings.Join(oneKey, " AND ")),
		Many: fmt.Sprintf("UPDATE %s SET %s FROM unnest(%s) AS v(%s) WHERE %s", table, strings.Join(many, ", "),
			lists(types), strings.Join(append(keys, names...), ", "), strings.Join(manyKey, " AND ")),
	}
}

// lenient lets a Bulk pass over rows that are not there.
func (b *Bulk) lenient() *Bulk {
	b.Strict = false
	return b
}

// swap is a Bulk that takes a number from one value to another in rows that are found by the key: the
// arguments are the key, the value that it must have, and the one that it gets.
func swap(table, key, column string) *Bulk {
	names, types := parseColumns(key + ", " + column + " bigint")
	var one, many []string
	for i, name := range names {
		one = append(one, fmt.Sprintf("%s = $%d", name, i+1))
		many = append(many, fmt.Sprintf("%s.%s = v.%s", table, name, name))
	}
	types = append(types, Bigint)
	return &Bulk{
		Strict: true,
		Types:  types,
		One:    fmt.Sprintf("UPDATE %s SET %s = $%d WHERE %s", table, column, len(types), strings.Join(one, " AND ")),
		Many: fmt.Sprintf("UPDATE %s SET %s = v.becomes FROM unnest(%s) AS v(%s, becomes) WHERE %s",
			table, column, lists(types), strings.Join(names, ", "), strings.Join(many, " AND ")),
	}
}

// deleteFrom is a Bulk that removes rows found by all of the columns.
func deleteFrom(table, columns string) *Bulk {
	names, types := parseColumns(columns)
	var one, many []string
	for i, name := range names {
		one = append(one, fmt.Sprintf("%s = $%d", name, i+1))
		many = append(many, fmt.Sprintf("%s.%s = v.%s", table, name, name))
	}
	return &Bulk{
		Types: types,
		One:   fmt.Sprintf("DELETE FROM %s WHERE %s", table, strings.Join(one, " AND ")),
		Many: fmt.Sprintf("DELETE FROM %s USING unnest(%s) AS v(%s) WHERE %s",
			table, lists(types), strings.Join(names, ", "), strings.Join(many, " AND ")),
	}
}

// strict makes a Bulk fail unless it finds every row.
func (b *Bulk) strict() *Bulk {
	b.Strict = true
	return b
}

func parseColumns(columns string) (names []string, types []ColumnType) {
	for column := range strings.SplitSeq(columns, ",") {
		fields := strings.Fields(column)
		names, types = append(names, fields[0]), append(types, ColumnType(fields[1]))
	}
	return names, types
}

func parameters(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$%d", i+1)
	}
	return all
}

// lists are the parameters of a bulk write, each a list of one column's values.
func lists(types []ColumnType) string {
	all := parameters(len(types))
	for i, t := range types {
		all[i] += "::" + string(t) + "[]"
	}
	return strings.Join(all, ", ")
}
