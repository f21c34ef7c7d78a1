package pgtest

import (
	"bufio"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestURLGivesEmptyDatabasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	first, second := connect(t, URL(t)), connect(t, URL(t))

	if _, err := first.Exec(t.Context(), "CREATE TABLE mine (n int)"); err != nil {
		t.Fatal(err)
	}
	const question = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
	if n := one[int](t, first, question); n != 1 {
		t.Errorf("first database has %d tables, want 1", n)
	}
	if n := one[int](t, second, question); n != 0 {
		t.Errorf("second database has %d tables, want 0: it is not empty, or not separate", n)
	}
	if encoding := one[string](t, second, "SHOW server_encoding"); encoding != "UTF8" {
		t.Errorf("encoding is %s, want UTF8", encoding)
	}
}

func TestURLDropsTheDatabaseWithTheTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("user", func(inner *testing.T) {
		u, err := url.Parse(URL(inner))
		if err != nil {
			inner.Fatal(err)
		}
		name = strings.TrimPrefix(u.Path, "/")
		connect(t, u.String()) // left open past the end of the inner test
	})
	if name == "" {
		t.Skip("PostgreSQL is not installed")
	}
	other := connect(t, URL(t))
	if n := one[int](t, other, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); n != 0 {
		t.Errorf("database %s is still there after its test", name)
	}
}

// TestServerDiesWithItsProcess kills a test process that has started a server of its own and never
// gets to clean up.
func TestServerDiesWithItsProcess(t *testing.T) {
	if os.Getenv(EnvURL) != "" {
		t.Skip("the server is not ours")
	}
	t.Parallel()
	if _, err := findPrograms(programDirs()); err != nil {
		URL(t) // skips or fails, as configured
	}
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), envVictim+"=1")
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := victim.StdinPipe() // held open: the victim waits on it
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	dir := victimDir(t, bufio.NewScanner(stdout))
	if _, err := os.Stat(filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
		t.Fatalf("the server of the other process is not up: %v", err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	victim.Wait() // reports the kill

	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s is still there 30 s after its process was killed", dir)
		}
	}
}

const envVictim = "PENSTOCK_PGTEST_VICTIM"

// TestVictim is the other process of TestServerDiesWithItsProcess.
func TestVictim(t *testing.T) {
	if os.Getenv(envVictim) == "" {
		t.Skip("runs only as a child of TestServerDiesWithItsProcess")
	}
	os.Stdout.WriteString("\nurl " + URL(t) + "\n")
	os.Stdin.Read(make([]byte, 1))
}

func victimDir(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "url "); ok {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			return u.Query().Get("host")
		}
	}
	t.Fatal("the other process ended without naming its server")
	return ""
}

func TestFindProgramsPassesOverClients(t *testing.T) {
	t.Parallel()
	clients, server := t.TempDir(), t.TempDir()
	for _, path := range []string{
		filepath.Join(clients, "initdb"), filepath.Join(server, "initdb"), filepath.Join(server, "postgres"),
	} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findPrograms([]string{clients, server}); err != nil || got != server {
		t.Errorf("found %q, %v; want %q", got, err, server)
	}
	if _, err := findPrograms([]string{clients}); !errors.Is(err, errNotInstalled) {
		t.Errorf("without a server: %v, want %v", err, errNotInstalled)
	}
}

func TestMajorVersion(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]int{
		"/usr/lib/postgresql/15/bin":          15,
		"/usr/lib/postgresql/9.6/bin":         9,
		"/usr/pgsql-16/bin":                   16,
		"/opt/homebrew/opt/postgresql@17/bin": 17,
		"/opt/homebrew/opt/postgresql/bin":    0,
	} {
		if got := majorVersion(dir); got != want {
			t.Errorf("majorVersion(%q) = %d, want %d", dir, got, want)
		}
	}
}

func TestGivenServerURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"postgres://u:p@h:5432/postgres", "postgresql:///postgres?host=/run"} {
		if _, err := parseServerURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"host=/run user=postgres", "http://h/", "postgres://u:sec%ret@h/"} {
		if _, err := parseServerURL(bad); err == nil {
			t.Errorf("%s: accepted", bad)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: the error shows the password: %v", bad, err)
		}
	}
}

func connect(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func one[T any](t *testing.T, conn *pgx.Conn, question string) T {
	t.Helper()
	var answer T
	if err := conn.QueryRow(t.Context(), question).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
