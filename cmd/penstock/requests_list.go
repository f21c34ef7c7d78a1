package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

// requestQuery is the flags of requests list.
type requestQuery struct {
	listFlags
	target, keyName, subject, minCost, prompt string
}

func (sh *shell) requestsListCommand() *cobra.Command {
	var q requestQuery
	c := &cobra.Command{
		Use: "list", Short: "List synchronous calls, newest first", Args: takes(),
		Example: `  penstock requests list
  penstock requests list --status failed --since 1h
  penstock requests list --tag team:search --min-cost 0.05 --limit 100 -o json`,
		RunE: sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, _ []string) error {
			filter, err := q.filter(sh.now())
			if err != nil {
				return err
			}
			all, err := firstOf(cl.ListRequests(c.Context(), filter), q.limit)
			if err != nil {
				return err
			}
			return sh.requestLook().show(sh, all)
		}),
	}
	q.add(c, "calls", "succeeded, failed or cancelled")
	f := c.Flags()
	f.StringVar(&q.target, "target", "", "only calls that this target answered")
	f.StringVar(&q.keyName, "key-name", "", "only calls with the key of this name")
	f.StringVar(&q.subject, "subject", "", "only calls about this end user")
	f.StringVar(&q.prompt, "prompt", "", "only calls with this prompt, as `NAME` or NAME@VERSION")
	f.StringVar(&q.minCost, "min-cost", "", "only calls that cost at least so many `DOLLARS`")
	return c
}

func (q *requestQuery) filter(now time.Time) (f client.RequestFilter, err error) {
	common, err := q.read(now)
	if err != nil {
		return f, err
	}
	f = client.RequestFilter{
		Status: penstock.Status(q.status), Model: q.model, Target: q.target, Key: q.keyName, Subject: q.subject, Prompt: q.prompt, PageSize: common.pageSize,
		TagKey: common.tagKey, TagValue: common.tagValue, CreatedAfter: common.after, CreatedBefore: common.before,
	}
	if q.minCost != "" {
		if f.MinCost, err = penstock.ParseNanoUSD(q.minCost); err != nil {
			return f, usageError{"--min-cost: " + err.Error()}
		}
	}
	return f, nil
}

func (sh *shell) requestLook() look[*client.Request] {
	return look[*client.Request]{
		header: []string{"REQUEST", "STATUS", "HTTP", "MODEL", "TARGET", "TOKENS", "COST", "TOOK", "TAGS", "SUBJECT", "STARTED"},
		cells: func(r *client.Request) []string {
			return []string{r.ID, string(r.Status), readable(int64(r.StatusCode)), r.Model, r.Target, readable(r.Usage.InputTokens + r.Usage.OutputTokens),
				dollars(r.Usage.Cost), span(r.StartedAt, r.FinishedAt), sh.brief(tagsText(r.Tags)), sh.brief(r.Subject), sh.when(r.StartedAt)}
		},
		raw:   func(r *client.Request) json.RawMessage { return r.Raw },
		empty: "No calls.",
	}
}
