package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"penstock/bench/measure"
	"penstock/bench/process"
)

// row is a load and the targets that it is judged by.
type row struct {
	name, about string
	over        upstreamKind
	load        load // its Conns and Rate are set by the options
	judge       func(r results) []measure.Target
}

var rows = []row{
	{"saturation", "closed loop, bodies of 1 KiB", plainHTTP1, load{Mode: "closed", Body: 1 << 10}, costs(1.3, 0.8)},
	{"agent", "closed loop, bodies of 100 KiB as agents send them", plainHTTP1, load{Mode: "closed", Body: 100 << 10, Agent: true}, costs(1.35, 0.85)},
	{"secured", "closed loop, bodies of 1 KiB, TLS and HTTP/2 to the upstream", securedHTTP2, load{Mode: "closed", Body: 1 << 10}, costs(1.3, 0.8)},
	{"rate", "open loop, bodies of 1 KiB", plainHTTP1, load{Mode: "open", Body: 1 << 10}, func(r results) []measure.Target {
		return []measure.Target{
			measure.AtMost("added p50", r.added("penstock", sample.p50)/r.added("proxy", sample.p50), 2, "× the proxy's"),
			measure.AtMost("total p99", r.ratio(sample.p99), 1.5, "× the proxy's"),
		}
	}},
	{"stream", "open loop of streams, bodies of 1 KiB", plainHTTP1, load{Mode: "open", Body: 1 << 10, Stream: true}, func(r results) []measure.Target {
		return []measure.Target{measure.AtMost("added p50 of the first token", r.added("penstock", sample.first50), 1, " ms")}
	}},
	{"streams", "closed loop of streams whose chunks come at once, bodies of 1 KiB", plainHTTP1, load{Mode: "closed", Body: 1 << 10, Stream: true}, streamCost},
	{"paced", "closed loop of streams whose chunks come 10 ms apart, bodies of 1 KiB", pacedHTTP1, load{Mode: "closed", Body: 1 << 10, Stream: true}, streamCost},
}

func streamCost(r results) []measure.Target {
	return []measure.Target{measure.AtMost("CPU of a stream", r.ratio(sample.perCall), 1.3, "× the proxy's")}
}

// costs are the targets of a closed loop, as multiples of the proxy's figures.
func costs(cpu, rate float64) func(results) []measure.Target {
	return func(r results) []measure.Target {
		return []measure.Target{
			measure.AtMost("CPU of a call", r.ratio(sample.perCall), cpu, "× the proxy's"),
			measure.AtLeast("throughput at saturation", r.ratio(sample.rate), rate, "× the proxy's"),
		}
	}
}

// loadOf is the load of a row, as the options set it.
func (o options) loadOf(r row) load {
	l := r.load
	l.Conns, l.Rate = o.conns, o.rate
	if l.Stream {
		l.Rate = max(1, o.rate/5)
	}
	return l
}

// upstreamKind is the protocol between a side and its upstream.
type upstreamKind string

const (
	plainHTTP1   upstreamKind = "HTTP/1.1"
	pacedHTTP1   upstreamKind = "HTTP/1.1, paced"
	securedHTTP2 upstreamKind = "TLS and HTTP/2"
)

// hold is the row that has a way of its own.
const hold = "hold"

func rowNames() []string {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	return append(names, hold)
}

// sample is what a round of one side came to.
type sample struct {
	report
	server, upstream time.Duration // processor time
}

func (s sample) rate() float64    { return float64(s.Calls) / s.Took.Seconds() }
func (s sample) perCall() float64 { return micros(s.server, s.Calls) }
func (s sample) p50() float64     { return measure.Quantile(s.Total, 0.50) }
func (s sample) p99() float64     { return measure.Quantile(s.Total, 0.99) }
func (s sample) first50() float64 { return measure.Quantile(s.First, 0.50) }

func micros(d time.Duration, calls int) float64 {
	return float64(d.Microseconds()) / float64(max(calls, 1))
}

// results are the rounds of every side, in their order.
type results map[string][]sample

// median is that of a figure over the rounds of a side.
func (r results) median(side string, of func(sample) float64) float64 {
	var all []float64
	for _, s := range r[side] {
		all = append(all, of(s))
	}
	return measure.Median(all)
}

// ratio is the median over rounds of Penstock's figure to the proxy's in the same round: what slows the machine
// for a while slows both.
func (r results) ratio(of func(sample) float64) float64 { return r.ratioTo("proxy", of) }

