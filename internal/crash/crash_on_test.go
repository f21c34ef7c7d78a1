//go:build crashtest

package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A process dies at one point only, so that the points are passed in a process of their own: the
// test's own binary; this variable says how often to pass each of two points.
const victim = "PENSTOCK_CRASH_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victim) == "" {
		os.Exit(m.Run())
	}
	for pass := range 3 {
		fmt.Println("before", pass+1)
		Point("here")
		Point("elsewhere")
		fmt.Println("after", pass+1)
	}
}

// run passes the points under a plan. It returns the last line that was printed, and whether the
// process was killed.
func run(t *testing.T, plan string) (last string, killed bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), victim+"=yes", "PENSTOCK_CRASH="+plan)
	out, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if err != nil && !failed {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], failed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

func TestPointKillsAtItsPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plan, last string
		killed     bool
	}{
		{"", "after 3", false},
		{"nowhere", "after 3", false},
		{"here", "before 1", true},
		{"here:1", "before 1", true},
		{"here:3", "before 3", true},
		{"elsewhere:2", "before 2", true},
		{"here:4", "after 3", false},
	} {
		if last, killed := run(t, tt.plan); last != tt.last || killed != tt.killed {
			t.Errorf("%q: killed %v after %q, want %v after %q", tt.plan, killed, last, tt.killed, tt.last)
		}
	}
}
