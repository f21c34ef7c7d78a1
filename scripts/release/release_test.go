package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// repository makes a repository with one commit, with a small program in the place of Penstock's.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":      "module example.test/small\n\ngo 1.26\n",
		"cmd/main.go": "package main\n\nimport \"runtime\"\n\nfunc main() { _, file, _, _ := runtime.Caller(0); println(file) }\n",
	}
	for from := range extras {
		files[from] = "the text of " + from + "\n"
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "one"}} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.test"}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return root
}

func released(t *testing.T, root string) map[string][]byte {
	t.Helper()
	r := release{version: "1.2.3", pkg: "./cmd", root: root, out: filepath.Join(t.TempDir(), "dist")}
	if err := r.run(t.Context(), []platform{{runtime.GOOS, runtime.GOARCH}}); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(r.out, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Anyone can build a release again, in any directory, and gets the same bytes.
func TestReleaseIsReproducible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds programs")
	}
	first, second := released(t, repository(t)), released(t, repository(t))
	base := "penstock_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH
	want := []string{"checksums.txt", base + ".cdx.json", base + ".tar.gz"}
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, want) {
		t.Fatalf("the files are %q, want %q", got, want)
	}
	for name, text := range first {
		if !bytes.Equal(text, second[name]) {
			t.Errorf("%s differs between two builds of one commit", name)
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name); name != "checksums.txt" && !strings.Contains(string(first["checksums.txt"]), line) {
			t.Errorf("checksums.txt has no line %q", line)
		}
	}
	inside := unpack(t, first[base+".tar.gz"])
	names := slices.Sorted(maps.Keys(inside))
	if want := []string{"LICENSE", "README.md", "THIRD_PARTY_LICENCES.txt", "penstock", "penstock.service", "penstock.yaml"}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	for name, header := range inside {
		if wantTime := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); !header.ModTime.Equal(wantTime) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s is of %s and owned by %d %q, want the time of the commit and no owner", name, header.ModTime, header.Uid, header.Uname)
		}
		if wantMode := map[bool]int64{true: 0o755, false: 0o644}[name == "penstock"]; header.Mode != wantMode {
			t.Errorf("%s has the mode %o, want %o", name, header.Mode, wantMode)
		}
	}
}

func unpack(t *testing.T, archive []byte) map[string]*tar.Header {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]*tar.Header{}
	for files := tar.NewReader(zip); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return headers
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		headers[name] = h
	}
}

func TestReleaseRefusesChangedSource(t *testing.T) {
	t.Parallel()
	root := repository(t)
	if err := os.WriteFile(filepath.Join(root, "LICENSE"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := release{version: "1.2.3", pkg: "./cmd", root: root, out: t.TempDir()}
	if err := r.run(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "LICENSE") {
		t.Errorf("a changed file: %v, want an error that names it", err)
	}
	r.dirty, r.out = true, root // which has files
	if err := r.run(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "has files already") {
		t.Errorf("a directory with files: %v, want an error", err)
	}
}

func TestBillNamesEveryModule(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{
		GoVersion: "go1.26.1", Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}},
		Deps: []*debug.Module{
			{Path: "example.test/a/v2", Version: "v2.0.1+incompatible", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{Path: "example.test/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.test/new", Version: "v1.1.0"}},
		},
	}
	r := release{version: "1.2.3", time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b, err := r.bill(sha256.Sum256([]byte("program")), info)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/bill.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("the bill is\n%s\nwant\n%s", got, want)
	}
	info.Deps[0].Sum = "h2:AAAA"
	if _, err := r.bill([sha256.Size]byte{}, info); err == nil {
		t.Error("a checksum of an unknown kind was accepted")
	}
}
