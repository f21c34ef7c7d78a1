package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/backlog"
)

// topOptions say what top shows.
type topOptions struct {
	admin    string
	interval time.Duration
	rows     int
	once     bool
}

const (
	defaultTopInterval = 2 * time.Second
	minTopInterval     = 100 * time.Millisecond
	defaultTopRows     = 20
)

func (sh *shell) topCommand() *cobra.Command {
	var o topOptions
	c := &cobra.Command{
		Use: "top", Short: "Watch the depth and the drain rate of the queue, and running work", Args: takes(),
		Long: `Shows queued and running work by lane, tenant and model, the deepest first, and the
drain rate, over all processes. For targets it shows the use and the limits of the
process that answers, so ask a worker (--admin-url). On a terminal it refreshes until
Ctrl-C; elsewhere, with --once or with -o json it prints once.

MAX TOKENS/S counts the most tokens that started items may use, their longest answer
included, as limits and fair shares do. "penstock usage" has the tokens that were used.

STATE of a target is open, paused, resting (it asked for a pause), broken (its calls
fail) or probed (single calls test it). CALLS is the number of running calls and its
bound, LIMITS the use of the limits per minute; "~" marks limits that were learned from
headers.`,
		Example: "  penstock top\n  penstock top --once --admin-url http://10.0.0.5:9090\n  penstock top -o json | jq '.targets[0]'",
		RunE:    func(c *cobra.Command, _ []string) error { return sh.top(c.Context(), o) },
	}
	adminFlag(c, &o.admin)
	c.Flags().BoolVar(&o.once, "once", false, "print once and exit")
	c.Flags().DurationVar(&o.interval, "interval", defaultTopInterval, "refresh interval")
	c.Flags().IntVar(&o.rows, "rows", defaultTopRows, "maximum number of tenants, models and targets")
	c.PreRunE = func(*cobra.Command, []string) error {
		if o.interval < minTopInterval {
			return usageError{fmt.Sprintf("--interval must be at least %v", minTopInterval)}
		}
		if o.rows < 1 {
			return usageError{"--rows must be at least 1"}
		}
		return nil
	}
	return c
}

func (sh *shell) top(ctx context.Context, o topOptions) error {
	picture, err := sh.picture(ctx, o)
	if err != nil {
		return err
	}
	if o.once || !sh.terminal || sh.output == outputJSON {
		_, err := sh.stdout.Write(picture)
		return err
	}
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	for {
		const home, clear = "\x1b[H", "\x1b[J"
		if _, err := fmt.Fprintf(sh.stdout, "%s%s%s", home, clear, picture); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		next, err := sh.picture(ctx, o)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil: // a server that restarts is no reason to stop watching
			next = fmt.Appendf(nil, "%s\n", clean(err.Error()))
		}
		picture = next
	}
}

// picture is what is to be seen now.
func (sh *shell) picture(ctx context.Context, o topOptions) ([]byte, error) {
	admin, err := sh.connectAdmin(o.admin)
	if err != nil {
		return nil, err
	}
	var answer json.RawMessage
	if err := admin.do(ctx, adminCall{method: http.MethodGet, path: []string{"admin", "v1", "load"}}, &answer); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	frame := *sh
	frame.stdout = &out
	if sh.output == outputJSON {
		err := frame.raw(answer)
		return out.Bytes(), err
	}
	var report backlog.LoadReport
	if err := json.Unmarshal(answer, &report); err != nil {
		return nil, fmt.Errorf("reading the load: %w", err)
	}
	err = frame.printLoad(report, o.rows)
	return out.Bytes(), err
}