func (r results) ratioTo(other string, of func(sample) float64) float64 {
	var all []float64
	for n, s := range r["penstock"] {
		all = append(all, of(s)/of(r[other][n]))
	}
	return measure.Median(all)
}

// added is what a side adds to the figure of the bare upstream, at least a hundredth of a millisecond: less cannot be
// told from nothing.
func (r results) added(side string, of func(sample) float64) float64 {
	var all []float64
	for n, s := range r[side] {
		all = append(all, of(s)-of(r["direct"][n]))
	}
	return max(0.01, measure.Median(all))
}

func (r results) print(w io.Writer) {
	for _, side := range sides {
		if len(r[side]) == 0 {
			continue
		}
		of := func(figure func(sample) float64) float64 { return r.median(side, figure) }
		fmt.Fprintf(w, "  %-9s %7.0f calls/s   CPU µs/call: server %4.0f, upstream %4.0f, generator %4.0f (%.0f %% of a core)   ms: p50 %.2f p99 %.2f, first p50 %.2f\n",
			side, of(sample.rate), of(sample.perCall), of(func(s sample) float64 { return micros(s.upstream, s.Calls) }),
			of(func(s sample) float64 { return micros(s.CPU, s.Calls) }), of(func(s sample) float64 { return 100 * s.CPU.Seconds() / s.Took.Seconds() }),
			of(sample.p50), of(sample.p99), of(sample.first50))
	}
	fmt.Fprintf(w, "  penstock to proxy, median of rounds: CPU %.2f×, calls/s %.2f×, p50 %.2f×, p99 %.2f×\n",
		r.ratio(sample.perCall), r.ratio(sample.rate), r.ratio(sample.p50), r.ratio(sample.p99))
	if len(r["fixed"]) > 0 {
		fmt.Fprintf(w, "  penstock to the one with %s, median of rounds: CPU %.3f×, calls/s %.3f×\n", strings.Join(fixedCollector, " "),
			r.ratioTo("fixed", sample.perCall), r.ratioTo("fixed", sample.rate))
	}
	if len(r["before"]) > 0 {
		fmt.Fprintf(w, "  penstock to the one of before, median of rounds: CPU %.3f×, calls/s %.3f×\n", r.ratioTo("before", sample.perCall), r.ratioTo("before", sample.rate))
	}
}

// sides are what is measured, in the order of their turns.
var sides = []string{"direct", "proxy", "penstock", "fixed", "before"}

// fixedCollector is the environment of the Penstock that package garbage is judged by.
var fixedCollector = []string{"GOGC=400", "GOMEMLIMIT=1GiB"}

// arena is the processes that take part.
type arena struct {
	options
	dir    string
	binary string
	model  *process.Process            // the simulated upstream
	by     map[string]*process.Process // each side's server
}

