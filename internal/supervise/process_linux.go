package supervise

import (
	"os"
	"syscall"
)

// attributes makes a child die with its parent, and keeps the terminal's signals from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// volunteer makes the kernel kill this process, not its parent, when memory runs out. Errors are ignored: the process
// works without this preference.
func volunteer() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// Self is the path of the running program, even if its file was replaced since the start.
func Self() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		return os.Executable()
	}
	return self, nil
}
