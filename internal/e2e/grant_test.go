package e2e

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// rowRole makes a role that may read and write rows of a database, and not change its schema. It returns the URL of the role.
func rowRole(t *testing.T, database string) (role, at string) {
	t.Helper()
	role = "penstock_rows_" + strings.ToLower(rand.Text())
	execute(t, database, "CREATE ROLE "+role+" LOGIN PASSWORD 'rows'", "REVOKE CREATE ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO "+role)
	t.Cleanup(func() { execute(t, database, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "rows")
	return role, u.String()
}

func execute(t *testing.T, database string, statements ...string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // the context of the test has ended when it cleans up
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// A role with rights on rows alone runs a server on a schema that is up to date. On another schema it gets the step that is missing.
func TestServeWithRightsOnRowsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	t.Parallel()
	owner := databaseURL(t)
	role, rows := rowRole(t, owner)
	refused := Start(t, []string{"PENSTOCK_LISTEN=127.0.0.1:0", "PENSTOCK_DATA=" + t.TempDir(), "PENSTOCK_DATABASE_URL=" + rows}, "dev")
	if code := refused.Exit(); code == 0 || !strings.Contains(refused.Output(), `run "penstock db migrate" with the role that owns the tables, and grant this role SELECT, INSERT, UPDATE and DELETE`) {
		t.Errorf("on an empty database: exit code %d: %s", code, refused.Output())
	}
	elsewhere := t.TempDir()
	migrate := Start(t, []string{"PENSTOCK_DATA=" + elsewhere, "PENSTOCK_DATABASE_URL=" + owner}, "db", "migrate")
	if code := migrate.Exit(); code != 0 {
		t.Fatalf("db migrate: exit code %d: %s", code, migrate.Output())
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("db migrate left %v in the data directory, %v: the keys of the servers are not its concern", left, err)
	}
	execute(t, owner, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	s := Dev(t, t.TempDir(), "PENSTOCK_DATABASE_URL="+rows)
	a := s.Do(post("/v1/jobs", `{"model":"sim","inputs":["one","two"]}`, "Prefer", "wait=20"))
	if a.Status != http.StatusOK || !strings.Contains(a.Body, `"succeeded":2`) {
		t.Errorf("a job: %d %s", a.Status, a.Body)
	}
	if a := s.Do(post("/v1/chat/completions", ask("Hi", `"model":"sim"`))); a.Status != http.StatusOK {
		t.Errorf("a call: %d %s", a.Status, a.Body)
	}
	if a := s.Do(post("/v1/responses", `{"model":"sim","input":"Hi"}`)); a.Status != http.StatusOK {
		t.Errorf("a response: %d %s", a.Status, a.Body)
	}
	for line := range strings.Lines(s.Output()) {
		if strings.Contains(line, "permission denied") {
			t.Errorf("the server logged %s", line)
		}
	}
}
