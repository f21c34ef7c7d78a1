//go:build crashtest

package crash

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// plan is read once: a process crashes at one point in its life.
var plan = sync.OnceValues(func() (string, *atomic.Int64) {
	point, pass, _ := strings.Cut(os.Getenv("PENSTOCK_CRASH"), ":")
	left := new(atomic.Int64)
	left.Store(1)
	if n, err := strconv.ParseInt(pass, 10, 64); err == nil {
		left.Store(n)
	}
	return point, left
})

// Point kills the process if this is the moment that was asked for.
func Point(name string) {
	point, left := plan()
	if name != point || left.Add(-1) != 0 {
		return
	}
	fmt.Fprintf(os.Stderr, "crash point %s reached\n", name)
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // nothing after the point may run
}

// Body overflows the stack if a body says so: the runtime ends the process, as it does for other defects that are beyond
// recovery.
func Body(body []byte) {
	if bytes.Contains(body, []byte(DeadlyBody)) {
		debug.SetMaxStack(4 << 20)
		overflow(body)
	}
}

func overflow(body []byte) int { return overflow(body) + len(body) }
