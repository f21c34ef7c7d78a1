package main

import (
	"time"

	"github.com/spf13/cobra"
)

// listFlags are the flags that the lists of calls and of jobs have in common.
type listFlags struct {
	status, model, tag string
	since, before      string
	limit              int
}

// add declares the flags. The noun is that of the entries, and the states those that --status takes.
func (o *listFlags) add(c *cobra.Command, noun, states string) {
	f := c.Flags()
	f.StringVar(&o.status, "status", "", "only "+noun+" in this status: "+states)
	f.StringVar(&o.model, "model", "", "only "+noun+" for this model")
	f.StringVar(&o.tag, "tag", "", "only "+noun+" with this tag, `KEY:VALUE`")
	f.StringVar(&o.since, "since", "", "only "+noun+" created since this `TIME`, RFC 3339 or a time ago such as 24h")
	f.StringVar(&o.before, "before", "", "only "+noun+" created before this `TIME`, RFC 3339 or a time ago such as 1h")
	f.IntVar(&o.limit, "limit", 20, "maximum number")
}

// listFilter is the part of a filter that the flags have in common.
type listFilter struct {
	tagKey, tagValue string
	after, before    time.Time
	pageSize         int // one more than the limit, so that the command knows whether there are more
}

func (o *listFlags) read(now time.Time) (f listFilter, err error) {
	if o.limit < 1 {
		return f, usageError{"--limit must be at least 1"}
	}
	f.pageSize = o.limit + 1
	if o.tag != "" {
		var ok bool
		if f.tagKey, f.tagValue, ok = cutTag(o.tag); !ok {
			return f, usageError{tagForm}
		}
	}
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	if f.after, err = moment("--since", o.since, ago); err != nil {
		return f, err
	}
	f.before, err = moment("--before", o.before, ago)
	return f, err
}
