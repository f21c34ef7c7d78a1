// Package pgtest gives tests fresh PostgreSQL databases.
//
// It owns a temporary server, started from the machine's own PostgreSQL the first time that a test of
// this process asks for a database, and the databases in it. It knows nothing of Penstock's schema.
// Set PENSTOCK_TEST_POSTGRES_URL to use a server that is already there.
//
// The temporary server lives in one directory and listens on a unix socket only. It trades durability
// for speed, and it cannot outlive the test process, however that ends: see [Main].
//
// All functions are safe for concurrent use.
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// The environment variables that tests of this package read.
const (
	// EnvURL names a server to create databases in, as a postgres:// URL of a role that may do so.
	EnvURL = "PENSTOCK_TEST_POSTGRES_URL"
	// EnvRequire makes it a failure, when set to 1, that PostgreSQL is not installed. Without it such
	// tests are skipped, which suits a quick run on a laptop but would hide half the suite in CI.
	EnvRequire = "PENSTOCK_REQUIRE_POSTGRES"
)

// adminTimeout bounds the creation or removal of one database.
const adminTimeout = 30 * time.Second

// URL returns the URL of an empty database that is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	server, err := shared.url()
	switch {
	case errors.Is(err, errNotInstalled) && os.Getenv(EnvRequire) != "1":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}

	name := "penstock_" + strings.ToLower(rand.Text())
	// template0, because template1 cannot be copied while anyone is connected to it. Encoding and
	// locale are named so that a server from EnvURL gives the same databases as our own.
	create := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
	if err := administer(server, create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// FORCE: a test that failed may have left connections open, and they must not keep its data.
		if err := administer(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	database := *server
	database.Path = "/" + name
	return database.String()
}

// Main runs the tests of a package and then waits until the temporary server is gone:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// Without it, or when the process is killed, the server notices and goes by itself, but nobody waits
// for that.
func Main(m *testing.M) int {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// administer runs one statement on a connection of its own: t.Context is over when cleanups run, and
// CREATE and DROP DATABASE are no part of any transaction.
func administer(server *url.URL, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.String())
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
