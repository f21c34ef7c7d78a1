package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"penstock/bench/caller"
	"penstock/bench/cluster"
	"penstock/bench/measure"
	"penstock/bench/process"
)

const (
	submitKey   = "psk_bench_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	submitAdmin = "psk_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"
)

// submitSettings configure a Penstock that accepts jobs and does not work on them: neither does River here.
const submitSettings = `listen: 127.0.0.1:0
admin_listen: 127.0.0.1:0
data: %s
database: "${BENCH_DATABASE}"
log: {level: warn}
admin: {key: "${BENCH_ADMIN}"}
providers:
  upstream: {kind: openai, base_url: "http://127.0.0.1:9/v1", api_key: "${BENCH_UPSTREAM}"}
targets:
  noop: {provider: upstream, upstream_model: noop, price: {input: "0.15", output: "0.60"}}
models:
  noop: {policy: ordered, targets: [noop]}
tenants:
  bench:
    keys: [{name: app, secret: "${BENCH_KEY}", scopes: ["jobs:read", "jobs:write"]}]
`

// submits measures jobs that are submitted one by one over HTTP.
type submits struct {
	options
	server  *cluster.Cluster
	data    string
	binary  string
	round   time.Duration
	warm    time.Duration
	rounds  int
	clients int
	only    string
	cpu     string // file for a CPU profile of Penstock, "" for none
	profile profile
}

func submit(ctx context.Context, o options, args []string) error {
	s := submits{options: o}
	f := flag.NewFlagSet("submit", flag.ContinueOnError)
	f.DurationVar(&s.round, "round", 8*time.Second, "length of a round of one side")
	f.DurationVar(&s.warm, "warm", time.Second, "start of a round that does not count")
	f.IntVar(&s.rounds, "rounds", 5, "rounds of each side, in turns")
	f.IntVar(&s.clients, "clients", 0, "clients that submit at a time (default: 32, then 1)")
	f.StringVar(&s.only, "only", "", "run only this side: penstock or river")
	f.StringVar(&s.cpu, "cpuprofile", "", "write a CPU profile of Penstock in the last round to this file")
	f.StringVar(&s.profile.statements, "statements", "", "write PostgreSQL's statements of the last round to this file; costs some speed")
	f.StringVar(&s.binary, "penstock", "", "measure this binary instead of building one")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "penstock-bench-submit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s.data = dir
	if s.binary, err = process.Build(s.binary, dir); err != nil {
		return err
	}
	if s.server, err = cluster.Start(ctx, cluster.Config{Dir: o.dir, Statements: s.profile.statements != ""}); err != nil {
		return err
	}
	defer s.server.Close()
	for _, row := range []struct {
		clients int
		least   float64
	}{{32, 2}, {1, 0.8}} {
		if s.clients != 0 && s.clients != row.clients {
			continue
		}
		if err := s.compare(ctx, row.clients, row.least); err != nil {
			return err
		}
	}
	return nil
}

// compare runs both sides in turn and prints the ratio of their rates.
func (s submits) compare(ctx context.Context, clients int, least float64) error {
	fmt.Fprintf(s.out, "queue submit: single submits over HTTP, PostgreSQL, one tenant, %d clients, %d rounds of %v\n", clients, s.rounds, s.round)
	var ratios []float64
	for n := range s.rounds {
		rates := map[string]float64{}
		for _, side := range []string{"river", "penstock"} {
			if s.only != "" && s.only != side {
				continue
			}
			r, err := s.turn(ctx, turn{side: side, clients: clients, number: n})
			if err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
			rates[side] = r.rate()
			fmt.Fprintf(s.out, "  %-9s %s\n", side, r)
		}
		ratios = append(ratios, rates["penstock"]/rates["river"])
	}
	if s.only == "" {
		s.judge(measure.AtLeast(fmt.Sprintf("submits with %d clients", clients), measure.Median(ratios), least, "× River's"))
	}
	return nil
}

// turn is a round of one side.
type turn struct {
	side    string
	clients int
	number  int
}

// submitted is the result of a round.
type submitted struct {
	calls            int
	took             time.Duration
	ms               []float64
	server, database time.Duration // processor time
}

func (r submitted) rate() float64 { return float64(r.calls) / r.took.Seconds() }

