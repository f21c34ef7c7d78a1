package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) jobsWatchCommand() *cobra.Command {
	return &cobra.Command{
		Use: "watch JOB", Short: "Follow a job until it is finished", Args: takes("the job's id"),
		Long: `Follows a job's events until it is finished, also across restarts of the server. On a
terminal it shows a progress bar with rate, remaining time, cost and failures. Elsewhere
it prints a line for each event, or for more than 1,000 items a line now and then. It
exits with 3 if some items did not succeed. Ctrl-C stops the command, not the job.`,
		Example: "  penstock jobs watch job_01JQ…\n  penstock jobs watch $(penstock jobs submit --model fast Hello) && echo done",
		RunE:    func(c *cobra.Command, args []string) error { return sh.watch(c.Context(), args[0]) },
	}
}

func (sh *shell) watch(ctx context.Context, id string) error {
	once, err := sh.connect(triesOnce)
	if err != nil {
		return err
	}
	job, err := once.Job(ctx, id)
	if err != nil {
		return err
	}
	following, err := sh.connect(triesFollowed)
	if err != nil {
		return err
	}
	if sh.output != outputJSON && (sh.terminal || job.Counts.Total > maxShownItems) {
		err = sh.showProgress(ctx, following, id)
	} else {
		err = sh.showEvents(following.Events(ctx, id, 0))
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("stopped watching; %s continues", id)
		}
		return err
	}
	if job, err = following.Job(ctx, id); err != nil {
		return err
	}
	if sh.output != outputJSON {
		fmt.Fprintf(sh.stdout, "%s %s: %s; %s, %s\n", job.ID, job.Status, countsText(job.Counts), tokens(job.Usage), dollars(job.Usage.Cost))
	}
	return outcomeError(job)
}

// maxShownItems is up to how many items each of them gets a line where there is no terminal.
const maxShownItems = 1000

// How often progress is read, and how often it is printed without a terminal.
const (
	lookEvery  = 500 * time.Millisecond
	printEvery = 10 * time.Second
)

// showProgress follows a job by what its status tells: on a terminal as a line that moves, elsewhere as a line now
// and then. It costs the server the same, however large the job is.
func (sh *shell) showProgress(ctx context.Context, cl *client.Client, id string) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var printed time.Time
	for {
		job, err := cl.Job(ctx, id)
		if sh.terminal {
			fmt.Fprint(sh.stdout, eraseLine)
		}
		if err != nil || job.Finished() {
			return err
		}
		switch now := sh.now(); {
		case sh.terminal:
			_, err = fmt.Fprint(sh.stdout, cutLine(progressBar(job, now)))
		case now.Sub(printed) >= printEvery:
			printed = now
			_, err = fmt.Fprintln(sh.stdout, now.UTC().Format(time.RFC3339), job.ID, progressBar(job, now))
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// showEvents prints events as they come.
func (sh *shell) showEvents(events func(func(*client.Event, error) bool)) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if sh.output == outputJSON {
			err = sh.raw(e.Raw)
		} else {
			_, err = fmt.Fprintln(sh.stdout, eventLine(e))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseLine goes to the start of a terminal's line and empties it.
const eraseLine = "\r\x1b[K"

// cutLine lets a terminal cut off what does not fit: a line that goes on in the next could not be erased.
func cutLine(text string) string { return "\x1b[?7l" + text + "\x1b[?7h" }

func eventLine(e *client.Event) string {
	words := []string{e.CreatedAt.UTC().Format(time.RFC3339Nano), string(e.Type)}
	if e.ItemID != "" && e.Data == nil {
		words = append(words, e.ItemID, strconv.Quote(e.Text))
	}
	if r := e.Data; r != nil {
		words = append(words, r.ItemID, r.CustomID, r.Target, itemError(r.Error))
	}
	return clean(strings.Join(strings.Fields(strings.Join(words, " ")), " "))
}

const barWidth = 20

// progressBar is how far a job is, what went wrong, how fast it goes, when it will be done, and what it cost: in 80
// columns, unless all of that is large.
func progressBar(j *client.Job, now time.Time) string {
	done := j.Counts.Total - j.Counts.Open()
	filled := barWidth * done / max(j.Counts.Total, 1)
	words := []string{fmt.Sprintf("%s [%s%s] %d/%d", j.Status, strings.Repeat("#", filled), strings.Repeat("-", barWidth-filled), done, j.Counts.Total)}
	for _, s := range []penstock.Status{penstock.StatusFailed, penstock.StatusCancelled, penstock.StatusExpired} {
		if n := *j.Counts.Of(s); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, s))
		}
	}
	if j.WaitingOn != "" {
		words = append(words, "waiting on "+j.WaitingOn)
	}
	if j.ItemsPerSecond > 0 {
		words = append(words, fmt.Sprintf("%.4g/s", j.ItemsPerSecond))
	}
	if left := j.EstimatedFinishAt.Sub(now); !j.EstimatedFinishAt.IsZero() && left > 0 {
		words = append(words, left.Round(time.Second).String()+" left")
	}
	if j.Usage.Cost > 0 {
		words = append(words, dollars(j.Usage.Cost))
	}
	return strings.Join(words, ", ")
}
