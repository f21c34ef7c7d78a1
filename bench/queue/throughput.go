package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"penstock/bench/cluster"
	"penstock/bench/measure"
)

// contender is a durable queue under load.
type contender interface {
	// Submit accepts items in one call; when it returns they are on stable storage.
	Submit(ctx context.Context, items int) error
	// SubmitOne accepts one item, which brings its serial number along.
	SubmitOne(ctx context.Context, serial int64) error
	// Work works on them until ctx ends, and records what was begun before it returns.
	Work(ctx context.Context) error
	// Done is how many items have an outcome that is committed.
	Done() int64
	// Audit asks the database how many items have an outcome, and whether all is in order.
	Audit(ctx context.Context) (int64, error)
	// Notes says something about the round that was.
	Notes() string
	Close() error
}

// load is how a contender is loaded: the same way on both sides.
type load struct {
	mode      string
	warm      time.Duration
	round     time.Duration
	rounds    int
	batch     int   // items of one Submit
	producers int   // that submit at a time
	backlog   int64 // overlap: producers wait while so many items are open
	burn      int64 // burn: items that are submitted, and then worked off
}

func (l *load) flags(f *flag.FlagSet) {
	f.StringVar(&l.mode, "mode", "overlap", "overlap: submit and work at once; burn: submit all, then work")
	f.DurationVar(&l.warm, "warm", 3*time.Second, "overlap: what a round begins with and does not count")
	f.DurationVar(&l.round, "round", 20*time.Second, "overlap: length of a round")
	f.IntVar(&l.rounds, "rounds", 3, "rounds of each side, in turns")
	f.IntVar(&l.batch, "batch", 1000, "items submitted together: a job of so many items, an InsertMany of so many jobs")
	f.IntVar(&l.producers, "producers", 2, "batches submitted at a time")
	f.Int64Var(&l.backlog, "backlog", 20_000, "overlap: open items above which producers wait")
	f.Int64Var(&l.burn, "burn", 100_000, "burn: items of a round")
}

// result is the result of a round.
type result struct {
	items      int64
	took       time.Duration
	submitting time.Duration // burn: the part of took that went by before the work began
	process    time.Duration // processor time of this process
	server     time.Duration // and of PostgreSQL
	allocs     uint64        // of this process
	files      uint64        // bytes that this process wrote to files
	notes      string
}

func (r result) rate() float64 { return float64(r.items) / r.took.Seconds() }

func (r result) String() string {
	per := func(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(max(r.items, 1)) }
	s := fmt.Sprintf("%8.0f items/s   cpu µs/item: process %5.1f, database %5.1f   %4.0f allocs/item",
		r.rate(), per(r.process), per(r.server), float64(r.allocs)/float64(max(r.items, 1)))
	if r.submitting > 0 {
		s += fmt.Sprintf("   submitted at %.0f/s, worked at %.0f/s",
			float64(r.items)/r.submitting.Seconds(), float64(r.items)/(r.took-r.submitting).Seconds())
	}
	if r.notes != "" {
		s += "   " + r.notes
	}
	return s
}

// run loads a contender for one round.
func (l load) run(ctx context.Context, c contender, server func() time.Duration) (result, error) {
	runtime.GC() // a round does not pay for the garbage of the one before
	measured := l.overlap
	if l.mode == "burn" {
		measured = l.burnDown
	}
	r, err := measured(ctx, c, server)
	r.notes = c.Notes()
	return r, err
}

// audit fails when the database does not hold what was counted.
func audit(ctx context.Context, c contender) error {
	held, err := c.Audit(ctx)
	if err == nil && held != c.Done() {
		err = fmt.Errorf("counted %d outcomes, the database has %d", c.Done(), held)
	}
	return err
}

// meter notes where everything stands, and returns a function that fills in what was used since.
func meter(c contender, server func() time.Duration) func(*result) {
	began, done, process, database, allocs, files := time.Now(), c.Done(), measure.CPU(), server(), measure.Allocs(), measure.FileBytes()
	return func(r *result) {
		r.items, r.took = c.Done()-done, time.Since(began)
		r.process, r.server, r.allocs = measure.CPU()-process, server()-database, measure.Allocs()-allocs
		r.files = measure.FileBytes() - files
	}
}

