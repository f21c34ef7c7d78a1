package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) jobsCommand() *cobra.Command {
	return noun("jobs", "Submit jobs and follow them",
		sh.jobsSubmitCommand(), sh.jobsGetCommand(), sh.jobsListCommand(), sh.jobsWatchCommand(), sh.jobsResultsCommand(),
		sh.jobsCancelCommand(), sh.jobsDeleteCommand(), sh.jobsRetryCommand())
}

func (sh *shell) jobsGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get JOB", Short: "Show a job", Args: takes("the job's id"),
		Example: "  penstock jobs get job_01JQ…\n  penstock jobs get job_01JQ… -o json | jq .counts",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			job, err := cl.Job(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printJob(job)
		},
	}
}

func (sh *shell) jobsCancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel JOB", Short: "Ask a job to stop", Args: takes("the job's id"),
		Long: `Asks a job to stop. Queued items are cancelled at once, running items as soon as their
worker learns of it. Finished items keep their results. A second or late cancel changes
nothing.`,
		Example: "  penstock jobs cancel job_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			job, err := cl.CancelJob(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printJob(job)
		},
	}
}

func (sh *shell) jobsDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete JOB", Short: "Delete a finished job with its inputs and results", Args: takes("the job's id"),
		Long: `Deletes a finished job with its inputs, results, attempts and dead letters. Its
cost stays in the ledger, and its idempotency key is remembered, so that it does not
run again by accident. Cancel an unfinished job first.`,
		Example: "  penstock jobs delete job_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			if err := cl.DeleteJob(c.Context(), args[0]); err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(struct {
					ID      string `json:"id"`
					Deleted bool   `json:"deleted"`
				}{args[0], true})
			}
			return sh.describe(field{"Deleted", args[0]})
		},
	}
}

// jobQuery is the flags of jobs list.
type jobQuery struct {
	listFlags
	lane, keyName, code, fingerprint string
}

