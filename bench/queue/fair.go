package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"penstock"
	"penstock/bench/cluster"
	"penstock/bench/measure"
)

// fairPlan is a queue under competition.
type fairPlan struct {
	large, small int // items of the two tenants that compete
	split        int // items of each tenant when one of them splits its work
	probes       int // jobs of ten items that come in between
	service      time.Duration
	waits        []time.Duration // service times under which the wait of small jobs is measured
	slots        int
}

// fair measures what tenants get while they compete, on both engines.
func fair(ctx context.Context, o options, args []string) error {
	var p fairPlan
	f := flag.NewFlagSet("fair", flag.ContinueOnError)
	f.IntVar(&p.large, "large", 100_000, "items of the tenant with the long backlog")
	f.IntVar(&p.small, "small", 2_000, "items of the tenant with the short one")
	f.IntVar(&p.split, "split", 10_000, "items of each tenant when one of them splits its work")
	f.IntVar(&p.probes, "probes", 30, "jobs of ten items whose wait is measured")
	f.DurationVar(&p.service, "service", 20*time.Millisecond, "time that an attempt takes where tokens are compared")
	f.Func("wait-service", "times that attempts take where waits are compared, one a flag (default 20ms, where the database is the bottleneck, and 200ms, as models are)", func(text string) error {
		d, err := time.ParseDuration(text)
		p.waits = append(p.waits, d)
		return err
	})
	f.IntVar(&p.slots, "slots", 64, "items that run at a time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if len(p.waits) == 0 {
		p.waits = []time.Duration{20 * time.Millisecond, 200 * time.Millisecond}
	}
	server, err := cluster.Start(ctx, cluster.Config{Dir: o.dir})
	if err != nil {
		return err
	}
	defer server.Close()
	for _, engine := range []string{"sqlite", "postgresql"} {
		fmt.Fprintf(o.out, "fairness on %s, %d slots:\n", engine, p.slots)
		parts := []arenaConfig{{service: p.service, part: p.shares}, {service: p.service, part: p.splitting}}
		for _, service := range p.waits {
			parts = append(parts, arenaConfig{service: service, part: p.smallWait})
		}
		for _, c := range parts {
			c.server, c.engine = server, engine
			if err := p.inArena(ctx, o, c); err != nil {
				return fmt.Errorf("%s: %w", engine, err)
			}
		}
	}
	return nil
}

type arenaConfig struct {
	server  *cluster.Cluster
	engine  string
	service time.Duration
	part    func(context.Context, options, *arena) error
}

// arena is an instance whose tenants are watched.
type arena struct {
	*instance
	service time.Duration

	mu     sync.Mutex
	tokens map[penstock.TenantID]int64
	items  map[penstock.TenantID]int
	starts map[int64]time.Time // of the items of probes, by their serials
	change chan struct{}       // closed and replaced at every start
}

func (a *arena) started(body []byte) {
	l, used := labelOf(body), usageOf(body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens[l.tenant] += used.InputTokens + used.OutputTokens
	a.items[l.tenant]++
	if l.tenant == probeTenant {
		a.starts[l.serial] = time.Now()
	}
	close(a.change)
	a.change = make(chan struct{})
}

// until waits until the arena has reached a state. It asks with the arena locked.
func (a *arena) until(ctx context.Context, reached func() bool) error {
	for {
		a.mu.Lock()
		ok, change := reached(), a.change
		a.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// inArena runs one part in a store of its own.
func (p fairPlan) inArena(ctx context.Context, o options, c arenaConfig) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	a := &arena{service: c.service, tokens: map[penstock.TenantID]int64{}, items: map[penstock.TenantID]int{}, starts: map[int64]time.Time{}, change: make(chan struct{})}
	cfg := instanceConfig{slots: p.slots, dir: o.dir, upstream: noop{started: a.started, service: c.service}}
	if c.engine == "postgresql" {
		const name = "bench_fair"
		if cfg.database, err = c.server.Database(ctx, name); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.server.Drop(context.WithoutCancel(ctx), name)) }()
	}
	if a.instance, err = openInstance(ctx, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return c.part(ctx, o, a)
}

// work runs the workers of the arena while fn runs.
func (a *arena) work(ctx context.Context, fn func() error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- a.Work(ctx) }()
	err := fn()
	stop()
	return errors.Join(err, <-ended)
}

