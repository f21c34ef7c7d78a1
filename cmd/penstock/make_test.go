package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// makeRun runs "make run" with a go command of the test.
func makeRun(t *testing.T, goCommand, bin string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--no-print-directory", "run", "GO="+goCommand, "BIN="+bin).CombinedOutput()
	return string(out), err
}

// Without Go, make run says how to get it. With Go it shows progress before the server, and the errors of a build.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "penstock")
	if out, err := makeRun(t, filepath.Join(dir, "go"), bin); err == nil || !strings.Contains(out, "https://go.dev/dl/") {
		t.Errorf("without Go: %v: %s", err, out)
	}
	fake := func(name, version, build string) string {
		path := filepath.Join(dir, name)
		script := "#!/bin/sh\nif [ \"$1\" = env ]; then echo " + version + "; exit 0; fi\n" + build + "\n"
		if err := writeExecutable(path, script); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if out, err := makeRun(t, fake("old", "go1.19.3", ""), bin); err == nil || !strings.Contains(out, "is version 1.19.3") || !strings.Contains(out, "https://go.dev/dl/") {
		t.Errorf("with an old Go: %v: %s", err, out)
	}
	out, err := makeRun(t, fake("broken", "go1.26.0", "echo './x.go:1:1: undefined: y' >&2; exit 1"), bin)
	if err == nil || !strings.Contains(out, "Building Penstock. The first build") || !strings.Contains(out, "undefined: y") {
		t.Errorf("with an error: %v: %s", err, out)
	}
	good := fake("good", "go1.26.0", `echo 'go: downloading example.com/x v1.0.0' >&2
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26; do echo "some/package$i" >&2; done
printf '#!/bin/sh\necho "runs $1"\n' > "`+bin+`"; chmod +x "`+bin+`"`)
	if out, err = makeRun(t, good, bin); err != nil || !strings.Contains(out, "  downloading example.com/x v1.0.0\n") || !strings.Contains(out, "  25 packages compiled\n") || !strings.HasSuffix(out, "runs dev\n") {
		t.Errorf("with Go: %v: %s", err, out)
	}
	if !strings.HasPrefix(out, "Building Penstock") {
		t.Errorf("the first line is not the progress: %s", out)
	}
}

// The first line is there before anything is compiled or fetched: the build of this test does not begin before the line was read, and
// the question for the version may not fetch another version of Go.
func TestMakeRunShowsProgressBeforeTheBuild(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	dir := t.TempDir()
	goCommand, bin, gate := filepath.Join(dir, "go"), filepath.Join(dir, "penstock"), filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `#!/bin/sh
if [ "$1" = env ]; then
	[ "$GOTOOLCHAIN" = local ] && [ ! -e go.mod ] || { echo "fetches another Go" >&2; exit 1; }
	echo go1.26.0; exit 0
fi
read line < "` + gate + `"
printf '#!/bin/sh\necho "runs $1"\n' > "` + bin + `"; chmod +x "` + bin + `"
`
	if err := writeExecutable(goCommand, script); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	run := exec.CommandContext(ctx, "make", "-C", "../..", "--no-print-directory", "run", "GO="+goCommand, "BIN="+bin)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "Building Penstock.") {
		t.Errorf("the first line is %q", lines.Text())
	}
	open, err := os.OpenFile(gate, os.O_RDWR, 0) // never waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := open.WriteString("build\n"); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if err := run.Wait(); err != nil || last != "runs dev" {
		t.Errorf("%v: the last line is %q", err, last)
	}
}

func writeExecutable(path, text string) error { return os.WriteFile(path, []byte(text), 0o755) }
