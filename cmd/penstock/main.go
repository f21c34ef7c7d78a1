// Command penstock runs Penstock and talks to it.
//
// It owns flags, output and exit codes, and with internal/app it alone names engines. Everything else
// is in other packages: internal/app serves, package client calls.
//
// Commands are methods of [shell] and touch the world through it alone, so that tests run them in
// process. One command runs at a time, on one goroutine.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"penstock/internal/garbage"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal the next one does what it does by default: it ends the process at once.
	context.AfterFunc(ctx, stop)
	defer garbage.Start(os.LookupEnv).Stop()
	sh := &shell{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.LookupEnv, terminal: isTerminal(os.Stdout), hangups: hangups, now: time.Now, child: childOfSelf(),
	}
	return sh.execute(ctx, os.Args[1:])
}

// hangups tells of every SIGHUP from now on. Only a command that reloads asks for it: to the others a
// SIGHUP means that their terminal is gone.
func hangups() <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	asked := make(chan struct{}, 1)
	go func() {
		for range signals {
			select {
			case asked <- struct{}{}:
			default: // a reload is due already, and will read what is there by then
			}
		}
	}()
	return asked
}

// isTerminal reports whether a person reads f.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device that nobody reads
	return err != nil || !os.SameFile(info, null)
}
