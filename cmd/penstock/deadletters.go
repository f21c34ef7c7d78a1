package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) deadLettersCommand() *cobra.Command {
	return noun("dead-letters", "List, retry and dismiss failed items",
		sh.deadLettersListCommand(), sh.deadLettersRetryCommand(), sh.deadLettersDismissCommand())
}

// deadLetterQuery is the flags that select dead letters.
type deadLetterQuery struct {
	job, model, code, kind, fingerprint string
	since, before                       string
	all                                 bool
}

func (q *deadLetterQuery) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&q.job, "job", "", "only those of this job")
	f.StringVar(&q.model, "model", "", "only those of this model")
	f.StringVar(&q.code, "code", "", "only those that failed with this code, such as upstream_timeout")
	f.StringVar(&q.kind, "kind", "", "only those whose last upstream error was of this kind, such as overloaded")
	f.StringVar(&q.fingerprint, "fingerprint", "", "only those with this fingerprint")
	f.StringVar(&q.since, "since", "", "only those that failed since this `TIME`, RFC 3339 or a time ago such as 24h")
	f.StringVar(&q.before, "before", "", "only those that failed before this `TIME`, RFC 3339 or a time ago such as 1h")
}

func (q *deadLetterQuery) filter(now time.Time) (client.DeadLetterFilter, error) {
	f := client.DeadLetterFilter{
		All: q.all, JobID: q.job, Model: q.model, Code: penstock.Code(q.code), ErrorKind: q.kind, Fingerprint: q.fingerprint,
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	var err error
	if f.CreatedAfter, err = moment("--since", q.since, ago); err != nil {
		return f, err
	}
	f.CreatedBefore, err = moment("--before", q.before, ago)
	return f, err
}

// deliberate is the filter of a command that changes something: an empty filter must not select everything by accident.
func (q *deadLetterQuery) deliberate(now time.Time) (client.DeadLetterFilter, error) {
	f, err := q.filter(now)
	if err == nil && f == (client.DeadLetterFilter{}) {
		err = usageError{"say which dead letters are meant, by --fingerprint, --model or another flag, or --all for every one"}
	}
	if err == nil && f.All && f != (client.DeadLetterFilter{All: true}) {
		err = usageError{"--all means every dead letter; do not combine it with other filters"}
	}
	return f, err
}

func (sh *shell) deadLettersListCommand() *cobra.Command {
	var q deadLetterQuery
	var limit int
	var items bool
	c := &cobra.Command{
		Use: "list", Short: "List failed items by cause", Args: takes(),
		Long: `Lists dead letters in groups: failures with the same cause share a fingerprint. With
--items it lists them one by one, oldest first.`,
		Example: `  penstock dead-letters list
  penstock dead-letters list --items --fingerprint upstream_timeout/timeout/openai-mini --since 24h
  penstock dead-letters list --limit 1000 -o json | jq -r '.data[] | "\(.count) \(.sample.message)"'`,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			filter, err := q.filter(sh.now())
			if err != nil {
				return err
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			list := client.DeadLetterList{Filter: filter, PageSize: limit + 1}
			if items {
				deadLetters, err := firstOf(cl.DeadLetters(c.Context(), list), limit)
				if err != nil {
					return err
				}
				return sh.deadLetters().show(sh, deadLetters)
			}
			groups, err := firstOf(cl.DeadLetterGroups(c.Context(), list), limit)
			if err != nil {
				return err
			}
			return sh.deadLetterGroups().show(sh, groups)
		},
	}
	q.flags(c)
	c.Flags().BoolVar(&items, "items", false, "list the items one by one")
	c.Flags().IntVar(&limit, "limit", 20, "maximum number")
	return c
}

func (sh *shell) deadLetterGroups() look[*client.DeadLetterGroup] {
	return look[*client.DeadLetterGroup]{
		header: []string{"FINGERPRINT", "COUNT", "MODEL", "FIRST", "LAST", "SAMPLE", "MESSAGE"},
		cells: func(g *client.DeadLetterGroup) []string {
			return []string{g.Fingerprint, strconv.Itoa(g.Count), g.Model, sh.when(g.FirstAt), sh.when(g.LastAt), g.Sample.ItemID, sh.brief(g.Sample.Message)}
		},
		raw:   func(g *client.DeadLetterGroup) json.RawMessage { return g.Raw },
		empty: "There are no dead letters.",
	}
}

func (sh *shell) deadLetters() look[*client.DeadLetter] {
	return look[*client.DeadLetter]{
		header: []string{"ITEM", "JOB", "MODEL", "CODE", "KIND", "FINGERPRINT", "CREATED", "MESSAGE"},
		cells: func(d *client.DeadLetter) []string {
			return []string{d.ItemID, d.JobID, d.Model, string(d.Code), d.ErrorKind, d.Fingerprint, sh.when(d.CreatedAt), sh.brief(d.Message)}
		},
		raw:   func(d *client.DeadLetter) json.RawMessage { return d.Raw },
		empty: "There are no dead letters.",
	}
}

func (sh *shell) deadLettersRetryCommand() *cobra.Command {
	var q deadLetterQuery
	var fresh bool
	var order client.DeadLetterRetry
	c := &cobra.Command{
		Use: "retry", Short: "Run dead letters again, in new jobs", Args: takes(),
		Long: `Runs dead letters again, oldest first: one new job for each affected job. A dead letter
is retried at most once. They run on the targets that their job was resolved to, or with
--fresh on the current targets of its model. One call takes at most 32 jobs; run it
again for the rest.`,
		Example: `  penstock dead-letters retry --fingerprint upstream_timeout/timeout/openai-mini --dry-run
  penstock dead-letters retry --model fast --since 24h --fresh --rate 5
  penstock dead-letters retry --all`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if order.Filter, err = q.deliberate(sh.now()); err != nil {
				return err
			}
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
			done, err := cl.RetryDeadLetters(c.Context(), order)
			if err != nil {
				return err
			}
			return sh.printRetried(done)
		},
	}
	q.flags(c)
	f := c.Flags()
	f.BoolVar(&q.all, "all", false, "every dead letter")
	f.BoolVar(&fresh, "fresh", false, "use the current definition of their models")
	f.Float64Var(&order.Rate, "rate", 0, "maximum number of items that start per second")
	f.BoolVar(&order.DryRun, "dry-run", false, "only show what would be done")
	return c
}