func (r submitted) String() string {
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(max(r.calls, 1)) }
	return fmt.Sprintf("%7.0f submits/s   ms: p50 %.2f p99 %.2f   CPU µs/submit: server %.0f, database %.0f",
		r.rate(), measure.Quantile(r.ms, 0.5), measure.Quantile(r.ms, 0.99), per(r.server), per(r.database))
}

// turn measures a side in a database of its own. Every submit that was acknowledged must be in the database.
func (s submits) turn(ctx context.Context, t turn) (r submitted, err error) {
	name := fmt.Sprintf("submit_%s_%d_%d", t.side, t.clients, t.number)
	database, err := s.server.Database(ctx, name)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.server.Drop(ctx, name)) }()
	open, count := s.openPenstock, `SELECT count(*) FROM jobs`
	if t.side == "river" {
		open, count = s.openRiver, `SELECT count(*) FROM river_job`
	}
	p, err := open(ctx, name, database)
	if err != nil {
		return r, err
	}
	defer p.Stop()
	warm, err := s.load(p, t.clients, s.warm)
	if err != nil {
		return r, err
	}
	before, err := p.CPU()
	if err != nil {
		return r, err
	}
	database0 := s.server.CPU()
	profiled := s.profiling(ctx, p)
	stop, err := s.profile.start(ctx, s.server, name)
	if err != nil {
		return r, err
	}
	if r, err = s.load(p, t.clients, s.round); err != nil {
		return r, err
	}
	if err := errors.Join(<-profiled, stop()); err != nil {
		return r, err
	}
	after, err := p.CPU()
	if err != nil {
		return r, err
	}
	r.server, r.database = after-before, s.server.CPU()-database0
	return r, s.audit(ctx, database, count, warm.calls+r.calls)
}

// profiling profiles Penstock during a round, if a file was given.
func (s submits) profiling(ctx context.Context, p *process.Process) <-chan error {
	done := make(chan error, 1)
	if s.cpu == "" || p.Admin == "" {
		close(done)
		return done
	}
	go func() {
		done <- process.Profiling{Address: p.Admin, Key: submitAdmin, Length: s.round, File: s.cpu}.Run(ctx)
	}()
	return done
}

func (s submits) audit(ctx context.Context, database, count string, want int) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var got int
	if err := conn.QueryRow(ctx, count).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d submits were acknowledged, the database has %d", want, got)
	}
	return nil
}

// load submits from a number of clients, each one job after the other.
func (s submits) load(p *process.Process, clients int, length time.Duration) (submitted, error) {
	body, err := json.Marshal(map[string]string{"model": "noop", "input": riverText})
	if err != nil {
		return submitted{}, err
	}
	request := caller.Post(caller.Target{Address: p.Address, Path: "/v1/jobs", Key: submitKey}, body)
	began := time.Now()
	end := began.Add(length)
	results, failures := make([]submitted, clients), make([]error, clients)
	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			c := &caller.Client{Address: p.Address, Request: request}
			defer c.Close()
			for time.Now().Before(end) && failures[n] == nil {
				from := time.Now()
				if _, failures[n] = c.Call(); failures[n] == nil {
					results[n].calls++
					results[n].ms = append(results[n].ms, time.Since(from).Seconds()*1000)
				}
			}
		})
	}
	group.Wait()
	all := submitted{took: time.Since(began)}
	for _, r := range results {
		all.calls, all.ms = all.calls+r.calls, append(all.ms, r.ms...)
	}
	return all, errors.Join(failures...)
}

func (s submits) openPenstock(ctx context.Context, name, database string) (*process.Process, error) {
	file := filepath.Join(s.data, name+".yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, submitSettings, filepath.Join(s.data, name)), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.binary, "serve", "--config", file, "--role", "api")
	cmd.Env = append(os.Environ(), "BENCH_DATABASE="+database, "BENCH_KEY="+submitKey, "BENCH_ADMIN="+submitAdmin, "BENCH_UPSTREAM=none")
	return process.Start("penstock", cmd)
}

func (s submits) openRiver(ctx context.Context, _, database string) (*process.Process, error) {
	return process.Start("river", process.Self(ctx, riverServer, database))
}
