package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Same reports whether two directories lie on one file system.
func Same(a, b string) bool {
	var one, other syscall.Stat_t
	return syscall.Stat(a, &one) == nil && syscall.Stat(b, &other) == nil && one.Dev == other.Dev
}

// Lock locks a data directory for this process. The lock ends with the process, however it ends.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("the data directory %s is in use by another penstock process; "+
			"stop that one, or set PENSTOCK_DATA to another directory", path), f.Close())
	}
	return f, nil
}