// measureAll runs what was asked for.
func measureAll(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp(o.dir, "penstock-gateway-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := &arena{options: o, dir: dir}
	if a.binary, err = process.Build(o.binary, dir); err != nil {
		return err
	}
	wanted := func(name string) bool { return o.only == "" || slices.Contains(strings.Split(o.only, ","), name) }
	for _, over := range []upstreamKind{plainHTTP1, pacedHTTP1, securedHTTP2} {
		var chosen []row
		for _, r := range rows {
			if r.over == over && wanted(r.name) {
				chosen = append(chosen, r)
			}
		}
		if err := a.measureRows(ctx, over, chosen); err != nil {
			return err
		}
	}
	if wanted(hold) {
		return a.measureHeld(ctx)
	}
	return nil
}

// measureRows measures the rows that share a kind of upstream.
func (a *arena) measureRows(ctx context.Context, over upstreamKind, chosen []row) error {
	if len(chosen) == 0 {
		return nil
	}
	if err := a.open(ctx, over); err != nil {
		return err
	}
	defer a.close()
	for _, r := range chosen {
		got, err := a.measure(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Printf("gateway %s: %s, %d rounds of %v\n", r.name, r.about, a.rounds, a.round)
		got.print(os.Stdout)
		measure.Print(os.Stdout, r.judge(got)...)
	}
	return nil
}

// open starts every side over one kind of upstream.
func (a *arena) open(ctx context.Context, over upstreamKind) (err error) {
	a.by = make(map[string]*process.Process)
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if over == securedHTTP2 {
		return a.openSecured(ctx)
	}
	model := a.command(ctx, "sim", "--fast", "--listen", "127.0.0.1:0")
	if over == pacedHTTP1 {
		model = process.Self(ctx, "upstream", "paced", "")
	}
	if a.model, err = process.Start("upstream", model); err != nil {
		return err
	}
	a.by["direct"] = a.model
	upstream := "http://" + a.model.Address
	if a.by["proxy"], err = process.Start("proxy", process.Self(ctx, "proxy", upstream)); err != nil {
		return err
	}
	return a.openPenstock(ctx, upstream)
}

// openPenstock starts Penstock, and the others that it is compared with.
func (a *arena) openPenstock(ctx context.Context, upstream string, env ...string) (err error) {
	if a.by["penstock"], err = startPenstock(ctx, a.binary, a.dir, upstream+"/v1", env...); err != nil {
		return err
	}
	if a.garbage {
		if a.by["fixed"], err = startPenstock(ctx, a.binary, a.dir, upstream+"/v1", append(fixedCollector, env...)...); err != nil {
			return err
		}
	}
	if a.before != "" {
		a.by["before"], err = startPenstock(ctx, a.before, a.dir, upstream+"/v1", env...)
	}
	return err
}

// openSecured starts both sides over an upstream behind TLS and HTTP/2. The generator of load speaks HTTP/1.1 in plain text,
// so there is no direct side.
func (a *arena) openSecured(ctx context.Context) (err error) {
	certificate := filepath.Join(a.dir, "fast.pem")
	if a.model, err = process.Start("upstream", process.Self(ctx, "upstream", "fast", certificate)); err != nil {
		return err
	}
	trust, upstream := "SSL_CERT_FILE="+certificate, "https://"+a.model.Address
	proxy := process.Self(ctx, "proxy", upstream)
	proxy.Env = append(os.Environ(), trust)
	if a.by["proxy"], err = process.Start("proxy", proxy); err != nil {
		return err
	}
	return a.openPenstock(ctx, upstream, trust)
}

func (a *arena) close() {
	for _, p := range a.by {
		if p != nil && p != a.model {
			p.Stop()
		}
	}
	if a.model != nil {
		a.model.Stop()
	}
	a.by, a.model = nil, nil
}

// measure takes turns among the sides.
func (a *arena) measure(ctx context.Context, r row) (results, error) {
	got := make(results)
	for n := range a.rounds + 1 {
		l := a.loadOf(r)
		l.Key, l.Length = key, a.round
		if n == 0 {
			l.Length = a.warm
		}
		for _, side := range sides {
			if a.by[side] == nil {
				continue
			}
			l.Address = a.by[side].Address
			s, err := a.turn(ctx, side, l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", side, err)
			}
			if n > 0 {
				got[side] = append(got[side], s)
			}
		}
	}
	return got, nil
}

// behind is how long the records of the last calls take to be written: that is a part of what they cost.
const behind = 500 * time.Millisecond

// turn is one round of one side.
func (a *arena) turn(ctx context.Context, side string, l load) (s sample, err error) {
	read := func() (server, upstream time.Duration) {
		if err == nil {
			server, err = a.by[side].CPU()
		}
		if err == nil {
			upstream, err = a.model.CPU()
		}
		return server, upstream
	}
	server, upstream := read()
	if err != nil {
		return s, err
	}
	profiled := a.profiling(ctx, side, l)
	if s.report, err = generate(ctx, l); err != nil {
		return s, err
	}
	if err := <-profiled; err != nil {
		return s, err
	}
	time.Sleep(behind)
	serverAfter, upstreamAfter := read()
	s.server, s.upstream = serverAfter-server, upstreamAfter-upstream
	return s, err
}

// profiling profiles the proxy and Penstock during a round, if a file was given.
func (a *arena) profiling(ctx context.Context, side string, l load) <-chan error {
	done := make(chan error, 1)
	from, file := a.by[side].Admin, a.profile
	if side == "proxy" {
		from, file = a.by[side].Address, a.profile+".proxy"
	}
	if a.profile == "" || side != "proxy" && side != "penstock" || l.Length != a.round {
		done <- nil
		return done
	}
	go func() { done <- process.Profiling{Address: from, Key: adminKey, Length: a.round, File: file}.Run(ctx) }()
	return done
}
