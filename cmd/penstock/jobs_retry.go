package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) jobsRetryCommand() *cobra.Command {
	var order client.JobRetry
	var fresh, dryRun bool
	var key string
	c := &cobra.Command{
		Use: "retry JOB", Short: "Retry the items that did not succeed, in a new job", Args: takes("the job's id"),
		Long: `Creates a new job from the items of a job that failed, expired or were cancelled, with
the same inputs and custom ids. An item can be retried once; retry the new job
next time. It runs on the targets that the first job was resolved to, or with --fresh on
the current targets of its model.`,
		Example: "  penstock jobs retry job_01JQ… --dry-run\n  penstock jobs retry job_01JQ…\n  penstock jobs watch $(penstock jobs retry job_01JQ… --fresh --rate 5)",
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("rate") && order.Rate <= 0 {
				return usageError{"--rate must be above 0"}
			}
			if fresh {
				order.Resolve = penstock.ResolveFresh
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			if dryRun {
				return sh.tryRetry(c.Context(), cl, args[0], order)
			}
			var options []client.SubmitOption
			if key != "" {
				options = append(options, client.IdempotencyKey(key))
			}
			job, err := cl.RetryJob(c.Context(), args[0], order, options...)
			if err != nil {
				return err
			}
			return sh.printAccepted(job)
		},
	}
	f := c.Flags()
	f.BoolVar(&fresh, "fresh", false, "use the current definition of the model")
	f.Float64Var(&order.Rate, "rate", 0, "maximum number of items that start per second")
	f.BoolVar(&dryRun, "dry-run", false, "only show how many items would run, and their cost at most")
	f.StringVar(&key, "idempotency-key", "", "key of this retry: the same key returns the same job")
	return c
}

// tryRetry prints the effect that a retry would have.
func (sh *shell) tryRetry(ctx context.Context, cl *client.Client, job string, order client.JobRetry) error {
	t, err := order.Try(ctx, cl, job)
	if err != nil {
		return err
	}
	if sh.output == outputJSON {
		return sh.raw(t.Raw)
	}
	return sh.describe(
		field{"Retry of", t.RetryOf}, field{"Items", strconv.Itoa(t.Items)},
		field{"At most", fmt.Sprintf("%d tokens, %s", t.AtMost.Tokens, dollars(t.AtMost.Cost))},
	)
}