// fill queues items of a tenant in jobs of the given size.
func (a *arena) fill(ctx context.Context, items int, o order) error {
	for n := 0; n < items; n += o.items {
		if err := a.submit(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// shares measures a tenant with many items beside one that has few but longer ones, and compares the
// tokens that they were served while both had work waiting.
func (p fairPlan) shares(ctx context.Context, o options, a *arena) error {
	err := errors.Join(
		a.fill(ctx, p.large, order{tenant: "large", key: "k", items: 1000, words: promptWords}),
		a.fill(ctx, p.small, order{tenant: "small", key: "k", items: min(p.small, 1000), words: 3 * promptWords}))
	if err != nil {
		return err
	}
	var large, small float64
	err = a.work(ctx, func() error {
		return a.until(ctx, func() bool {
			large, small = float64(a.tokens["large"]), float64(a.tokens["small"])
			return a.items["small"] >= p.small
		})
	})
	jain := (large + small) * (large + small) / (2 * (large*large + small*small))
	fmt.Fprintf(o.out, "  %d items against %d that are longer: %.0f and %.0f tokens served while both waited\n", p.large, p.small, large, small)
	o.judge(measure.AtLeast("Jain index over tokens served", jain, 0.98, ""))
	return err
}

const probeTenant = "probe"

// probe submits a job of ten items and returns how long each waited.
func (a *arena) probe(ctx context.Context) ([]time.Duration, error) {
	const items = 10
	first := a.serial.Add(items) - items
	if err := a.submit(ctx, order{tenant: probeTenant, key: "k", items: items, words: promptWords, serial: first}); err != nil {
		return nil, err
	}
	accepted := time.Now()
	var waits []time.Duration
	err := a.until(ctx, func() bool {
		waits = waits[:0]
		for i := range int64(items) {
			if at, ok := a.starts[first+i]; ok {
				waits = append(waits, max(0, at.Sub(accepted)))
			}
		}
		return len(waits) == items
	})
	return waits, err
}

// smallWait compares how long the items of a small job wait beside a long backlog and without one.
func (p fairPlan) smallWait(ctx context.Context, o options, a *arena) error {
	a.serial.Store(1)
	var alone, beside []time.Duration
	probes := func(into *[]time.Duration) error {
		for range p.probes {
			waits, err := a.probe(ctx)
			if err != nil {
				return err
			}
			*into = append(*into, waits...)
			sleep(ctx, rand.N(2*a.service)) // not in step with the slots
		}
		return nil
	}
	err := a.work(ctx, func() error {
		if err := probes(&alone); err != nil {
			return err
		}
		if err := a.fill(ctx, p.large/2, order{tenant: "large", key: "k", items: 1000, words: promptWords}); err != nil {
			return err
		}
		return probes(&beside)
	})
	if err != nil {
		return err
	}
	if open, err := a.openItems(ctx); err != nil || open == 0 {
		return errors.Join(err, errors.New("the backlog ran out before the last probe; raise -large"))
	}
	fmt.Fprintf(o.out, "  wait of ten items, %v an attempt: alone             %v\n", a.service, spread(alone))
	fmt.Fprintf(o.out, "  wait of ten items, %v an attempt: beside a backlog  %v\n", a.service, spread(beside))
	most := 2*measure.Quantile(alone, 0.95) + a.service
	o.judge(measure.AtMost(fmt.Sprintf("p95 wait of a ten-item tenant beside a backlog, of 2 × alone + %v", a.service),
		measure.Quantile(beside, 0.95).Seconds()*1000, most.Seconds()*1000, " ms"))
	return nil
}

func (a *arena) openItems(ctx context.Context) (open int64, err error) {
	depths, err := a.store.Depths(ctx)
	for _, d := range depths {
		open += d.Items
	}
	return open, err
}

// splitting measures two tenants with the same work, one of which has cut it into 100 jobs of 10 keys.
func (p fairPlan) splitting(ctx context.Context, o options, a *arena) error {
	const jobs, keys = 100, 10
	if err := a.fill(ctx, p.split, order{tenant: "whole", key: "k", items: p.split, words: promptWords}); err != nil {
		return err
	}
	for n := range jobs {
		key := fmt.Sprintf("k%d", n%keys)
		if err := a.submit(ctx, order{tenant: "split", key: key, items: p.split / jobs, words: promptWords}); err != nil {
			return err
		}
	}
	var whole, split float64
	err := a.work(ctx, func() error {
		return a.until(ctx, func() bool {
			whole, split = float64(a.tokens["whole"]), float64(a.tokens["split"])
			return max(a.items["whole"], a.items["split"]) >= p.split*9/10
		})
	})
	fmt.Fprintf(o.out, "  one job against 100 jobs of 10 keys: %.0f and %.0f tokens served\n", whole, split)
	o.judge(measure.AtMost("gain by splitting work over 100 jobs and 10 keys", (split/whole-1)*100, 2, " %"))
	return err
}
