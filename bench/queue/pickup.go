package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"penstock/bench/cluster"
	"penstock/bench/measure"
)

// pickupLoad is a steady stream of single jobs.
type pickupLoad struct {
	rate   int // jobs a second
	warm   time.Duration
	round  time.Duration
	rounds int
}

// stopwatch notes when each job was accepted and when its attempt began.
type stopwatch struct{ accepted, started []atomic.Int64 }

func newStopwatch(n int) *stopwatch {
	return &stopwatch{make([]atomic.Int64, n), make([]atomic.Int64, n)}
}

func (w *stopwatch) start(serial int64) {
	if serial < int64(len(w.started)) {
		w.started[serial].CompareAndSwap(0, time.Now().UnixNano())
	}
}

// waits are the times from acceptance to start of the jobs from the given one on. A job that began before
// its submitter knew of its acceptance did not wait.
func (w *stopwatch) waits(from int) (all []time.Duration, lost int) {
	for i := from; i < len(w.accepted); i++ {
		accepted, started := w.accepted[i].Load(), w.started[i].Load()
		if accepted == 0 || started == 0 {
			lost++
			continue
		}
		all = append(all, max(0, time.Duration(started-accepted)))
	}
	return all, lost
}

// pickup compares how soon after its acceptance a job is worked on.
func pickup(ctx context.Context, o options, args []string) error {
	var l pickupLoad
	f := flag.NewFlagSet("pickup", flag.ContinueOnError)
	f.IntVar(&l.rate, "rate", 100, "jobs a second")
	f.DurationVar(&l.warm, "warm", time.Second, "what a round begins with and does not count")
	f.DurationVar(&l.round, "round", 10*time.Second, "length of a round")
	f.IntVar(&l.rounds, "rounds", 3, "rounds of each side, in turns")
	if err := f.Parse(args); err != nil {
		return err
	}
	server, err := cluster.Start(ctx, cluster.Config{Dir: o.dir})
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(o.out, "from the acceptance of a job to the start of its attempt, at %d jobs/s:\n", l.rate)
	sides := pickupSides(o, server)
	waits := map[string][]time.Duration{}
	for n := range l.rounds {
		for _, s := range sides {
			round, err := l.run(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(o.out, "  round %d  %-19s %v\n", n+1, s.name, spread(round))
			waits[s.name] = append(waits[s.name], round...)
		}
	}
	for _, s := range sides {
		fmt.Fprintf(o.out, "  all      %-19s %v\n", s.name, spread(waits[s.name]))
	}
	ms := func(name string, q float64) float64 { return measure.Quantile(waits[name], q).Seconds() * 1000 }
	o.judge(
		measure.AtMost("pickup p50 on SQLite", ms("penstock sqlite", 0.5), 3, " ms"),
		measure.AtMost("pickup p99 on SQLite", ms("penstock sqlite", 0.99), 15, " ms"),
		measure.AtMost("pickup p50 on PostgreSQL, Penstock over River", ms("penstock postgresql", 0.5)/ms("river", 0.5), 1, "×"),
		measure.AtMost("pickup p99 on PostgreSQL, Penstock over River", ms("penstock postgresql", 0.99)/ms("river", 0.99), 1, "×"),
	)
	return nil
}

// pickupSide opens a contender whose attempts report their start.
type pickupSide struct {
	name string
	open func(ctx context.Context, started func(serial int64)) (contender, func() error, error)
}

func pickupSides(o options, server *cluster.Cluster) []pickupSide {
	fromBody := func(started func(int64)) noop {
		return noop{started: func(body []byte) { started(labelOf(body).serial) }}
	}
	inDatabase := func(ctx context.Context, open func(url string) (contender, error)) (contender, func() error, error) {
		const name = "bench_pickup"
		url, err := server.Database(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		c, err := open(url)
		if err != nil {
			return nil, nil, errors.Join(err, server.Drop(ctx, name))
		}
		return c, func() error { return errors.Join(c.Close(), server.Drop(ctx, name)) }, nil
	}
	return []pickupSide{
		{"penstock postgresql", func(ctx context.Context, started func(int64)) (contender, func() error, error) {
			return inDatabase(ctx, func(url string) (contender, error) {
				return openInstance(ctx, instanceConfig{database: url, slots: slots, dir: o.dir, upstream: fromBody(started)})
			})
		}},
		{"river", func(ctx context.Context, started func(int64)) (contender, func() error, error) {
			return inDatabase(ctx, func(url string) (contender, error) { return openPeer(ctx, url, started) })
		}},
		{"penstock sqlite", func(ctx context.Context, started func(int64)) (contender, func() error, error) {
			in, err := openInstance(ctx, instanceConfig{slots: slots, dir: o.dir, upstream: fromBody(started)})
			if err != nil {
				return nil, nil, err
			}
			return in, in.Close, nil
		}},
	}
}

// run sends jobs by the clock, whether or not earlier ones were answered, so that a stall hits all that it
// would have hit.
func (l pickupLoad) run(ctx context.Context, s pickupSide) (waits []time.Duration, err error) {
	total := int((l.warm + l.round).Seconds() * float64(l.rate))
	watch := newStopwatch(total + 1) // serials begin with 1
	c, closeAll, err := s.open(ctx, watch.start)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Work(workCtx) }()

	var sending sync.WaitGroup
	var failure atomic.Pointer[error]
	tick := time.NewTicker(time.Second / time.Duration(l.rate))
	defer tick.Stop()
	for serial := int64(1); serial <= int64(total); serial++ {
		<-tick.C
		sending.Go(func() {
			if err := c.SubmitOne(ctx, serial); err != nil {
				failure.Store(&err)
				return
			}
			watch.accepted[serial].Store(time.Now().UnixNano())
		})
	}
	sending.Wait()
	if err := failure.Load(); err != nil {
		return nil, *err
	}
	sleep(ctx, time.Second) // for those that were sent last
	stop()
	if err := <-ended; err != nil {
		return nil, err
	}
	waits, lost := watch.waits(1 + int(l.warm.Seconds()*float64(l.rate)))
	if lost > 0 {
		return nil, fmt.Errorf("%d jobs did not begin within a second", lost)
	}
	return waits, nil
}

// spread says how times are distributed.
func spread(all []time.Duration) string {
	at := func(q float64) time.Duration { return measure.Quantile(all, q).Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %-8v p90 %-8v p99 %-8v max %v", at(0.5), at(0.9), at(0.99), at(1))
}
