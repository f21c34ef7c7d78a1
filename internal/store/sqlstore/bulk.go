package sqlstore

import (
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
}

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

// update is a Bulk that changes rows found by their first column. Assignments that are the same for all
// rows come last.
func update(table, columns, constant string) *Bulk {
	names, types := parseColumns(columns)
	var one, many []string
	for i, name := range names[1:] {
		one = append(one, fmt.Sprintf("%s = $%d", name, i+2))
		many = append(many, fmt.Sprintf("%s = v.%s", name, name))
	}
	if constant != "" {
		one, many = append(one, constant), append(many, constant)
	}
	return &Bulk{
		Types: types,
		One:   fmt.Sprintf("UPDATE %s SET %s WHERE %s = $1", table, strings.Join(one, ", "), names[0]),
		Many: fmt.Sprintf("UPDATE %[1]s SET %[2]s FROM unnest(%[3]s) AS v(%[4]s) WHERE %[1]s.%[5]s = v.%[5]s",
			table, strings.Join(many, ", "), lists(types), strings.Join(names, ", "), names[0]),
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
