package sqldb

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckExpands refuses a step that does more than expand the schema. Two releases run on one database during an
// upgrade, so a step must leave everything that the release before reads and writes as it is:
//
//   - CREATE TABLE and CREATE INDEX are allowed; a unique index only on a table of the same step.
//   - ALTER TABLE may add a column that is nullable or has a default, without a constraint.
//   - A table of the same step may be tuned and filled: nobody else uses it yet.
//   - INSERT and UPDATE of other tables are allowed below a comment "-- backfill: reason".
//
// Everything else is refused: DROP, RENAME, other types, NOT NULL without a default, DELETE.
func CheckExpands(m Migration) error {
	created := map[string]bool{}
	for _, s := range parse(m.SQL) {
		if reason := s.contracts(created); reason != "" {
			return fmt.Errorf("migration %s may only expand the schema: %s in %q; see the comment of sqldb.CheckExpands", m, reason, Brief(s.plain()))
		}
	}
	return nil
}

// statement is one statement of a migration.
type statement struct {
	sql     string
	comment string // the line comments above it
}

// plain is the statement with PostgreSQL's parts, in upper case and without needless space.
func (s statement) plain() string {
	return strings.ToUpper(strings.Join(strings.Fields(marks.Replace(s.sql)), " "))
}

var marks = strings.NewReplacer("/*pg", " ", "*/", " ", "(", " ( ", ")", " ) ", ",", " , ")

// contracts says why a statement does more than expand, "" if it does not. It notes the tables that the step creates.
func (s statement) contracts(created map[string]bool) string {
	words := strings.Fields(s.plain())
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch verb := at(0) + " " + at(1); {
	case verb == "CREATE TABLE" && at(3) == "(":
		created[at(2)] = true
		return ""
	case verb == "CREATE INDEX":
		return ""
	case verb == "CREATE UNIQUE" && at(2) == "INDEX":
		if table := at(slices.Index(words, "ON") + 1); !created[table] {
			return "a unique index on " + table + ", where the release before may write what it refuses"
		}
		return ""
	case verb == "ALTER TABLE" && created[at(2)] && tunes(words[3:]):
		return ""
	case verb == "ALTER TABLE":
		return alters(words[3:])
	case verb == "INSERT INTO" && created[at(2)]:
		return ""
	case at(0) == "INSERT" || at(0) == "UPDATE":
		if !backfill.MatchString(s.comment) {
			return "data is changed without a comment \"-- backfill: reason\""
		}
		return ""
	}
	return "the statement is not one of those that expand"
}

var backfill = regexp.MustCompile(`(?m)^backfill: \S`)

// tunes reports whether an ALTER TABLE only sets how a table is stored.
func tunes(words []string) bool {
	if len(words) > 0 && words[0] == "SET" {
		return true
	}
	return len(words) > 4 && words[0] == "ALTER" && words[3] == "SET" && words[4] == "STORAGE"
}

// alters says why an ALTER TABLE does more than expand.
func alters(words []string) string {
	if len(words) < 2 || words[0] != "ADD" || words[1] != "COLUMN" {
		return "a table is changed other than by ADD COLUMN"
	}
	has := func(word string) bool { return slices.Contains(words[2:], word) }
	for _, action := range []string{"ADD", "DROP", "RENAME", "ALTER", "SET"} {
		if has(action) {
			return "a table is changed by more than one ADD COLUMN"
		}
	}
	for _, constraint := range []string{"PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "GENERATED"} {
		if has(constraint) {
			return "a column is added with a constraint (" + constraint + ")"
		}
	}
	if has("NOT") && !has("DEFAULT") {
		return "a column is added NOT NULL without a default, which the release before does not write"
	}
	return ""
}

// parse splits a migration into statements. Line comments are kept apart; block comments stay where they are, because
// they hold PostgreSQL's parts.
func parse(text string) (all []statement) {
	var sql, comment strings.Builder
	end := func() {
		if body := strings.TrimSpace(sql.String()); body != "" {
			all = append(all, statement{sql: body, comment: comment.String()})
			comment.Reset()
		}
		sql.Reset()
	}
	for text != "" {
		n := 1
		switch {
		case strings.HasPrefix(text, "--"):
			n = lengthTo(text, "\n", 0)
			if strings.TrimSpace(sql.String()) == "" { // above a statement, not inside it
				comment.WriteString(strings.TrimSpace(strings.TrimPrefix(text[:n], "--")) + "\n")
			}
			sql.WriteString("\n")
		case strings.HasPrefix(text, "/*"):
			n = lengthTo(text, "*/", 2)
			sql.WriteString(text[:n])
		case text[0] == '\'':
			n = lengthTo(text, "'", 1)
			sql.WriteString(text[:n])
		case text[0] == ';':
			end()
		default:
			sql.WriteByte(text[0])
		}
		text = text[n:]
	}
	end()
	return all
}

// lengthTo is the length of a text up to and with a mark, which is looked for behind the first bytes.
func lengthTo(text, mark string, from int) int {
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}
