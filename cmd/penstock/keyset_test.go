package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeysetCreateAndImport(t *testing.T) {
	t.Parallel()
	d := newHarness(t)
	made, data, other := t.TempDir(), filepath.Join(t.TempDir(), "data"), t.TempDir()
	first := d.ok("keyset", "create", "--data", made)
	if again := d.ok("keyset", "create", "--data", made); again != first {
		t.Errorf("a second create changed the keyset: %s, was %s", again, first)
	}
	// A mounted secret is readable for a group.
	secret := filepath.Join(made, keysetFile)
	if err := os.Chmod(secret, 0o440); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a container that restarts imports again
		d.ok("keyset", "import", secret, "--data", data)
	}
	info, err := os.Stat(filepath.Join(data, keysetFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the imported keyset: %v, %v; want mode 0600", info, err)
	}
	if !sameText(t, secret, filepath.Join(data, keysetFile)) {
		t.Error("the imported keyset has other keys")
	}

	d.ok("keyset", "create", "--data", other)
	got := d.run("keyset", "import", filepath.Join(other, keysetFile), "--data", data)
	if got.code != exitError || !strings.Contains(got.stderr, "has keys that") {
		t.Errorf("the keyset of another database: exit code %d, stderr: %s", got.code, got.stderr)
	}
	if !sameText(t, secret, filepath.Join(data, keysetFile)) {
		t.Error("a refused import changed the keyset")
	}
	bad := write(t, "keyset.json", "{}")
	if got := d.run("keyset", "import", bad, "--data", t.TempDir()); got.code != exitError || !strings.Contains(got.stderr, "damaged") {
		t.Errorf("a file that is no keyset: exit code %d, stderr: %s", got.code, got.stderr)
	}
}

func sameText(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}
