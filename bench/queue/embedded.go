package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"penstock/bench/measure"
)

// embeddedSlots are enough to claim one group of the raw loop's size while another runs: a provider that answers at once needs
// no more.
const embeddedSlots = 2 * rawGroup

// embedded compares Penstock on SQLite with a raw loop over the same rows.
func embedded(ctx context.Context, o options, args []string) error {
	var l embeddedLoad
	f := flag.NewFlagSet("embedded", flag.ContinueOnError)
	l.flags(f)
	_ = f.Set("batch", fmt.Sprint(rawGroup))
	f.BoolVar(&l.copies, "copies", false, "have the raw loop write copies of one sealed payload instead of sealing each for its item")
	only := f.String("only", "", "measure this side alone, for profiles")
	f.StringVar(&l.profile.cpu, "cpuprofile", "", "write a CPU profile of the last round to this file")
	f.StringVar(&l.profile.allocs, "allocprofile", "", "write a profile of all allocations so far to this file after each round")
	f.StringVar(&l.profile.trace, "trace", "", "write an execution trace of the last round to this file; costs some speed")
	if err := f.Parse(args); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "durable items end to end on SQLite, jobs of %d, %d producers, %d slots, beside the same rows written by a raw loop in groups of %d:\n",
		l.batch, l.producers, embeddedSlots, rawGroup)
	sides := []struct {
		name  string
		round func(context.Context, options, *embeddedLoad) (result, written, error)
	}{{"penstock", embeddedRound}, {"raw", rawRound}}
	rates, wrote := map[string][]float64{}, map[string]written{}
	for n := range l.rounds {
		for _, s := range sides {
			if *only != "" && *only != s.name {
				continue
			}
			r, w, err := s.round(ctx, o, &l)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(o.out, "  round %d  %-9s %v\n", n+1, s.name, r)
			rates[s.name], wrote[s.name] = append(rates[s.name], r.rate()), w
		}
	}
	if *only != "" {
		return nil
	}
	if !wrote["penstock"].like(wrote["raw"]) {
		return fmt.Errorf("the two sides do not write the same for an item (penstock: %v; raw: %v); bring raw.go up to date", wrote["penstock"], wrote["raw"])
	}
	fmt.Fprintf(o.out, "  penstock %v\n  raw      %v\n", wrote["penstock"], wrote["raw"])
	ours, raw := measure.Median(rates["penstock"]), measure.Median(rates["raw"])
	fmt.Fprintf(o.out, "  median   penstock %.0f, raw %.0f items/s\n", ours, raw)
	o.judge(measure.AtLeast("items/s, Penstock over the raw loop", ours/raw, 0.6, "×"))
	return nil
}

// embeddedLoad is a load of a database in this process.
type embeddedLoad struct {
	load
	profile profile
	copies  bool // the raw loop copies one sealed payload
}

func embeddedRound(ctx context.Context, o options, l *embeddedLoad) (r result, w written, err error) {
	in, err := openInstance(ctx, instanceConfig{slots: embeddedSlots, dir: o.dir})
	if err != nil {
		return r, w, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	stop, err := l.profile.start(ctx, nil, "")
	if err != nil {
		return r, w, err
	}
	r, err = l.run(ctx, in, func() time.Duration { return 0 })
	if err := errors.Join(err, stop()); err != nil {
		return r, w, err
	}
	if err := audit(ctx, in); err != nil {
		return r, w, err
	}
	w, err = writtenPerItem(ctx, filepath.Join(in.data, "penstock.db"))
	w.toFiles = float64(r.files) / float64(max(r.items, 1))
	return r, w, err
}

func rawRound(ctx context.Context, o options, l *embeddedLoad) (r result, w written, err error) {
	raw, err := openRaw(ctx, o.dir, &rawLoop{copies: l.copies})
	if err != nil {
		return r, w, err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	runtime.GC()
	if r, err = raw.measure(l.warm, l.round); err != nil {
		return r, w, err
	}
	w, err = writtenPerItem(ctx, filepath.Join(raw.dir, "raw.db"))
	w.toFiles = float64(r.files) / float64(max(r.items, 1))
	return r, w, err
}
