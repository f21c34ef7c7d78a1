// Queue measures Penstock's durable queue beside what it is judged by: another queue, or the least that
// the same database can do. Both sides are measured in turns in one run, because absolute figures differ
// from machine to machine and from minute to minute; the ratios are what counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"penstock/bench/measure"
	"penstock/internal/garbage"
)

// options are common to all measurements.
type options struct {
	out io.Writer
	dir string
}

// judge prints whether targets are met. A miss is no error: the figures are what the run was for.
func (o options) judge(targets ...measure.Target) { measure.Print(o.out, targets...) }

// measurement is a subcommand.
type measurement struct {
	name, help string
	run        func(ctx context.Context, o options, args []string) error
}

var measurements = []measurement{
	{"throughput", "items a second from submit to recorded result on PostgreSQL, beside River", throughput},
	{"submit", "jobs submitted one by one over HTTP on PostgreSQL, beside River behind an equal handler", submit},
	{"embedded", "the same on SQLite, beside a raw loop that writes the same rows", embedded},
	{"pickup", "from the acceptance of a job to the start of its attempt, beside River", pickup},
	{"claim", "the time of a claim out of many queued items, beside one out of few", claim},
	{"fair", "what tenants get while they compete", fair},
	{"urgent", "wait of realtime jobs beside a bulk backlog", urgent},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Garbage is collected as the binary has it, for both sides alike.
	defer garbage.Start(os.LookupEnv).Stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench queue:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == riverServer {
		return serveRiver(ctx, args[1])
	}
	o := options{out: os.Stdout}
	f := flag.NewFlagSet("queue", flag.ContinueOnError)
	f.StringVar(&o.dir, "dir", "", "directory on the disk to measure (default: that of temporary files)")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "usage: queue [-dir directory] measurement [flags]")
		for _, m := range measurements {
			fmt.Fprintf(f.Output(), "  %-11s %s\n", m.name, m.help)
		}
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	for _, m := range measurements {
		if m.name == f.Arg(0) {
			return m.run(ctx, o, f.Args()[1:])
		}
	}
	f.Usage()
	return flag.ErrHelp
}
