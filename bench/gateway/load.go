package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"penstock/bench/caller"
	"penstock/bench/measure"
)

// load is what a generator does to a server.
type load struct {
	Address string
	Key     string
	Mode    string // closed, open or hold
	Length  time.Duration
	Conns   int
	Rate    int // open: calls a second; hold: streams opened a second
	Body    int // bytes of a call's body
	Stream  bool
	Agent   bool // a conversation with tools instead of one long message
}

// report is what a generator measured.
type report struct {
	Calls  int
	Took   time.Duration
	CPU    time.Duration // of the generator itself
	Total  []float64     // milliseconds of whole answers
	First  []float64     // milliseconds until the first byte of the body
	Failed int
	Why    string // the first failure
	Peak   int    // hold: the most streams that were open at a time, begun and not ended
}

// loadRole is the generator as a process: settings as JSON in, a report as JSON out.
func loadRole(_ context.Context, args []string) error {
	if len(args) != 1 {
		return flag.ErrHelp
	}
	var l load
	if err := json.Unmarshal([]byte(args[0]), &l); err != nil {
		return err
	}
	g := &generator{load: l, request: caller.Post(caller.Target{Address: l.Address, Path: "/v1/chat/completions", Key: l.Key}, l.body())}
	began, cpu := time.Now(), measure.CPU()
	switch l.Mode {
	case "closed":
		g.closed()
	case "open":
		g.open()
	case "hold":
		g.hold()
	default:
		return fmt.Errorf("there is no load %q", l.Mode)
	}
	g.report.Took, g.report.CPU = time.Since(began), measure.CPU()-cpu
	return json.NewEncoder(os.Stdout).Encode(g.report)
}

// body is a chat of the load's size, as an SDK writes it.
func (l load) body() []byte {
	if l.Agent {
		return agentBody(l.Body)
	}
	const before, after = `{"model":"fast","messages":[{"role":"user","content":"`, `"}],"max_tokens":200}`
	tail := after
	if l.Stream {
		tail = strings.TrimSuffix(after, "}") + `,"stream":true}`
	}
	const words = `What does a weir do? Say it in \"plain\" words.\n`
	fill := max(0, l.Body-len(before)-len(tail))
	text := strings.Repeat(words, fill/len(words)) + strings.Repeat("x", fill%len(words))
	return []byte(before + text + tail)
}

// generator makes the calls of a load.
type generator struct {
	load
	request []byte
	next    atomic.Int64
	begun   atomic.Int64

	mu     sync.Mutex
	report report
}

// note adds a call to the report. Latencies count from the given time.
func (g *generator) note(from, first, end time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.report.Calls++
	if err != nil {
		if g.report.Failed++; g.report.Why == "" {
			g.report.Why = err.Error()
		}
		return
	}
	g.report.Total = append(g.report.Total, end.Sub(from).Seconds()*1000)
	g.report.First = append(g.report.First, first.Sub(from).Seconds()*1000)
}

// closed makes one call after the other on every connection.
func (g *generator) closed() {
	end := time.Now().Add(g.Length)
	g.each(g.Conns, func(c *caller.Client) {
		for time.Now().Before(end) {
			from := time.Now()
			first, err := c.Call()
			g.note(from, first, time.Now(), err)
		}
	})
}

// open makes calls by the clock. One that could not begin in time, because all connections were busy, counts from when
// it should have: a stall counts for all that it delays. That a sleep ends late is the generator's own affair.
func (g *generator) open() {
	began, interval := time.Now(), time.Second/time.Duration(g.Rate)
	calls := int64(g.Length / interval)
	g.each(g.Conns, func(c *caller.Client) {
		for n := g.next.Add(1) - 1; n < calls; n = g.next.Add(1) - 1 {
			from := began.Add(time.Duration(n) * interval)
			if wait := time.Until(from); wait > 0 {
				time.Sleep(wait)
				from = time.Now()
			}
			first, err := c.Call()
			g.note(from, first, time.Now(), err)
		}
	})
}

// hold opens streams, each on a connection of its own, and reads all of them to their end.
func (g *generator) hold() {
	interval := time.Second / time.Duration(g.Rate)
	began := time.Now()
	var all sync.WaitGroup
	for n := range g.Conns {
		time.Sleep(time.Until(began.Add(time.Duration(n) * interval)))
		all.Go(func() {
			c := &caller.Client{Address: g.Address, Request: g.request}
			defer c.Close()
			from := time.Now()
			first, err := g.stream(c)
			g.note(from, first, time.Now(), err)
		})
	}
	all.Wait()
}

// stream reads one stream, and counts it while it is open.
func (g *generator) stream(c *caller.Client) (first time.Time, err error) {
	open := false
	defer func() {
		if open {
			g.begun.Add(-1)
		}
	}()
	if err := c.Send(); err != nil {
		return first, err
	}
	return c.Answer(func() {
		open = true
		now := int(g.begun.Add(1))
		g.mu.Lock()
		g.report.Peak = max(g.report.Peak, now)
		g.mu.Unlock()
	})
}

func (g *generator) each(n int, work func(*caller.Client)) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			c := &caller.Client{Address: g.Address, Request: g.request}
			defer c.Close()
			work(c)
		})
	}
	all.Wait()
}

// err says what went wrong with a load, nil if nothing did.
func (r report) err() error {
	if r.Failed > 0 {
		return fmt.Errorf("%d of %d calls failed, the first: %s", r.Failed, r.Calls, r.Why)
	}
	if len(r.Total) == 0 {
		return errors.New("no call was made")
	}
	return nil
}