func (sh *shell) jobsListCommand() *cobra.Command {
	var q jobQuery
	c := &cobra.Command{
		Use: "list", Short: "List jobs, newest first", Args: takes(),
		Example: `  penstock jobs list
  penstock jobs list --status failed --since 24h
  penstock jobs list --model fast --tag team:search --limit 100 -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			filter, err := q.filter(sh.now())
			if err != nil {
				return err
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			jobs, err := firstOf(cl.ListJobs(c.Context(), filter), q.limit)
			if err != nil {
				return err
			}
			return sh.jobs().show(sh, jobs)
		},
	}
	q.add(c, "jobs", "queued, running, succeeded, failed or cancelled")
	f := c.Flags()
	f.StringVar(&q.lane, "lane", "", "only jobs of this lane: realtime, standard or bulk")
	f.StringVar(&q.keyName, "key-name", "", "only jobs that the key of this name submitted")
	f.StringVar(&q.code, "code", "", "only jobs with an item that failed with this error `CODE`")
	f.StringVar(&q.fingerprint, "fingerprint", "", "only jobs with an item that failed with this fingerprint")
	return c
}

func (q *jobQuery) filter(now time.Time) (client.JobFilter, error) {
	common, err := q.read(now)
	return client.JobFilter{
		Status: penstock.Status(q.status), Lane: penstock.Lane(q.lane), Model: q.model, PageSize: common.pageSize,
		Key: q.keyName, Code: penstock.Code(q.code), Fingerprint: q.fingerprint,
		TagKey: common.tagKey, TagValue: common.tagValue, CreatedAfter: common.after, CreatedBefore: common.before,
	}, err
}

// moment reads a time that is given as such or by its distance from now.
func moment(flag, text string, away func(time.Duration) time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return away(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usageError{flag + " must be a time such as 2026-11-15T06:00:00Z or a duration such as 24h"}
	}
	return t, nil
}

func (sh *shell) jobs() look[*client.Job] {
	return look[*client.Job]{
		header: []string{"JOB", "STATUS", "OUTCOME", "DONE", "MODEL", "LANE", "COST", "CREATED"},
		cells: func(j *client.Job) []string {
			done := fmt.Sprintf("%d/%d", j.Counts.Total-j.Counts.Open(), j.Counts.Total)
			return []string{j.ID, string(j.Status), string(j.Outcome), done, j.Model, string(j.Lane), dollars(j.Usage.Cost), sh.when(j.CreatedAt)}
		},
		raw:   func(j *client.Job) json.RawMessage { return j.Raw },
		empty: "There are no such jobs.",
	}
}

// printJob shows a job in full.
func (sh *shell) printJob(j *client.Job) error {
	if sh.output == outputJSON {
		return sh.raw(j.Raw)
	}
	status := string(j.Status)
	if j.Outcome != "" {
		status += " (" + string(j.Outcome) + ")"
	}
	fields := []field{
		{"Job", j.ID}, {"Status", status}, {"Items", countsText(j.Counts)}, {"Model", j.Model},
		{"Targets", strings.Join(j.Resolved.Targets, ", ")}, {"Lane", string(j.Lane)}, {"Tags", tagsText(j.Tags)},
		{"Tokens", tokens(j.Usage)}, {"Cost", dollars(j.Usage.Cost)}, {"Config", j.Resolved.Config},
		{"Created", sh.when(j.CreatedAt)}, {"Started", sh.when(j.StartedAt)}, {"Finished", sh.when(j.FinishedAt)},
		{"Took", span(j.StartedAt, j.FinishedAt)}, {"Cancel asked", sh.when(j.CancelRequestedAt)},
		{"Waiting on", j.WaitingOn}, {"Retry of", j.RetryOf}, {"Error", itemError(j.Error)},
	}
	if j.Finished() {
		fields = append(fields, field{"Kept until", sh.when(j.ResultsExpireAt)})
	} else {
		fields = append(fields, field{"Deadline", sh.when(j.Deadline)})
	}
	if r := j.Result; r != nil {
		fields = append(fields, field{"Item", r.ItemID}, field{"Failed with", itemError(r.Error)}, field{"Answer", sh.brief(answer(r))})
	}
	return sh.describe(fields...)
}

// countsText names only the statuses that there are items in.
func countsText(c penstock.Counts) string {
	parts := []string{}
	for _, s := range penstock.Statuses {
		if n := *c.Of(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return fmt.Sprintf("%d: %s", c.Total, strings.Join(parts, ", "))
}

func tagsText(tags map[string]string) string {
	pairs := make([]string, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		pairs = append(pairs, penstock.TagText(k, tags[k]))
	}
	return strings.Join(pairs, ", ")
}

// answer is what a model said, where its dialect is known, and else the whole body.
func answer(r *client.Result) string {
	if r.Response == nil {
		return ""
	}
	var chat struct {
		Choices []struct {
			Message struct {
				Content *string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(r.Response.Body, &chat) == nil && len(chat.Choices) == 1 && chat.Choices[0].Message.Content != nil {
		return *chat.Choices[0].Message.Content
	}
	return string(r.Response.Body)
}

// outcomeError is the error of a finished job in which not everything succeeded.
func outcomeError(j *client.Job) error {
	if j.Outcome == penstock.OutcomeAllSucceeded {
		return nil
	}
	if r := j.Result; r != nil {
		why := string(r.Status)
		if r.Error != nil {
			why = itemError(r.Error)
		}
		return itemsFailedError{fmt.Sprintf(`%s did not succeed: %s; "penstock items get %s" shows what was tried`, j.ID, why, r.ItemID)}
	}
	missed := j.Counts.Total - j.Counts.Succeeded
	return itemsFailedError{fmt.Sprintf(`%s of %s did not succeed; "penstock jobs results %s" shows which`,
		strconv.Itoa(missed), plural(j.Counts.Total, "item"), j.ID)}
}
