package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

// requestQuery is the flags of requests list.
type requestQuery struct {
	status, model, target, keyName, tag, subject string
	minCost, since, before                       string
	limit                                        int
}

func (sh *shell) requestsListCommand() *cobra.Command {
	var q requestQuery
	c := &cobra.Command{
		Use: "list", Short: "List synchronous calls, newest first", Args: takes(),
		Example: `  penstock requests list
  penstock requests list --status failed --since 1h
  penstock requests list --tag team=search --min-cost 0.05 --limit 100 -o json`,
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
	f := c.Flags()
	f.StringVar(&q.status, "status", "", "only calls that ended like this: succeeded, failed or cancelled")
	f.StringVar(&q.model, "model", "", "only calls for this model")
	f.StringVar(&q.target, "target", "", "only calls that this target answered")
	f.StringVar(&q.keyName, "key-name", "", "only calls with the key of this name")
	f.StringVar(&q.tag, "tag", "", "only calls with this tag, `KEY=VALUE`")
	f.StringVar(&q.subject, "subject", "", "only calls about this end user")
	f.StringVar(&q.minCost, "min-cost", "", "only calls that cost at least so many `DOLLARS`")
	f.StringVar(&q.since, "since", "", "only calls since this `TIME`, RFC 3339 or a time ago such as 24h")
	f.StringVar(&q.before, "before", "", "only calls before this `TIME`, RFC 3339 or a time ago such as 1h")
	f.IntVar(&q.limit, "limit", 20, "maximum number")
	return c
}

func (q requestQuery) filter(now time.Time) (f client.RequestFilter, err error) {
	f = client.RequestFilter{Status: penstock.Status(q.status), Model: q.model, Target: q.target, Key: q.keyName, Subject: q.subject, PageSize: q.limit + 1}
	if q.limit < 1 {
		return f, usageError{"--limit must be at least 1"}
	}
	if q.tag != "" {
		var ok bool
		if f.TagKey, f.TagValue, ok = strings.Cut(q.tag, "="); !ok || f.TagKey == "" {
			return f, usageError{"--tag must look like key=value"}
		}
	}
	if q.minCost != "" {
		if f.MinCost, err = penstock.ParseNanoUSD(q.minCost); err != nil {
			return f, usageError{"--min-cost: " + err.Error()}
		}
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	if f.CreatedAfter, err = moment("--since", q.since, ago); err != nil {
		return f, err
	}
	f.CreatedBefore, err = moment("--before", q.before, ago)
	return f, err
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
