package supervise

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The test's own binary is the child, and a parent that is killed: this variable says which.
const role = "PENSTOCK_SUPERVISE_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "child":
		fmt.Fprintln(os.Stderr, Serve(handle))
		os.Exit(1)
	case "mute":
		select {} // it is never ready
	case "liar":
		_ = writeFrame(os.NewFile(outputFile, "frames"), frameAnswer)
		select {}
	case "parent":
		os.Exit(parent())
	}
	os.Exit(m.Run())
}

// handle runs the tasks of the tests.
func handle(ctx context.Context, task []byte, say func([]byte) error) ([]byte, error) {
	verb, rest, _ := strings.Cut(string(task), " ")
	switch verb {
	case "echo":
		return []byte(rest), nil
	case "say":
		for i := range 3 {
			if err := say([]byte(strconv.Itoa(i))); err != nil {
				return nil, err
			}
		}
		return []byte("said"), nil
	case "pid":
		return []byte(strconv.Itoa(os.Getpid())), nil
	case "score":
		return os.ReadFile("/proc/self/oom_score_adj")
	case "fail":
		return nil, errors.New("it failed")
	case "wait":
		<-ctx.Done()
		return []byte(ctx.Err().Error()), nil
	case "stubborn":
		_ = say([]byte("begun"))
		select {}
	case "recurse":
		fmt.Fprintln(os.Stderr, "here it comes")
		debug.SetMaxStack(1 << 20)
		return []byte(strconv.Itoa(recurse(0))), nil
	case "panic":
		panic("no")
	case "kill":
		_ = say([]byte("begun"))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "close":
		_ = os.NewFile(outputFile, "frames").Close()
		select {}
	case "huge":
		var header [frameHeader]byte
		header[0] = byte(frameAnswer)
		binary.BigEndian.PutUint32(header[1:], 1<<31)
		_, _ = os.NewFile(outputFile, "frames").Write(header[:])
		select {}
	}
	return nil, fmt.Errorf("what is %q?", verb)
}

// recurse overflows the stack, as a bug in a parser would.
//
//lint:ignore SA5007 the child process of the test must die by it
func recurse(n int) int { return recurse(n+1) + n }

type deaths struct {
	mu    sync.Mutex
	count int
}

func (d *deaths) died(*Death) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
}

func (d *deaths) seen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

func start(t *testing.T, as string, change func(*Config)) (*Pool, *deaths) {
	t.Helper()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	seen := &deaths{}
	cfg := Config{Command: []string{self}, Env: []string{role + "=" + as}, Children: 1, Watch: Watch{Died: seen.died}}
	if change != nil {
		change(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return p, seen
}

func (p *Pool) must(t *testing.T, task string) string {
	t.Helper()
	answer, err := p.Do(t.Context(), Task{Body: []byte(task)})
	if err != nil {
		t.Fatalf("%s: %v", task, err)
	}
	return string(answer)
}

func TestTasksAreAnswered(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "child", nil)
	if got := p.must(t, "echo hello"); got != "hello" {
		t.Errorf("answered %q", got)
	}
	first := p.must(t, "pid")
	if again := p.must(t, "pid"); again != first {
		t.Errorf("the child was replaced for no reason: %s, then %s", first, again)
	}
	var heard []string
	if _, err := p.Do(t.Context(), Task{Body: []byte("say"), Heard: func(m []byte) { heard = append(heard, string(m)) }}); err != nil || strings.Join(heard, "") != "012" {
		t.Errorf("heard %q, %v", heard, err)
	}
	_, err := p.Do(t.Context(), Task{Body: []byte("fail")})
	if failed := (*TaskError)(nil); !errors.As(err, &failed) || failed.Message != "it failed" {
		t.Errorf("a task that fails: %v", err)
	}
	if again := p.must(t, "pid"); again != first {
		t.Error("a task that failed cost the child its life")
	}
	if got := strings.TrimSpace(p.must(t, "score")); got != "1000" {
		t.Errorf("the kernel ends the child at a score of %q, want 1000", got)
	}
	fresh, err := p.Do(t.Context(), Task{Body: []byte("pid"), Fresh: true})
	if err != nil || string(fresh) == first {
		t.Errorf("a fresh child is %s, %v; the old one was %s", fresh, err, first)
	}
}

func TestLargeTasks(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "child", nil)
	large := bytes.Repeat([]byte("x"), 20<<20)
	answer, err := p.Do(t.Context(), Task{Body: append([]byte("echo "), large...)})
	if err != nil || !bytes.Equal(answer, large) {
		t.Errorf("%d bytes came back, %v", len(answer), err)
	}
	if _, err := p.Do(t.Context(), Task{Body: make([]byte, DefaultMaxFrameBytes)}); !errors.Is(err, ErrProtocol) {
		t.Errorf("a task that is too large: %v", err)
	}
}

