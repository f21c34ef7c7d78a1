package sqldb

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// A step that the release before this one cannot work on is refused, with a reason.
func TestContractingStepsAreRefused(t *testing.T) {
	t.Parallel()
	for sql, reason := range map[string]string{
		"DROP TABLE jobs;":           "not one of those that expand",
		"DROP INDEX jobs_by_tenant;": "not one of those that expand",
		"DELETE FROM jobs;":          "not one of those that expand",
		"-- backfill: no reason lets rows go\nDELETE FROM jobs;": "not one of those that expand",
		"TRUNCATE jobs;": "not one of those that expand",
		"CREATE TABLE copy AS SELECT * FROM jobs;":                                             "not one of those that expand",
		"CREATE TRIGGER t AFTER INSERT ON jobs BEGIN SELECT 1; END;":                           "not one of those that expand",
		"ALTER TABLE jobs RENAME TO tasks;":                                                    "other than by ADD COLUMN",
		"ALTER TABLE jobs RENAME COLUMN lane TO urgency;":                                      "other than by ADD COLUMN",
		"ALTER TABLE jobs DROP COLUMN lane;":                                                   "other than by ADD COLUMN",
		"ALTER TABLE jobs ALTER COLUMN total TYPE text;":                                       "other than by ADD COLUMN",
		"ALTER TABLE jobs ALTER COLUMN lane SET NOT NULL;":                                     "other than by ADD COLUMN",
		"ALTER TABLE jobs ADD CONSTRAINT positive CHECK (total > 0);":                          "other than by ADD COLUMN",
		"/*pg ALTER TABLE jobs SET (fillfactor = 40) */;":                                      "other than by ADD COLUMN",
		"/*pg ALTER TABLE jobs ALTER COLUMN lane TYPE text */;":                                "other than by ADD COLUMN",
		"ALTER TABLE jobs ADD COLUMN n BIGINT NOT NULL;":                                       "NOT NULL without a default",
		"alter table jobs add column n bigint not null;":                                       "NOT NULL without a default",
		"ALTER TABLE jobs ADD COLUMN n BIGINT DEFAULT 0 UNIQUE;":                               "constraint (UNIQUE)",
		"ALTER TABLE jobs ADD COLUMN n BIGINT DEFAULT 0 CHECK (n > 0);":                        "constraint (CHECK)",
		"ALTER TABLE jobs ADD COLUMN n BIGINT REFERENCES items (id);":                          "constraint (REFERENCES)",
		"ALTER TABLE jobs ADD COLUMN n BIGINT, DROP COLUMN lane;":                              "more than one ADD COLUMN",
		"CREATE UNIQUE INDEX one_name ON jobs (key_name);":                                     "a unique index on JOBS",
		"UPDATE jobs SET lane = 'bulk';":                                                       "without a comment",
		"INSERT INTO jobs (id) VALUES ('x');":                                                  "without a comment",
		"-- because\nUPDATE jobs SET lane = 'bulk';":                                           "without a comment",
		"-- backfill: the first\nUPDATE jobs SET lane = 'a';\nUPDATE jobs SET lane = 'b';":     "without a comment",
		"CREATE TABLE notes (id TEXT PRIMARY KEY);\nALTER TABLE notes RENAME TO note;":         "other than by ADD COLUMN",
		"CREATE TABLE notes (id TEXT PRIMARY KEY); -- fine\n/* hidden */ DROP TABLE jobs;":     "not one of those that expand",
		"CREATE INDEX a ON jobs (lane); CREATE TABLE n (id TEXT DEFAULT ';'); DROP TABLE jobs": "not one of those that expand",
	} {
		err := CheckExpands(Migration{Number: 9, Owner: "queue", Name: "bad", SQL: sql})
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "0009 queue/bad") {
			t.Errorf("%s\nis answered %v, want %q", sql, err, reason)
		}
	}
}

func TestExpandingStepsAreTaken(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"CREATE TABLE notes (\n id TEXT /*pg COLLATE \"C\" */ PRIMARY KEY, -- a semicolon; in a comment\n n BIGINT NOT NULL\n) WITHOUT ROWID;",
		"CREATE INDEX notes_by_n ON jobs (total) WHERE total > 0;",
		"ALTER TABLE jobs ADD COLUMN note TEXT NOT NULL DEFAULT '';",
		"ALTER TABLE jobs ADD COLUMN note TEXT /*pg COLLATE \"C\" */ NOT NULL DEFAULT 'a;b';",
		"ALTER TABLE jobs ADD COLUMN note BYTEA;",
		"CREATE TABLE notes (id TEXT PRIMARY KEY);\nCREATE UNIQUE INDEX u ON notes (id);\nINSERT INTO notes (id) VALUES ('first');",
		"CREATE TABLE notes (id BYTEA);\n/*pg ALTER TABLE notes ALTER COLUMN id SET STORAGE EXTERNAL */;\n/*pg ALTER TABLE notes SET (fillfactor = 50) */;",
		"-- Some words.\n-- backfill: rows from before have no lane\nUPDATE jobs SET lane = 'bulk' WHERE lane = '';",
		"",
	} {
		if err := CheckExpands(Migration{SQL: sql}); err != nil {
			t.Errorf("%s\nis refused: %v", sql, err)
		}
	}
}

func TestPlanOrdersOwnersByNumber(t *testing.T) {
	t.Parallel()
	source := func(owner string, names ...string) Source {
		files := fstest.MapFS{}
		for _, name := range names {
			files["migrations/"+name] = &fstest.MapFile{Data: []byte("CREATE TABLE t (id TEXT);")}
		}
		return Source{Owner: owner, Files: files}
	}
	steps, err := Plan(source("b", "0002_baseline.sql", "0004_more.sql"), source("a", "0001_baseline.sql", "0003_more.sql"))
	if got := fmt.Sprint(steps); err != nil || got != "[0001 a/baseline 0002 b/baseline 0003 a/more 0004 b/more]" {
		t.Errorf("planned %s, %v", got, err)
	}
	for problem, sources := range map[string][]Source{
		"same number":      {source("a", "0001_baseline.sql"), source("b", "0001_baseline.sql")},
		"not its baseline": {source("a", "0001_first.sql")},
		"is not named":     {source("a", "0001_baseline.sql", "2_more.sql")},
		"is not named as":  {source("a", "0000_baseline.sql")},
		"only expand":      {{Owner: "a", Files: fstest.MapFS{"migrations/0001_baseline.sql": {Data: []byte("DROP TABLE t;")}}}},
	} {
		if _, err := Plan(sources...); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("want %q, got %v", problem, err)
		}
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	steps := []Migration{{Number: 1, Owner: "a", Name: "baseline"}, {Number: 2, Owner: "b", Name: "baseline"}, {Number: 3, Owner: "a", Name: "more"}}
	pending, err := Pending(steps, []Migration{steps[0], steps[2], {Number: 9, Owner: "c", Name: "baseline"}})
	if err != nil || len(pending) != 1 || pending[0].Number != 2 {
		t.Errorf("pending are %v, %v: want the one that a later merge brought, and nothing of a later release", pending, err)
	}
	if _, err := Pending(steps, []Migration{{Number: 2, Owner: "x", Name: "baseline"}}); err == nil {
		t.Error("another build's step under the same number is taken for ours")
	}
}
