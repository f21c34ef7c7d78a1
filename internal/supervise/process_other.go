//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"
)

// attributes keeps the terminal's signals from a child. The end of its input tells it that its parent died.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func volunteer() {}

// Self is the path of the running program.
func Self() (string, error) { return os.Executable() }
