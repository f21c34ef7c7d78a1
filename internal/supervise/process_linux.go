package supervise

import (
	"os"
	"syscall"
)

// attributes makes a child die with its parent, and keeps the terminal's signals from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// volunteer makes the kernel end this process first when memory runs out, and not its parent. Where that is not possible,
// nothing is lost but that.
func volunteer() { _ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) }

// Self is the path of the program that runs, also when its file was replaced meanwhile.
func Self() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil {
		return os.Executable()
	}
	return self, nil
}
