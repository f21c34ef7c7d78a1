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

// InsertInto is a Bulk that adds rows. Columns are given as "id text, n bigint". A column that is the same in every row has
// its value behind it, as in "kind text = 'settle'", and takes no argument. The rest is the SQL that follows the values, such
// as a conflict clause, or "".
func InsertInto(table, columns, rest string) *Bulk {
	into := parseInsert(columns)
	into.table, into.rest = table, rest
	list := strings.Join(into.names, ", ")
	rows := make([]string, SeveralRows)
	for i := range rows {
		rows[i] = into.row(i * len(into.types))
	}
	return &Bulk{
		insert: &into,
		Types:  into.types,
		One:    fmt.Sprintf("INSERT INTO %s (%s) VALUES %s %s", table, list, rows[0], rest),
		// A failure ends the transaction, so SQLite need not keep the pages that this statement would have to undo alone.
		Several: fmt.Sprintf("INSERT OR FAIL INTO %s (%s) VALUES %s %s", table, list, strings.Join(rows, ", "), rest),
		Many:    into.many(func(int) bool { return false }),
	}
}

// insert is the parts of a Bulk that adds rows.
type insert struct {
	table, rest string
	names       []string
	values      []string     // of the columns: the constant, or the name of the column
	types       []ColumnType // of the columns that are arguments
}

func parseInsert(columns string) (in insert) {
	for column := range strings.SplitSeq(columns, ",") {
		definition, constant, fixed := strings.Cut(column, " = ")
		names, types := parseColumns(definition)
		in.names = append(in.names, names...)
		if fixed {
			in.values = append(in.values, constant)
			continue
		}
		in.values, in.types = append(in.values, names...), append(in.types, types...)
	}
	return in
}

// row is a row of VALUES whose first parameter follows the given number of parameters.
func (in insert) row(before int) string {
	values := slices.Clone(in.values)
	for i, name := range in.names {
		if values[i] == name {
			before++
			values[i] = fmt.Sprintf("$%d", before)
		}
	}
	return "(" + strings.Join(values, ", ") + ")"
}

// many is the statement with one array per argument. An argument that all rows share is a plain value.
func (in insert) many(shared func(argument int) bool) string {
	var values, arrays, columns []string
	argument := 0
	for i, name := range in.names {
		if in.values[i] != name {
			values = append(values, in.values[i])
			continue
		}
		if shared(argument) {
			values = append(values, fmt.Sprintf("$%d::%s", argument+1, in.types[argument]))
		} else {
			values, columns = append(values, "v."+name), append(columns, name)
			arrays = append(arrays, fmt.Sprintf("$%d::%s[]", argument+1, in.types[argument]))
		}
		argument++
	}
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM unnest(%s) AS v(%s) %s", in.table, strings.Join(in.names, ", "),
		strings.Join(values, ", "), strings.Join(arrays, ", "), strings.Join(columns, ", "), in.rest)
}

// IsInsert reports whether the write adds rows and has the form ManySharing.
func (b *Bulk) IsInsert() bool { return b.insert != nil }

// ManySharing is Many for rows that share the values of some arguments: those are plain values instead of arrays. At least one
// argument is not shared.
func (b *Bulk) ManySharing(shared func(argument int) bool) string { return b.insert.many(shared) }

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
