package pgtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var errNotInstalled = errors.New("PostgreSQL is not installed: install its server " +
	"(Debian and Ubuntu: postgresql, Fedora: postgresql-server, Homebrew: postgresql) " +
	"or set " + EnvURL + " to a server that these tests may create databases in")

// findPrograms returns the first of dirs that holds PostgreSQL's server programs.
func findPrograms(dirs []string) (string, error) {
	for _, dir := range dirs {
		if holdsPrograms(dir) {
			return dir, nil
		}
	}
	return "", errNotInstalled
}

// programDirs lists where PostgreSQL may be, best first. Many systems keep the server out of PATH, so
// that several versions can be installed at once; the newest of those wins.
func programDirs() []string {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
	} {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern
		slices.SortFunc(found, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
		dirs = append(dirs, found...)
	}
	return dirs
}

// majorVersion reads the version out of a path such as /usr/lib/postgresql/15/bin or
// /opt/homebrew/opt/postgresql@15/bin; 0 when there is none.
func majorVersion(binDir string) int {
	name := filepath.Base(filepath.Dir(binDir))
	digits := strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz@-")
	major, _, _ := strings.Cut(digits, ".")
	n, _ := strconv.Atoi(major)
	return n
}

// holdsPrograms reports whether a server can be started from dir. pg_config may name a directory that
// has only clients.
func holdsPrograms(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}