func TestDeathsAreReported(t *testing.T) {
	t.Parallel()
	for task, status := range map[string]string{"recurse": "exit status 2", "panic": "exit status 2", "kill": "signal: killed"} {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			p, seen := start(t, "child", nil)
			p.must(t, "echo a")
			var heard int
			_, err := p.Do(t.Context(), Task{Body: []byte(task), Heard: func([]byte) { heard++ }})
			death := (*Death)(nil)
			if !errors.As(err, &death) || death.Status != status || death.Tasks != 1 {
				t.Fatalf("%v, want a death by %s after one task", err, status)
			}
			if task == "recurse" && (!strings.Contains(death.Stderr, "here it comes") || !strings.Contains(death.Stderr, "stack") || len(death.Stderr) > MaxStderrBytes+100) {
				t.Errorf("kept %d bytes of stderr: %s", len(death.Stderr), death.Stderr)
			}
			if task == "kill" && heard != 1 {
				t.Error("what it said before its death is lost")
			}
			if got := p.must(t, "echo b"); got != "b" || seen.seen() != 1 {
				t.Errorf("the next child answers %q; %d deaths were seen", got, seen.seen())
			}
		})
	}
}

func TestStopsOnPurposeAreNoDeaths(t *testing.T) {
	t.Parallel()
	p, seen := start(t, "child", func(c *Config) { c.StopGrace = 50 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	_, err := p.Do(ctx, Task{Body: []byte("stubborn"), Heard: func([]byte) { cancel() }})
	if !errors.Is(err, ErrStopped) {
		t.Errorf("a task that does not end: %v", err)
	}
	soon, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	answer, err := p.Do(soon, Task{Body: []byte("wait")})
	if err != nil && !errors.Is(err, ErrStopped) || err == nil && string(answer) != context.DeadlineExceeded.Error() {
		t.Errorf("a task past its deadline: %q, %v", answer, err)
	}
	if got := p.must(t, "echo on"); got != "on" || seen.seen() != 0 {
		t.Errorf("then %q; %d deaths were seen, want none", got, seen.seen())
	}
}

func TestCancelReachesTheTask(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "child", func(c *Config) { c.StopGrace = 20 * time.Second })
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 { // a cancel never overtakes its task, which would run until its child is killed
		p.must(t, "echo warm")
		if answer, err := p.Do(cancelled, Task{Body: []byte("wait")}); err == nil && string(answer) != context.Canceled.Error() ||
			err != nil && !strings.Contains(err.Error(), "before it had the task") {
			t.Fatalf("%q, %v", answer, err)
		}
	}
	for range 20 { // a stale cancel never hits the next task
		if got := p.must(t, "echo next"); got != "next" {
			t.Fatalf("answered %q", got)
		}
	}
}

func TestBrokenChildrenAreNoDeaths(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"huge", "close"} {
		p, seen := start(t, "child", nil)
		_, err := p.Do(t.Context(), Task{Body: []byte(task)})
		if death := (*Death)(nil); err == nil || errors.As(err, &death) || seen.seen() != 0 {
			t.Errorf("%s: %v, %d deaths", task, err, seen.seen())
		}
		if got := p.must(t, "echo on"); got != "on" {
			t.Errorf("%s: then %q", task, got)
		}
	}
}

func TestChildrenThatDoNotStart(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"missing": func(c *Config) { c.Command = []string{filepath.Join(t.TempDir(), "nothing")} },
		"mute":    func(c *Config) { c.StartTimeout = 50 * time.Millisecond },
		"liar":    nil,
		"exits":   func(c *Config) { c.Command = []string{"/bin/false"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, seen := start(t, name, change)
			for range 2 {
				if _, err := p.Do(t.Context(), Task{Body: []byte("echo a")}); !errors.Is(err, ErrNotStarted) {
					t.Errorf("%v, want that it did not start", err)
				}
			}
			if seen.seen() != 0 {
				t.Errorf("%d deaths were seen, want none: nothing was run", seen.seen())
			}
		})
	}
}

