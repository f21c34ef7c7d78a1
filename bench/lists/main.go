// Lists measures the lists of the API over a million jobs, requests, dead letters, files and deliveries, on SQLite and on
// PostgreSQL: every list with every filter, alone and combined. Each call is one page as the console reads it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"penstock/bench/cluster"
	"penstock/bench/measure"
	"penstock/internal/garbage"
)

// targetMillis is what the slowest twentieth of the pages may take.
const targetMillis = 100

type options struct {
	rows     int
	samples  int
	dir      string
	database string
	engine   string
	only     string
	verbose  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer garbage.Start(os.LookupEnv).Stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench lists:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	var o options
	f := flag.NewFlagSet("lists", flag.ContinueOnError)
	f.IntVar(&o.rows, "rows", 1_000_000, "jobs, and as many requests, dead letters, files and deliveries")
	f.IntVar(&o.samples, "samples", 30, "pages of each list")
	f.StringVar(&o.dir, "dir", "", "directory of the SQLite database, which is filled once and kept (default: a temporary one)")
	f.StringVar(&o.database, "database", "", "URL of a PostgreSQL database, which is filled once and kept (default: a temporary server)")
	f.StringVar(&o.engine, "engine", "sqlite,postgresql", "the engines to measure")
	f.StringVar(&o.only, "only", "", "measure only lists whose name contains this")
	f.BoolVar(&o.verbose, "v", false, "print every list, not only the slowest of each kind")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "penstock-lists"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	for engine := range strings.SplitSeq(o.engine, ",") {
		if err := o.measure(ctx, engine); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
	}
	return nil
}

// measure measures all lists on an engine.
func (o options) measure(ctx context.Context, engine string) (err error) {
	database := o.database
	if engine == "postgresql" && database == "" {
		server, err := cluster.Start(ctx, cluster.Config{})
		if err != nil {
			return err
		}
		defer server.Close()
		if database, err = server.Database(ctx, "bench_lists"); err != nil {
			return err
		}
	}
	if engine == "sqlite" {
		database = filepath.Join(o.dir, "penstock.db")
	}
	began := time.Now()
	s, err := open(ctx, source{engine: engine, database: database, dir: o.dir, rows: o.rows})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Printf("%s: %d rows of each kind, %d segments, opened in %v\n", engine, o.rows, s.segments, time.Since(began).Round(time.Second))
	worst := map[string]result{}
	for _, l := range lists(s) {
		if !strings.Contains(l.kind+": "+l.name, o.only) {
			continue
		}
		r, err := o.sample(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.kind, l.name, err)
		}
		if o.verbose || r.p95 > targetMillis {
			fmt.Printf("  %-12s %-58s p50 %6.1f ms  p95 %6.1f ms  %4d rows%s\n", l.kind, l.name, r.p50, r.p95, r.rows, r.note)
		}
		if r.p95 >= worst[l.kind].p95 {
			worst[l.kind] = r
		}
	}
	for _, kind := range kinds {
		if r, ok := worst[kind]; ok {
			measure.Print(os.Stdout, measure.AtMost(fmt.Sprintf("%s on %s, p95 of the slowest (%s)", kind, engine, r.name), r.p95, targetMillis, " ms"))
		}
	}
	return nil
}

type result struct {
	name     string
	p50, p95 float64
	rows     int
	note     string
}

// sample reads pages of a list, the first ones and those that follow, and times each.
func (o options) sample(ctx context.Context, l list) (r result, err error) {
	var times []float64
	r.name = l.name
	cursor := ""
	for range o.samples {
		began := time.Now()
		p, err := l.page(ctx, cursor)
		if err != nil {
			return r, err
		}
		times = append(times, float64(time.Since(began).Microseconds())/1000)
		r.rows += p.rows
		if cursor = p.next; p.note != "" {
			r.note = "  " + p.note
		}
	}
	r.p50, r.p95 = measure.Quantile(times, 0.5), measure.Quantile(times, 0.95)
	return r, nil
}
