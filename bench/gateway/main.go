// Gateway measures the cost of Penstock's synchronous calls beside Go's own reverse proxy on the same hop: the same
// load, the same simulated upstream, every part a process of its own, both sides in turns in one run. Penstock has
// on what it has in production: keys, limits of the tenant, metering, records in its database, metrics.
//
// Three kinds of processes are this program again, in another role: the load generator, the reverse proxy and the
// upstream over TLS. Penstock and the simulated upstream over plain HTTP are the real binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are what can be set from the command line.
type options struct {
	round  time.Duration
	rounds int
	warm   time.Duration
	conns  int
	rate   int
	only   string
	dir    string

	streams int
	http1   bool
	profile string
	binary  string
	garbage bool
	before  string
}

func (o *options) flags(f *flag.FlagSet) {
	f.DurationVar(&o.round, "round", 10*time.Second, "length of a round of one side")
	f.IntVar(&o.rounds, "rounds", 3, "rounds of each side, in turns")
	f.DurationVar(&o.warm, "warm", 2*time.Second, "round of each side that goes before and does not count")
	f.IntVar(&o.conns, "conns", 64, "connections of a closed loop, each with one call at a time")
	f.IntVar(&o.rate, "rate", 500, "calls a second of the open loop")
	f.StringVar(&o.only, "only", "", "measure only these, separated by commas: "+strings.Join(rowNames(), ", "))
	f.StringVar(&o.dir, "dir", "", "directory for Penstock's data (default: that of temporary files)")
	f.IntVar(&o.streams, "streams", 10_000, "streams that are held open at a time")
	f.BoolVar(&o.http1, "http1", false, "hold streams over HTTP/1.1 to the upstream, which takes two open files for each")
	f.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of Penstock in the last round to this file, and one of the proxy beside it (.proxy)")
	f.BoolVar(&o.garbage, "garbage", false, "run a second Penstock with "+strings.Join(fixedCollector, " ")+" beside the one that paces its collector")
	f.StringVar(&o.binary, "penstock", "", "measure this binary instead of building one")
	f.StringVar(&o.before, "before", "", "run this binary of Penstock, of before a change, in the same rounds")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench gateway:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if role, ok := roles[args[0]]; ok {
			return role(ctx, args[1:])
		}
	}
	var o options
	f := flag.NewFlagSet("gateway", flag.ContinueOnError)
	o.flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	return measureAll(ctx, o)
}

// roles are what this program is in the processes that it starts.
var roles = map[string]func(ctx context.Context, args []string) error{
	"load": loadRole, "proxy": proxyRole, "upstream": upstreamRole,
}
