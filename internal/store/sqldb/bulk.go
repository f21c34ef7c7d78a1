package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// Bulk is a write of one row that a transaction repeats for many rows. SQLite runs One for each row, or Several
// where that form exists: starting a statement is a fifth of the cost of an insert. PostgreSQL runs Many once, with
// one array per column, which saves it a statement for every row.
type Bulk struct {
	One     string
	Several string // One for SeveralRows rows at once; "" where there is no such form
	Many    string
	Types   []ColumnType // of the columns, in the order of the arguments
	// Strict fails the transaction with ErrMissed unless every row is found.
	Strict bool

	insert *insert // nil for other writes
}

// insert are the parts of a Bulk that adds rows.
type insert struct {
	table, rest string
	names       []string
}

// SeveralRows is the number of rows that Bulk.Several writes.
const SeveralRows = 16

// ColumnType is the type of a column in both engines.
type ColumnType string

// The types of columns.
const (
	Text   ColumnType = "text"
	Bigint ColumnType = "bigint"
	Bytea  ColumnType = "bytea"
)

// InsertInto is a Bulk that adds rows. Columns are given as "id text, n bigint". The rest is the SQL that follows the
// values, such as a conflict clause, or "".
func InsertInto(table, columns, rest string) *Bulk {
	names, types := parseColumns(columns)
	list := strings.Join(names, ", ")
	all := parameters(SeveralRows * len(names))
	rows := make([]string, 0, SeveralRows)
	for row := range slices.Chunk(all, len(names)) {
		rows = append(rows, "("+strings.Join(row, ", ")+")")
	}
	return &Bulk{
		insert:  &insert{table, rest, names},
		Types:   types,
		One:     fmt.Sprintf("INSERT INTO %s (%s) VALUES %s %s", table, list, rows[0], rest),
		Several: fmt.Sprintf("INSERT INTO %s (%s) VALUES %s %s", table, list, strings.Join(rows, ", "), rest),
		Many:    fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM unnest(%s) %s", table, list, lists(types), rest),
	}
}

// IsInsert reports whether the write adds rows and has the form ManySharing.
func (b *Bulk) IsInsert() bool { return b.insert != nil }

// ManySharing is Many for rows that share the values of some columns: those are plain values instead of arrays. At least one
// column is not shared.
func (b *Bulk) ManySharing(shared func(column int) bool) string {
	var values, arrays, columns []string
	for i, name := range b.insert.names {
		if shared(i) {
			values = append(values, fmt.Sprintf("$%d::%s", i+1, b.Types[i]))
			continue
		}
		values = append(values, "v."+name)
		columns, arrays = append(columns, name), append(arrays, fmt.Sprintf("$%d::%s[]", i+1, b.Types[i]))
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS v(%s) %s", b.insert.table, strings.Join(b.insert.names, ", "),
		strings.Join(values, ", "), strings.Join(arrays, ", "), strings.Join(columns, ", "), b.insert.rest)
}

// Overwriting is the conflict clause that copies columns of the new row into the existing row.
func Overwriting(key, columns string) string {
	names, _ := parseColumns(columns)
	for i, name := range names {
		names[i] = name + " = excluded." + name
	}
	return fmt.Sprintf("ON CONFLICT (%s) DO UPDATE SET %s", key, strings.Join(names, ", "))
}

// Update is a Bulk that changes rows by key; it fails with ErrMissed unless it finds every row. The constant is an
// assignment that is the same for all rows, or "".
func Update(table, key, columns, constant string) *Bulk {
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

// AllowMissing lets a Bulk skip rows that are not there.
func (b *Bulk) AllowMissing() *Bulk {
	b.Strict = false
	return b
}

// Swap is a Bulk that compares and sets a number: the arguments are the key, the value that the column must have, and
// the new value. It fails with ErrMissed unless it finds every row.
func Swap(table, key, column string) *Bulk {
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

// DeleteFrom is a Bulk that removes rows by the values of all the columns.
func DeleteFrom(table, columns string) *Bulk {
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

// RequireAll makes a Bulk fail with ErrMissed unless it finds every row.
func (b *Bulk) RequireAll() *Bulk {
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

// lists are the parameters of Bulk.Many: each is an array of one column's values.
func lists(types []ColumnType) string {
	all := parameters(len(types))
	for i, t := range types {
		all[i] += "::" + string(t) + "[]"
	}
	return strings.Join(all, ", ")
}
