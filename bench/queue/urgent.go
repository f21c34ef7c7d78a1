package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"time"

	"penstock"
	"penstock/bench/cluster"
	"penstock/bench/measure"
)

// urgentLoad is a stream of realtime jobs beside a bulk backlog that takes every slot.
type urgentLoad struct {
	slots   int
	service time.Duration
	part    float64 // of the capacity that realtime jobs ask for
	round   time.Duration
}

// urgent measures how long realtime jobs wait for a slot that bulk work had, with one worker and with two.
func urgent(ctx context.Context, o options, args []string) error {
	var l urgentLoad
	f := flag.NewFlagSet("urgent", flag.ContinueOnError)
	f.IntVar(&l.slots, "slots", 32, "items that run at a time, over all workers")
	f.DurationVar(&l.service, "service", 200*time.Millisecond, "time that an attempt takes")
	f.Float64Var(&l.part, "part", 0.2, "part of the capacity that realtime jobs ask for")
	f.DurationVar(&l.round, "round", 15*time.Second, "length of a round")
	if err := f.Parse(args); err != nil {
		return err
	}
	server, err := cluster.Start(ctx, cluster.Config{Dir: o.dir})
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(o.out, "wait of realtime jobs at %.0f %% of %d slots × %v, beside a bulk backlog, on PostgreSQL:\n", l.part*100, l.slots, l.service)
	for _, workers := range []int{1, 2} {
		r, err := l.run(ctx, o, server, workers)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "  %d workers  %v  processor %.0f %%, slots in use %.0f %%\n", workers, spread(r.waits), r.cpu*100, r.busy*100)
		o.judge(measure.AtMost(fmt.Sprintf("p99 wait of realtime jobs, %d workers", workers), measure.Quantile(r.waits, 0.99).Seconds()*1000, 50, " ms"))
	}
	return nil
}

func (l urgentLoad) run(ctx context.Context, o options, server *cluster.Cluster, workers int) (r urgentResult, err error) {
	const name = "bench_urgent"
	url, err := server.Database(ctx, name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Drop(ctx, name)) }()
	gap := time.Duration(float64(l.service) / (float64(l.slots) * l.part))
	watch := newStopwatch(int(l.round/gap) + 2)
	var all []*instance
	for n := range workers {
		shared := ""
		if n > 0 {
			shared = all[0].data
		}
		in, err := openInstance(ctx, instanceConfig{
			data: shared, database: url, slots: l.slots / workers, dir: o.dir, process: fmt.Sprintf("worker%d", n),
			upstream: noop{service: l.service, started: func(body []byte) {
				if of := labelOf(body); of.tenant == "urgent" {
					watch.start(of.serial)
				}
			}},
		})
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, in.Close()) }()
		all = append(all, in)
	}
	backlog := int(1.5 * l.round.Seconds() * float64(l.slots) / l.service.Seconds())
	for range backlog/1000 + 1 {
		if err := all[0].submit(ctx, order{tenant: "bulk", key: "bulk", lane: penstock.LaneBulk, items: 1000, words: promptWords}); err != nil {
			return r, err
		}
	}
	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	var working sync.WaitGroup
	for _, in := range all {
		working.Go(func() { _ = in.Work(workCtx) })
	}
	sleep(ctx, 2*l.service)            // until every slot is taken
	warm := int(2 * time.Second / gap) // until the slots are not in step any more
	began, used, ended := time.Now(), l.used(server), done(all)
	err = l.send(ctx, all, watch, gap)
	took := time.Since(began).Seconds()
	r.cpu = (l.used(server) - used).Seconds() / took / float64(runtime.NumCPU())
	r.busy = float64(done(all)-ended) * l.service.Seconds() / took / float64(l.slots)
	sleep(ctx, time.Second)
	stop()
	working.Wait()
	var lost int
	r.waits, lost = watch.waits(1 + warm)
	if lost > 1 {
		err = errors.Join(err, fmt.Errorf("%d jobs did not begin within a second", lost))
	}
	return r, err
}

// urgentResult is what became of realtime jobs, and of the slots meanwhile.
type urgentResult struct {
	waits []time.Duration
	cpu   float64
	busy  float64 // part of the slots that items were in; to fill a slot again takes a few milliseconds
}

// done is how many items have an outcome.
func done(all []*instance) (n int64) {
	for _, in := range all {
		n += in.Done()
	}
	return n
}

// used is the processor time of this process and of the database.
func (l urgentLoad) used(server *cluster.Cluster) time.Duration { return measure.CPU() + server.CPU() }

// send submits realtime jobs by the clock, and wakes all workers as notifications would.
func (l urgentLoad) send(ctx context.Context, all []*instance, watch *stopwatch, gap time.Duration) error {
	tick := time.NewTicker(gap)
	defer tick.Stop()
	for serial := int64(1); serial < int64(len(watch.accepted)-1); serial++ {
		<-tick.C
		if err := all[0].submit(ctx, order{tenant: "urgent", key: "urgent", lane: penstock.LaneRealtime, items: 1, words: promptWords, serial: serial}); err != nil {
			return err
		}
		watch.accepted[serial].Store(time.Now().UnixNano())
		for _, in := range all[1:] {
			in.work.Notify()
		}
	}
	return nil
}
