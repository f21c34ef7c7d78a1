package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// harness is where a test types commands.
type harness struct {
	t        *testing.T
	env      map[string]string
	stdin    string
	terminal bool
	hangups  chan struct{}
}

const (
	testKey      = "psk_test_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	testAdminKey = "psk_test_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"
)

// testNow is what the clock says at every harness.
var testNow = time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)

func newHarness(t *testing.T) *harness {
	return &harness{t: t, hangups: make(chan struct{}), env: map[string]string{
		"PENSTOCK_API_KEY": testKey, "PENSTOCK_ADMIN_KEY": testAdminKey, "PENSTOCK_DATA": filepath.Join(t.TempDir(), "data"),
	}}
}

// at returns a harness whose server is a fake.
func at(t *testing.T, fake http.Handler) *harness {
	t.Helper()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	d := newHarness(t)
	d.env["PENSTOCK_URL"] = server.URL
	return d
}

func (d *harness) shell(stdout, stderr io.Writer) *shell {
	return &shell{
		stdin: strings.NewReader(d.stdin), stdout: stdout, stderr: stderr, terminal: d.terminal,
		env:     func(name string) (string, bool) { v, ok := d.env[name]; return v, ok },
		hangups: func() <-chan struct{} { return d.hangups },
		now:     func() time.Time { return testNow },
	}
}

// typed is what a command answered.
type typed struct {
	stdout, stderr string
	code           int
}

func (d *harness) run(args ...string) typed {
	d.t.Helper()
	return d.runWith(d.t.Context(), args...)
}

func (d *harness) runWith(ctx context.Context, args ...string) typed {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	code := d.shell(&stdout, &stderr).execute(ctx, args)
	return typed{stdout.String(), stderr.String(), code}
}

// ok runs a command that must succeed without complaint and returns what it printed.
func (d *harness) ok(args ...string) string {
	d.t.Helper()
	got := d.run(args...)
	if got.code != exitOK || got.stderr != "" {
		d.t.Fatalf("penstock %s: exit code %d, stderr: %s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got.stdout
}

// log is what a running command writes to stderr, which can be read meanwhile.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// running is a command that runs until it is told to stop.
type running struct {
	t      *testing.T
	lines  *bufio.Reader // its stdout
	log    *log
	result func() (code int, stderr string)
}

// starts runs a command that serves.
func (d *harness) starts(args ...string) *running {
	d.t.Helper()
	ctx, stop := context.WithCancel(d.t.Context())
	out, in := io.Pipe()
	stderr := new(log)
	code := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		code = d.shell(in, stderr).execute(ctx, args)
		in.Close()
	}()
	r := &running{t: d.t, lines: bufio.NewReader(out), log: stderr, result: sync.OnceValues(func() (int, string) {
		stop()
		go func() { _, _ = io.Copy(io.Discard, out) }() // so that nothing it still says holds it up
		<-done
		return code, stderr.String()
	})}
	d.t.Cleanup(func() { r.result() })
	return r
}

// line is the next line that it prints.
func (r *running) line() string {
	r.t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		_, stderr := r.result()
		r.t.Fatalf("it printed nothing: %v; stderr: %s", err, stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

// write puts a file into a directory of the test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// check compares what a command answered.
func check(t *testing.T, got, want typed) {
	t.Helper()
	if got.code != want.code {
		t.Errorf("exit code %d, want %d", got.code, want.code)
	}
	if got.stdout != want.stdout {
		t.Errorf("stdout:\n%s\nwant:\n%s", got.stdout, want.stdout)
	}
	if got.stderr != want.stderr {
		t.Errorf("stderr:\n%s\nwant:\n%s", got.stderr, want.stderr)
	}
}
