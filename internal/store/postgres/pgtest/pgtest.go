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
	"sync"
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
	server := serverOf(t)
	// template0, because template1 cannot be copied while anyone is connected to it.
	return fresh(t, server, "template0")
}

// Copy returns the URL of a copy of a database that prepare has filled. It prepares once for all tests of the process, so
// every call must give the same function, which leaves no connection open. The copy is dropped when the test ends.
func Copy(t testing.TB, prepare func(url string) error) string {
	t.Helper()
	server := serverOf(t)
	prepared.once.Do(func() {
		prepared.server, prepared.name = server, "penstock_"+strings.ToLower(rand.Text())
		if prepared.err = create(server, prepared.name, "template0"); prepared.err == nil {
			prepared.err = prepare(within(server, prepared.name))
		}
	})
	if prepared.err != nil {
		t.Fatal(prepared.err)
	}
	return fresh(t, server, prepared.name)
}

// prepared is the database that Copy copies.
var prepared struct {
	once   sync.Once
	server *url.URL
	name   string
	err    error
}

// serverOf returns the server of this process. Without one the test is skipped, or fails by EnvRequire.
func serverOf(t testing.TB) *url.URL {
	t.Helper()
	server, err := shared.url()
	switch {
	case errors.Is(err, errNotInstalled) && os.Getenv(EnvRequire) != "1":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return server
}

// fresh returns the URL of a new copy of a database, which is dropped when the test ends.
func fresh(t testing.TB, server *url.URL, template string) string {
	t.Helper()
	name := "penstock_" + strings.ToLower(rand.Text())
	if err := create(server, name, template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(server, name); err != nil {
			t.Error(err)
		}
	})
	return within(server, name)
}

// create makes a database. Encoding and locale are named so that a server from EnvURL gives the same databases as our own.
func create(server *url.URL, name, template string) error {
	return administer(server, "CREATE DATABASE "+name+" TEMPLATE "+template+" ENCODING 'UTF8' LOCALE 'C'")
}

// drop removes a database. FORCE: a test that failed may have left connections open, and they must not keep its data.
func drop(server *url.URL, name string) error {
	return administer(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

// within is the URL of a database of a server.
func within(server *url.URL, name string) string {
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
	var err error
	if prepared.name != "" {
		err = drop(prepared.server, prepared.name) // a server of EnvURL goes on
	}
	if err := errors.Join(err, shared.stop()); err != nil {
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
