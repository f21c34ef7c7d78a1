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
		Long: `Follows a job's events until it is finished, over restarts of the server: on a
terminal as one line that moves, elsewhere as a line for each event. It exits with
3 if some items did not succeed. Ctrl-C ends the watching, not the job.`,
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
	err = sh.showEvents(following.Events(ctx, id, 0), newProgress(job))
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("stopped watching; %s goes on", id)
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

// showEvents prints events as they come.
func (sh *shell) showEvents(events func(func(*client.Event, error) bool), p *progress) error {
	live := sh.terminal && sh.output != outputJSON
	for e, err := range events {
		if err != nil {
			if live {
				fmt.Fprint(sh.stdout, eraseLine)
			}
			return err
		}
		p.add(e)
		switch {
		case sh.output == outputJSON:
			err = sh.raw(e.Raw)
		case !live:
			_, err = fmt.Fprintln(sh.stdout, eventLine(e))
		case p.due(sh.now()):
			_, err = fmt.Fprint(sh.stdout, eraseLine+p.line())
		}
		if err != nil {
			return err
		}
	}
	if live {
		fmt.Fprint(sh.stdout, eraseLine)
	}
	return nil
}

// eraseLine goes to the start of a terminal's line and empties it.
const eraseLine = "\r\x1b[K"

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

// progress counts what the events of a job tell.
type progress struct {
	job    string
	status penstock.Status
	counts penstock.Counts
	drawn  time.Time
}

// drawEvery is how often the line is drawn at the most: a terminal is slower than a job.
const drawEvery = 100 * time.Millisecond

func newProgress(j *client.Job) *progress {
	return &progress{job: j.ID, status: penstock.StatusQueued, counts: penstock.Counts{Total: j.Counts.Total, Queued: j.Counts.Total}}
}

func (p *progress) add(e *client.Event) {
	switch {
	case e.Type == penstock.EventJobStarted:
		p.status = penstock.StatusRunning
	case e.Data != nil && e.Data.Status.Terminal() && p.counts.Queued > 0:
		p.counts.Move(penstock.StatusQueued, e.Data.Status)
	}
}

// due reports whether the line should be drawn again.
func (p *progress) due(now time.Time) bool {
	if p.counts.Open() > 0 && now.Sub(p.drawn) < drawEvery {
		return false
	}
	p.drawn = now
	return true
}

const barWidth = 30

func (p *progress) line() string {
	done := p.counts.Total - p.counts.Open()
	filled := barWidth * done / max(p.counts.Total, 1)
	missed := ""
	for _, s := range []penstock.Status{penstock.StatusFailed, penstock.StatusCancelled, penstock.StatusExpired} {
		if n := *p.counts.Of(s); n > 0 {
			missed += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return fmt.Sprintf("%s %s [%s%s] %d/%d%s", p.job, p.status,
		strings.Repeat("#", filled), strings.Repeat("-", barWidth-filled), done, p.counts.Total, missed)
}
