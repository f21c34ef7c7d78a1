package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"penstock"
	"penstock/bench/cluster"
	"penstock/bench/measure"
	"penstock/internal/store"
	"penstock/internal/work"
)

// claimTenants is over how many tenants the queued items are spread.
const claimTenants = 10

// claim compares the time of a claim out of a long queue with one out of a short queue. Both queues stay
// as long as they are, and samples are taken in turns.
func claim(ctx context.Context, o options, args []string) error {
	f := flag.NewFlagSet("claim", flag.ContinueOnError)
	few := f.Int("few", 1_000, "items in the short queue")
	many := f.Int("many", 1_000_000, "items in the long queue")
	samples := f.Int("samples", 200, "claims from each queue")
	if err := f.Parse(args); err != nil {
		return err
	}
	server, err := cluster.Start(ctx, cluster.Config{Dir: o.dir})
	if err != nil {
		return err
	}
	defer server.Close()
	fmt.Fprintf(o.out, "time of a claim of %d items:\n", work.MaxClaim)
	for _, engine := range []string{"sqlite", "postgresql"} {
		times, err := claimTimes(ctx, o, claimPlan{server: server, engine: engine, queued: []int{*few, *many}, samples: *samples})
		if err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		for i, queued := range []int{*few, *many} {
			fmt.Fprintf(o.out, "  %-10s %9d queued  %v\n", engine, queued, spread(times[i]))
		}
		ratio := measure.Quantile(times[1], 0.5).Seconds() / measure.Quantile(times[0], 0.5).Seconds()
		o.judge(measure.AtMost("claim p50 on "+engine+", long queue over short", ratio, 1.5, "×"))
	}
	return nil
}

type claimPlan struct {
	server  *cluster.Cluster
	engine  string
	queued  []int
	samples int
}

// claimTimes takes samples from one queue of each length.
func claimTimes(ctx context.Context, o options, p claimPlan) (times [][]time.Duration, err error) {
	times = make([][]time.Duration, len(p.queued))
	queues := make([]*claimQueue, len(p.queued))
	for i, n := range p.queued {
		cfg := instanceConfig{slots: slots, dir: o.dir}
		if p.engine == "postgresql" {
			name := fmt.Sprintf("bench_claim_%d", i)
			if cfg.database, err = p.server.Database(ctx, name); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, p.server.Drop(ctx, name)) }()
		}
		in, err := openInstance(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		cfg.data = in.data
		submitter, err := openInstance(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer submitter.store.Close()
		if queues[i], err = fillQueue(ctx, claimQueue{in: in, submitter: submitter}, n); err != nil {
			return nil, err
		}
	}
	for range p.samples + p.samples/10 {
		for i, q := range queues {
			took, err := q.sample(ctx)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], took)
		}
	}
	for i := range times {
		times[i] = times[i][p.samples/10:] // the first tenth warms up
	}
	return times, nil
}

// claimJob is the number of items of each job. It is the same in all queues, so that claims can be compared.
const claimJob = 100

// claimQueue is a queue from which the benchmark claims, without a worker.
type claimQueue struct {
	in        *instance
	submitter *instance // accepts the jobs; a separate process, so that the caches it fills are not measured
	lease     store.Lease
	owed      map[penstock.TenantID]int // items of each tenant that were claimed since the beginning
}

// fillQueue makes a queue that never has fewer than the given items, spread evenly over the tenants.
func fillQueue(ctx context.Context, of claimQueue, items int) (*claimQueue, error) {
	q := &of
	q.owed = map[penstock.TenantID]int{}
	for n := range claimTenants {
		q.owed[penstock.TenantID(fmt.Sprintf("tenant-%d", n))] = items/claimTenants + claimJob
	}
	if err := q.topUp(ctx); err != nil {
		return nil, err
	}
	var err error
	q.lease, err = q.in.store.AcquireLease(ctx, "bench", time.Hour)
	return q, err
}

// topUp submits the items that are owed, in whole jobs, to each tenant in turn.
func (q *claimQueue) topUp(ctx context.Context) error {
	for more := true; more; {
		more = false
		for tenant, items := range q.owed {
			if items < claimJob {
				continue
			}
			if err := q.submitter.submit(ctx, order{tenant: tenant, key: "bench", items: claimJob, words: promptWords}); err != nil {
				return err
			}
			q.owed[tenant] -= claimJob
			more = true
		}
	}
	return nil
}

// sample times one claim, and leaves the queue as long as it was.
func (q *claimQueue) sample(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	claimed, err := q.in.store.ClaimItems(ctx, q.lease, store.Want{Lanes: penstock.Lanes, Limit: work.MaxClaim})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if len(claimed) != work.MaxClaim {
		return 0, fmt.Errorf("claimed %d items of %d", len(claimed), work.MaxClaim)
	}
	group := make([]store.Finish, len(claimed))
	for i, c := range claimed {
		q.owed[c.Tenant]++
		group[i] = store.Finish{Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: penstock.TransitionSucceed,
			Counted: 1, Target: "noop", StatusCode: 200, Result: []byte(answerBody), Usage: usageOf(c.Body)}
	}
	if _, err := q.in.store.FinishItems(ctx, group); err != nil {
		return 0, err
	}
	return took, q.topUp(ctx)
}
