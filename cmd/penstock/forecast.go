package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/config"
	"penstock/internal/forecast"
)

func (sh *shell) forecastCommand() *cobra.Command {
	return &cobra.Command{
		Use: "forecast SCENARIO", Short: "Predict the waits, the throughput and the refusals of a load", Args: takes("the scenario's file"),
		Long: `Simulates a load against targets, with the scheduler and the limiters of the server on
a simulated clock. Predicts how long work would wait, how much would finish, and how
often upstreams would refuse: in seconds, for any load. The same scenario and seed
give the same result.

A scenario is a YAML file: processes, targets with configured and real limits, models,
groups of tenants with their work, and faults over time. docs/how-to/size-a-machine.md explains it and has examples. It
calls no server and no model.`,
		Example: "  penstock forecast scenario.yaml\n  penstock forecast scenario.yaml -o json",
		RunE:    func(c *cobra.Command, args []string) error { return sh.forecast(c.Context(), args[0]) },
	}
}

func (sh *shell) forecast(ctx context.Context, path string) error {
	scenario, err := forecast.Load(path)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return &configError{path, problems}
	}
	if err != nil {
		return err
	}
	result, err := forecast.Run(ctx, scenario, sh.forecastProgress())
	if err != nil {
		return fmt.Errorf("simulating %s: %w", path, err)
	}
	if sh.output == outputJSON {
		return sh.json(result)
	}
	return sh.showForecast(result)
}

// How often a long forecast tells how far it is: on a terminal, and where each time is a line of its own.
const (
	progressPace     = time.Second
	progressLinePace = 15 * time.Second
)

// forecastProgress reports the progress of a run on stderr. Short runs report nothing.
func (sh *shell) forecastProgress() func(forecast.Progress) {
	pace, format := progressLinePace, "%s\n"
	if sh.terminal {
		pace, format = progressPace, eraseLine+"%s"
	}
	next, shown := sh.now().Add(pace), false
	return func(p forecast.Progress) {
		now := sh.now()
		if p.Over() && shown && sh.terminal {
			fmt.Fprint(sh.stderr, eraseLine)
		}
		if p.Over() || now.Before(next) {
			return
		}
		next, shown = now.Add(pace), true
		fmt.Fprintf(sh.stderr, format, fmt.Sprintf("%s of %s simulated, %s ended",
			p.At.Round(time.Second), p.Of, plural(int(p.Items), "item")))
	}
}

func (sh *shell) showForecast(r *forecast.Result) error {
	if r.About != "" {
		fmt.Fprintln(sh.stdout, clean(r.About))
	}
	fmt.Fprintln(sh.stdout, r.Summary())
	for _, t := range r.Tables() {
		fmt.Fprintf(sh.stdout, "\n%s\n", t.Title)
		out := sh.table(t.Header...)
		for _, row := range t.Rows {
			if err := out.row(row...); err != nil {
				return err
			}
		}
		if err := out.end("nothing"); err != nil {
			return err
		}
	}
	return nil
}