// A signal that a terminal or a service manager sends to everybody does not end a child.
func TestSignalsForTheParentAreIgnored(t *testing.T) {
	t.Parallel()
	p, seen := start(t, "child", nil)
	pid, err := strconv.Atoi(p.must(t, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	if again := p.must(t, "pid"); again != strconv.Itoa(pid) || seen.seen() != 0 {
		t.Errorf("the child is %s, it was %d; %d deaths", again, pid, seen.seen())
	}
}

func TestPoolIsBounded(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "child", func(c *Config) { c.Children = 2 })
	var running sync.WaitGroup
	pids := make(chan string, 20)
	for range 20 {
		running.Go(func() {
			answer, err := p.Do(t.Context(), Task{Body: []byte("pid")})
			if err != nil {
				t.Error(err)
			}
			pids <- string(answer)
		})
	}
	running.Wait()
	close(pids)
	seen := map[string]bool{}
	for pid := range pids {
		seen[pid] = true
	}
	if len(seen) > 2 || p.Running() != 0 {
		t.Errorf("%d children for 2 slots, %d still run", len(seen), p.Running())
	}
}

// parent starts a child with a task that never ends, prints its id and waits to be killed.
func parent() int {
	self, _ := Self()
	p, err := New(Config{Command: []string{self}, Env: []string{role + "=child"}, Children: 1})
	if err != nil {
		return 1
	}
	go func() { _ = p.Run(context.Background()) }()
	pid, err := p.Do(context.Background(), Task{Body: []byte("pid")})
	if err != nil {
		return 1
	}
	_, _ = p.Do(context.Background(), Task{Body: []byte("stubborn"), Heard: func([]byte) { fmt.Printf("%s\n", pid) }})
	return 1
}

func TestChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = []string{role + "=parent"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(10 * time.Second)
	for alive(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("child %d outlives its parent", pid)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// alive says whether a process runs; one that nobody has waited for yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z' && after[0] != 'X'
}

func TestFramesSurviveThePipe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 5000), 0, 3).Draw(t, "parts")
		kind := frameKind(rapid.Byte().Draw(t, "kind"))
		var pipe bytes.Buffer
		if err := writeFrame(&pipe, kind, parts...); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Join(parts, nil)
		limit := rapid.IntRange(0, 20_000).Draw(t, "limit")
		cut := rapid.IntRange(0, pipe.Len()).Draw(t, "cut")
		text := bytes.Clone(pipe.Bytes())
		got, body, err := readFrame(&pipe, limit)
		switch {
		case len(whole) > limit:
			if !errors.Is(err, ErrProtocol) {
				t.Fatalf("%d bytes past a limit of %d: %v", len(whole), limit, err)
			}
		case err != nil || got != kind || !bytes.Equal(body, whole) || pipe.Len() != 0:
			t.Fatalf("read %q %d bytes, %v; %d are left", got, len(body), err, pipe.Len())
		}
		if _, _, err := readFrame(bytes.NewReader(text[:cut]), len(text)); (cut < len(text)) != (err != nil) {
			t.Fatalf("a frame cut to %d of %d bytes: %v", cut, len(text), err)
		}
	})
}

func TestPrintedIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all bytes.Buffer
		s := &printed{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 6000), 1, 8).Draw(t, "writes") {
			text := bytes.Repeat([]byte{byte('a' + n%26)}, n)
			all.Write(text)
			if wrote, err := s.Write(text); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
		}
		if all.Len() <= MaxStderrBytes && s.String() != all.String() {
			t.Fatalf("%d bytes are kept as %d", all.Len(), len(s.String()))
		}
		if len(s.head)+len(s.tail)+s.left != all.Len() || !bytes.HasPrefix(all.Bytes(), s.head) || !bytes.HasSuffix(all.Bytes(), s.tail) {
			t.Fatalf("head %d, tail %d, left %d of %d", len(s.head), len(s.tail), s.left, all.Len())
		}
	})
}

var _ io.Writer = (*printed)(nil)