func (sh *shell) printLoad(r backlog.LoadReport, rows int) error {
	t, here := r.Total, "none"
	if r.Process.Works {
		here = fmt.Sprintf("%d of %d in use", r.Process.InUse, r.Process.Slots+r.Process.PoolSlots)
	}
	fmt.Fprintf(sh.stdout, "%s ready, %s parked, %s running; %s/s started; %s wanted, %s here (%s)\n",
		readable(t.Ready), readable(t.Parked), readable(t.Running), rateText(t.ItemsPerSecond), plural(r.Slots, "slot"), here, clean(r.Process.Name))
	if !r.Current {
		fmt.Fprintln(sh.stdout, "The server cannot read its store: the figures are missing or out of date.")
	}
	for _, part := range []struct {
		title string
		rows  []backlog.Row
	}{{"LANE", r.Lanes}, {"TENANT", r.Tenants}, {"MODEL", r.Models}} {
		if len(part.rows) == 0 {
			continue
		}
		fmt.Fprintln(sh.stdout)
		if err := sh.printRows(part.title, part.rows[:min(rows, len(part.rows))]); err != nil {
			return err
		}
		sh.printMore(len(part.rows) - rows)
	}
	if len(r.Targets) == 0 {
		return nil
	}
	fmt.Fprintln(sh.stdout)
	if err := sh.printTargets(r.Targets[:min(rows, len(r.Targets))]); err != nil {
		return err
	}
	sh.printMore(len(r.Targets) - rows)
	return nil
}

// printMore says that a table was cut.
func (sh *shell) printMore(more int) {
	if more > 0 {
		fmt.Fprintf(sh.stdout, "and %d more; --rows shows them\n", more)
	}
}

func (sh *shell) printTargets(targets []backlog.TargetLoad) error {
	t := sh.table("TARGET", "STATE", "CALLS", "CALLS/S", "REFUSED", "LIMITS")
	for _, r := range targets {
		state := string(r.State)
		if r.State == backlog.TargetResting {
			state += " " + roughly(time.Duration(math.Ceil(r.RestSeconds))*time.Second)
		}
		err := t.row(r.Name, state, fmt.Sprintf("%d/%d", r.Running, r.Permits), rateText(r.CallsPerSecond), readable(r.Throttles), limitsText(r.Limits))
		if err != nil {
			return err
		}
	}
	return t.end("")
}

// limitsText shows what is used of each limit.
func limitsText(limits []backlog.TargetRate) string {
	all := make([]string, len(limits))
	for i, l := range limits {
		about := ""
		if l.Learned {
			about = "~"
		}
		all[i] = fmt.Sprintf("%s/%s%s %s", readable(l.Used), about, readable(l.PerMinute), strings.ReplaceAll(l.Resource, "_", " "))
	}
	return strings.Join(all, ", ")
}

func (sh *shell) printRows(title string, rows []backlog.Row) error {
	t := sh.table(title, "READY", "PARKED", "RUNNING", "OLDEST", "STARTED/S", "MAX TOKENS/S", "ITEM TAKES", "EMPTY IN")
	for _, r := range rows {
		oldest := ""
		if r.Ready > 0 {
			oldest = roughly(time.Duration(r.OldestSeconds * float64(time.Second)))
		}
		err := t.row(r.Name, readable(r.Ready), readable(r.Parked), readable(r.Running), oldest,
			rateText(r.ItemsPerSecond), rateText(r.TokensPerSecond), took(r.ServiceSeconds), remaining(r.EmptyInSeconds))
		if err != nil {
			return err
		}
	}
	return t.end("")
}

// readable shows a number to a person: up to four digits as they are, and larger numbers with a unit.
func readable(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"k", "M", "G", "T"} {
		if value /= 1000; value < 999.95 {
			break
		}
	}
	if value >= 100 {
		return fmt.Sprintf("%.0f%s", value, unit)
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0") + unit
}

// rateText shows a rate with as many digits as mean anything.
func rateText(perSecond float64) string {
	if perSecond >= 100 || perSecond == 0 {
		return readable(int64(math.Round(perSecond)))
	}
	return fmt.Sprintf("%.2g", perSecond)
}

// took shows how long an item runs, if that is known: none was caught running where it is nothing.
func took(seconds *float64) string {
	if seconds == nil || *seconds < 0.001 {
		return ""
	}
	return time.Duration(*seconds * float64(time.Second)).Round(time.Millisecond).String()
}

// remaining shows a time to come, if it is known.
func remaining(seconds *float64) string {
	const longest = 1000 * 24 * 60 * 60
	switch {
	case seconds == nil:
		return ""
	case *seconds > longest:
		return "years"
	}
	return roughly(time.Duration(*seconds * float64(time.Second)))
}
