package main

import (
	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) jobsRetryCommand() *cobra.Command {
	var order client.JobRetry
	var fresh bool
	var key string
	c := &cobra.Command{
		Use: "retry JOB", Short: "Retry the items that did not succeed, in a new job", Args: takes("the job's id"),
		Long: `Creates a new job from the items of a job that failed, expired or were cancelled, with
the same inputs and custom ids. An item can be retried once; retry the new job
next time. It runs on the targets that the first job was resolved to, or with --fresh on
the current targets of its model.`,
		Example: "  penstock jobs retry job_01JQ…\n  penstock jobs watch $(penstock jobs retry job_01JQ… --fresh --rate 5)",
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
	f.StringVar(&key, "idempotency-key", "", "key of this retry: the same key returns the same job")
	return c
}
