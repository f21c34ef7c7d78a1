// Package process runs the servers that are measured, each as a process of its own.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a server under measurement.
type Process struct {
	Name    string
	Address string // host and port that calls go to
	Admin   string // those of the admin API, "" for none
	cmd     *exec.Cmd
}

// Start runs a command whose first line of output holds the URLs that it serves.
func Start(name string, cmd *exec.Cmd) (*Process, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Name: name, cmd: cmd}
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, in) }() // ends with the process
	addresses := urlHosts.FindAllStringSubmatch(line, 2)
	if len(addresses) == 0 {
		p.Stop()
		return nil, fmt.Errorf("%s said %q instead of where it listens: %w", name, line, err)
	}
	p.Address = addresses[0][1]
	if len(addresses) > 1 {
		p.Admin = addresses[1][1]
	}
	return p, nil
}

// urlHosts finds the hosts and ports of URLs.
var urlHosts = regexp.MustCompile(`https?://([^/\s,]+)`)

// Stop ends the process and waits for its end.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// clockTick is the unit of processor time in /proc, the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// CPU is the processor time that the process has used, in user and in system mode.
func (p *Process) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%s: its stat has only %d fields", p.Name, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(err, err2)
}

// PeakMemory is the most memory that the process had resident, in MiB.
func (p *Process) PeakMemory() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, fmt.Errorf("%s: its status has no VmHWM", p.Name)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib / 1024, err
}

// Self is this program in another role.
func Self(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "/proc/self/exe", args...)
}

// Build compiles Penstock into a directory, unless a binary is given.
func Build(given, dir string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	binary := filepath.Join(dir, "penstock")
	if out, err := exec.Command("go", "build", "-C", "..", "-trimpath", "-o", binary, "./cmd/penstock").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building penstock: %w\n%s", err, out)
	}
	return binary, nil
}
