package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

// resultQuery is the flags of jobs results.
type resultQuery struct {
	order, status string
	after         int64
	follow        bool
}

func (sh *shell) jobsResultsCommand() *cobra.Command {
	var q resultQuery
	c := &cobra.Command{
		Use: "results JOB", Short: "Print the results so far", Args: takes("the job's id"),
		Long: `Prints the finished results. With -o json every result is a line of JSON with the
whole answer. --after resumes an earlier run. --follow waits until the job is
finished. With --order input, the results of a running job stop before its first open
item.`,
		Example: `  penstock jobs results job_01JQ…
  penstock jobs results job_01JQ… --status failed
  penstock jobs results job_01JQ… --follow -o json > results.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			filter := client.ResultFilter{Order: client.Order(q.order), Status: penstock.Status(q.status)}
			if c.Flags().Changed("after") {
				filter.After = &q.after
			}
			if !q.follow {
				return sh.results(c.Context(), args[0], filter)
			}
			return sh.followResults(c.Context(), args[0], filter)
		},
	}
	f := c.Flags()
	f.StringVar(&q.order, "order", string(client.OrderCompletion), "completion or input")
	f.StringVar(&q.status, "status", "", "only items in this status: succeeded, failed, cancelled or expired")
	f.Int64Var(&q.after, "after", 0, "resume after this seq, or with --order input after this index")
	f.BoolVarP(&q.follow, "follow", "f", false, "wait until the job is finished")
	return c
}

func (sh *shell) results(ctx context.Context, id string, f client.ResultFilter) error {
	cl, err := sh.connect(triesOnce)
	if err != nil {
		return err
	}
	t := sh.resultTable()
	for r, err := range cl.Results(ctx, id, f) {
		if err != nil {
			return err
		}
		if err := sh.printResult(t, r); err != nil {
			return err
		}
	}
	return t.end("No item is finished yet.")
}

// followEvery is how often results are looked for while a job runs.
const followEvery = time.Second

func (sh *shell) followResults(ctx context.Context, id string, f client.ResultFilter) error {
	cl, err := sh.connect(triesFollowed)
	if err != nil {
		return err
	}
	t := sh.resultTable()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		// Asked before the results are read, so that the last reading gets all of them.
		job, err := cl.Job(ctx, id)
		if err != nil {
			return err
		}
		for r, err := range cl.Results(ctx, id, f) {
			if err != nil {
				return err
			}
			if err := sh.printResult(t, r); err != nil {
				return err
			}
			if f.After = new(r.Seq); f.Order == client.OrderInput {
				f.After = new(int64(r.Index))
			}
		}
		if job.Finished() {
			return t.end("No item has this status.")
		}
		if err := t.out.Flush(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (sh *shell) resultTable() *table {
	return sh.table("SEQ", "INDEX", "CUSTOM ID", "ITEM", "STATUS", "TARGET", "ATTEMPTS", "TOKENS", "COST", "ANSWER OR ERROR")
}

func (sh *shell) printResult(t *table, r *client.Result) error {
	if sh.output == outputJSON {
		t.rows++ // it has one, though not in the table
		return sh.raw(r.Raw)
	}
	said := answer(r)
	if r.Error != nil {
		said = itemError(r.Error)
	}
	return t.row(fmt.Sprint(r.Seq), strconv.Itoa(r.Index), r.CustomID, r.ItemID, string(r.Status), r.Target,
		strconv.Itoa(r.Attempts), tokens(r.Usage), dollars(r.Usage.Cost), sh.brief(said))
}
