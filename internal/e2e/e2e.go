// Package e2e drives the real binary: it starts it, talks to it over HTTP as users do, kills it, and
// starts it again. It holds the harness; the tests beside it hold what Penstock promises as a whole.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Key is the API key that every started server knows. It has all scopes.
const Key = "psk_e2e_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// AdminKey is the key that the admin listener of every started server knows. Calls below /admin/ are made with it.
const AdminKey = "psk_e2e_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// patience is how long anything may take that should happen soon, on a machine that is busy.
const patience = 30 * time.Second

// build makes the binary once for all tests. Its crash points are armed by PENSTOCK_CRASH alone.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "penstock-e2e-")
	if err != nil {
		return "", err
	}
	built.Store(&dir)
	path := filepath.Join(dir, "penstock")
	out, err := exec.Command("go", "build", "-tags", "crashtest", "-o", path, "penstock/cmd/penstock").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the binary: %w\n%s", err, out)
	}
	return path, nil
})

// built is the directory that build made.
var built atomic.Pointer[string]

// RemoveBinary cleans up after all tests.
func RemoveBinary() {
	if dir := built.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
}

// Binary returns the path of the binary.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Process is a started binary.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when it ended

	mu     sync.Mutex
	output bytes.Buffer
}

// Start runs the binary with arguments and extra environment. It is killed at the end of the test if
// it still runs.
func Start(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(Binary(t), args...), done: make(chan struct{})}
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	// A test that is killed must not leave servers behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is read from ProcessState
		close(p.done)
	}()
	t.Cleanup(p.Kill)
	return p
}

// cleanEnv is the environment without what would change a server's settings.
func cleanEnv() []string {
	var kept []string
	for _, v := range os.Environ() {
		ours := func(prefix string) bool { return strings.HasPrefix(v, prefix) }
		if !slices.ContainsFunc([]string{"PENSTOCK_", "OPENAI_", "ANTHROPIC_", "OLLAMA_"}, ours) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Write keeps what the process prints, for messages of failed tests.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

// Output is what the process has printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.done
}

// Stop asks the process to stop with SIGTERM and returns its exit code.
func (p *Process) Stop() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	return p.Exit()
}

// Exit waits for the process to end and returns its exit code, -1 if a signal ended it.
func (p *Process) Exit() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("the process did not end; it printed:\n%s", p.Output())
		return -1
	}
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.done }

// FreeAddress returns an address on loopback that nobody listens on, and that nobody else is given. Its port is below
// those that the system gives to connections and to whoever asks for any: one of these could be taken again before it
// is used.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, count = 10_000, 20_000
	for range count {
		address := fmt.Sprintf("127.0.0.1:%d", first+nextPort.Add(1)%count)
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close() // it was only to see that it is free
			return address
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// nextPort numbers the ports that are given out. Tests of several packages, or runs, may give out some at a time.
var nextPort = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32())
	return &n
}()

// Await polls until check succeeds. It fails the test with check's last error when patience is over.
func Await(t testing.TB, what string, check func() error) {
	t.Helper()
	AwaitLong(t, what, patience, check)
}

// AwaitLong is Await for what takes its time.
func AwaitLong(t testing.TB, what string, most time.Duration, check func() error) {
	t.Helper()
	deadline := time.After(most)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("waiting for %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// Server is a Penstock server under test.
type Server struct {
	*Process
	URL string
}

// Dev starts `penstock dev` on a data directory and waits until it is ready.
func Dev(t testing.TB, data string, env ...string) *Server {
	t.Helper()
	address := FreeAddress(t)
	env = append([]string{"PENSTOCK_LISTEN=" + address, "PENSTOCK_DATA=" + data, "PENSTOCK_DEV_KEY=" + Key, "PENSTOCK_ADMIN_KEY=" + AdminKey}, env...)
	s := &Server{Process: Start(t, env, "dev"), URL: "http://" + address}
	s.AwaitReady()
	return s
}

// AwaitReady waits until the server answers that it is ready.
func (s *Server) AwaitReady() {
	s.t.Helper()
	Await(s.t, "the server", func() error {
		select {
		case <-s.done:
			s.t.Fatalf("the server ended; it printed:\n%s", s.Output())
		default:
		}
		resp, err := http.Get(s.URL + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", resp.Status)
		}
		return nil
	})
}

// Call is one HTTP call.
type Call struct {
	Method, Path string
	Body         string
	Header       map[string]string // Authorization is added unless it is there
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do makes a call and fails the test if it cannot be made at all.
func (s *Server) Do(c Call) Answer {
	s.t.Helper()
	a, err := s.Try(s.t.Context(), c)
	if err != nil {
		s.t.Fatalf("%s %s: %v", c.Method, c.Path, err)
	}
	return a
}

// Try makes a call to a server that may be dying.
func (s *Server) Try(ctx context.Context, c Call) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, c.Method, s.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+Key)
	if strings.HasPrefix(c.Path, "/admin/") {
		req.Header.Set("Authorization", "Bearer "+AdminKey)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(body)}, err
}