func (sh *shell) printRetried(done *client.DeadLettersRetried) error {
	if sh.output == outputJSON {
		return sh.raw(done.Raw)
	}
	t := sh.table("RETRY OF", "JOB", "ITEMS", "ERROR")
	for _, j := range done.Jobs {
		if err := t.row(j.RetryOf, j.JobID, strconv.Itoa(j.Items), ""); err != nil {
			return err
		}
	}
	for _, j := range done.Skipped {
		if err := t.row(j.JobID, "", strconv.Itoa(j.Items), itemError(&j.Error)); err != nil {
			return err
		}
	}
	if err := t.end("There are no such dead letters."); err != nil {
		return err
	}
	verb := "Retried"
	if done.DryRun {
		verb = "Would retry"
	}
	if t.rows > 0 {
		fmt.Fprintf(sh.stderr, "%s %s in %s; %d left.\n", verb, plural(done.Items, "dead letter"), plural(len(done.Jobs), "job"), done.Remaining)
	}
	return nil
}

func (sh *shell) deadLettersDismissCommand() *cobra.Command {
	var q deadLetterQuery
	var order client.DeadLetterDismissal
	c := &cobra.Command{
		Use: "dismiss", Short: "Dismiss dead letters", Args: takes(),
		Long: `Dismisses dead letters, oldest first: they are no longer listed. Their items do not
change, and a retry of their job still runs them. One call takes at most 1,000; run it
again for the rest.`,
		Example: `  penstock dead-letters dismiss --code content_blocked
  penstock dead-letters dismiss --all --dry-run`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if order.Filter, err = q.deliberate(sh.now()); err != nil {
				return err
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			done, err := cl.DismissDeadLetters(c.Context(), order)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(done.Raw)
			}
			verb := "Dismissed"
			if done.DryRun {
				verb = "Would dismiss"
			}
			_, err = fmt.Fprintf(sh.stdout, "%s %s; %d left.\n", verb, plural(done.Items, "dead letter"), done.Remaining)
			return err
		},
	}
	q.flags(c)
	c.Flags().BoolVar(&q.all, "all", false, "every dead letter")
	c.Flags().BoolVar(&order.DryRun, "dry-run", false, "only show what would be done")
	return c
}