// overlap submits and works at the same time, with a bounded number of open items.
func (l load) overlap(ctx context.Context, c contender, server func() time.Duration) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.warm+l.round)
	defer cancel()
	var submitted atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, l.producers+1)
	group.Go(func() { failures <- c.Work(ctx) })
	for range l.producers {
		group.Go(func() {
			for ctx.Err() == nil {
				if submitted.Load()-c.Done() >= l.backlog {
					time.Sleep(time.Millisecond)
					continue
				}
				submitted.Add(int64(l.batch))
				if err := c.Submit(ctx, l.batch); err != nil && ctx.Err() == nil {
					failures <- fmt.Errorf("submitting: %w", err)
					return
				}
			}
		})
	}
	sleep(ctx, l.warm)
	read := meter(c, server)
	<-ctx.Done()
	read(&r)
	group.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	return r, err
}

// burnDown submits everything and then works it off.
func (l load) burnDown(ctx context.Context, c contender, server func() time.Duration) (r result, err error) {
	read := meter(c, server)
	began := time.Now()
	var left atomic.Int64
	left.Store(l.burn)
	var group sync.WaitGroup
	failures := make(chan error, l.producers)
	for range l.producers {
		group.Go(func() {
			for left.Add(-int64(l.batch)) >= 0 {
				if err := c.Submit(ctx, l.batch); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return r, fmt.Errorf("submitting: %w", err)
	default:
	}
	r.submitting = time.Since(began)
	want := l.burn / int64(l.batch) * int64(l.batch)
	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Work(workCtx) }()
	for c.Done() < want {
		select {
		case err := <-ended:
			return r, fmt.Errorf("work ended early: %w", err)
		case <-time.After(time.Millisecond):
		}
	}
	read(&r)
	stop()
	return r, <-ended
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// side is a contender and how to open it.
type side struct {
	name string
	open func(ctx context.Context, database string) (contender, error)
}

// throughput compares Penstock with River on one PostgreSQL server.
func throughput(ctx context.Context, o options, args []string) error {
	var l load
	f := flag.NewFlagSet("throughput", flag.ContinueOnError)
	l.flags(f)
	only := f.String("only", "", "measure this side alone, for profiles")
	var p profile
	p.flags(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	server, err := cluster.Start(ctx, cluster.Config{Dir: o.dir, Statements: p.statements != ""})
	if err != nil {
		return err
	}
	defer server.Close()
	sides := []side{
		{"penstock", func(ctx context.Context, url string) (contender, error) {
			return openInstance(ctx, instanceConfig{database: url, slots: slots, dir: o.dir})
		}},
		{"river", func(ctx context.Context, url string) (contender, error) { return openPeer(ctx, url, nil) }},
	}
	fmt.Fprintf(o.out, "durable items end to end on PostgreSQL, %s, batches of %d, %d producers, %d slots each:\n",
		l.mode, l.batch, l.producers, slots)
	rates := map[string][]float64{}
	for n := range l.rounds {
		for _, s := range sides {
			if *only != "" && *only != s.name {
				continue
			}
			r, err := l.inDatabase(ctx, server, s, &p)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(o.out, "  round %d  %-9s %v\n", n+1, s.name, r)
			rates[s.name] = append(rates[s.name], r.rate())
		}
	}
	if *only != "" {
		return nil
	}
	ours, theirs := measure.Median(rates["penstock"]), measure.Median(rates["river"])
	fmt.Fprintf(o.out, "  median   penstock %.0f, river %.0f items/s\n", ours, theirs)
	o.judge(measure.AtLeast("items/s, Penstock over River", ours/theirs, 2, "×"))
	return nil
}

// inDatabase runs one round in a database of its own.
func (l load) inDatabase(ctx context.Context, server *cluster.Cluster, s side, p *profile) (r result, err error) {
	database := "bench_" + s.name
	url, err := server.Database(ctx, database)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Drop(ctx, database)) }()
	c, err := s.open(ctx, url)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	stop, err := p.start(ctx, server, database)
	if err != nil {
		return r, err
	}
	r, err = l.run(ctx, c, server.CPU)
	if err := errors.Join(err, stop()); err != nil {
		return r, err
	}
	return r, audit(ctx, c)
}
