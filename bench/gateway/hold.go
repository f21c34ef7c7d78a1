package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"penstock/bench/measure"
	"penstock/bench/process"
)

// maxHeldMiB is what Penstock may need for all streams that are held open.
const maxHeldMiB = 600

// heldRate is how many streams are opened a second. All of them are open before the first one ends.
const heldRate = 250

// command is the binary under measurement with other arguments.
func (a *arena) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, a.binary, args...)
}

// measureHeld holds many streams open at a time, through a proxy and through Penstock, and looks at their memory.
func (a *arena) measureHeld(ctx context.Context) error {
	if err := a.checkFileLimit(); err != nil {
		return err
	}
	file := ""
	if !a.http1 {
		file = filepath.Join(a.dir, "upstream.pem")
	}
	upstream, err := process.Start("upstream", process.Self(ctx, "upstream", "slow", file))
	if err != nil {
		return err
	}
	defer upstream.Stop()
	scheme, env := "http://", "BENCH=1"
	if file != "" {
		scheme, env = "https://", "SSL_CERT_FILE="+file
	}
	proxyCommand := process.Self(ctx, "proxy", scheme+upstream.Address)
	proxyCommand.Env = append(os.Environ(), env)
	over := "HTTP/2"
	if a.http1 {
		over = "HTTP/1.1"
	}
	fmt.Printf("gateway hold: %d streams at a time, bodies of 1 KiB, %s to the upstream\n", a.streams, over)
	if _, err := a.hold(ctx, func() (*process.Process, error) { return process.Start("proxy", proxyCommand) }); err != nil {
		return err
	}
	most, err := a.hold(ctx, func() (*process.Process, error) {
		return startPenstock(ctx, a.binary, a.dir, scheme+upstream.Address+"/v1", env)
	})
	if err != nil {
		return err
	}
	if a.garbage {
		fmt.Printf("  with %s:\n", strings.Join(fixedCollector, " "))
		_, err := a.hold(ctx, func() (*process.Process, error) {
			return startPenstock(ctx, a.binary, a.dir, scheme+upstream.Address+"/v1", append(fixedCollector, env)...)
		})
		if err != nil {
			return err
		}
	}
	measure.Print(os.Stdout, measure.AtMost(fmt.Sprintf("resident memory with %d streams", a.streams), most, maxHeldMiB, " MiB"))
	return nil
}

// hold runs one side, which nothing was asked of before, and returns the most memory that it had resident, in MiB.
func (a *arena) hold(ctx context.Context, open func() (*process.Process, error)) (float64, error) {
	p, err := open()
	if err != nil {
		return 0, err
	}
	defer p.Stop()
	before, err := p.PeakMemory()
	if err != nil {
		return 0, err
	}
	r, err := generate(ctx, load{Address: p.Address, Key: key, Mode: "hold", Conns: a.streams, Rate: heldRate, Body: 1 << 10, Stream: true})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.Name, err)
	}
	most, err := p.PeakMemory()
	if err != nil {
		return 0, err
	}
	cpu, err := p.CPU()
	if err != nil {
		return 0, err
	}
	fmt.Printf("  %-9s %d open at a time, all read to their end; resident %.0f MiB before, %.0f MiB at most, %.1f KiB a stream; %.1f s of CPU; first token p50 %.0f ms, p99 %.0f ms\n",
		p.Name, r.Peak, before, most, (most-before)*1024/float64(a.streams), cpu.Seconds(),
		measure.Quantile(r.First, 0.5), measure.Quantile(r.First, 0.99))
	if r.Peak < a.streams {
		return most, fmt.Errorf("%s: only %d of %d streams were open at the same time", p.Name, r.Peak, a.streams)
	}
	return most, nil
}

// checkFileLimit fails when the system does not let a process open as many files as the streams need.
func (a *arena) checkFileLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	need := uint64(a.streams) + 512
	if a.http1 {
		need += uint64(a.streams)
	}
	if limit.Max < need {
		return fmt.Errorf("hold: %d streams need %d open files, and the limit is %d; raise it, or set -streams", a.streams, need, limit.Max)
	}
	return nil
}
