package attempt

import (
	"slices"

	"penstock"
	"penstock/internal/route"
)

// checkAble finds the targets that cannot serve the task.
func (c *Run) checkAble() error {
	for i, name := range c.task.Targets {
		switch t, configured := c.snapshot.Targets[name]; {
		case !configured:
		case !c.runner.Serves(t, c.task.Endpoint):
			c.skips = append(c.skips, route.Skip{Target: name, Reason: unserved(c.task.Endpoint), Order: i})
		case !c.query.Serves(t):
			c.skips = append(c.skips, route.Skip{Target: name, Reason: c.query.Needs.Lacks(t), Order: i})
		}
	}
	return c.skips.Restrict(&c.query, c.task.Targets)
}

// skip notes a target that was chosen, and to which the task cannot be expressed. An error that is not about the
// task leaves the next target to try.
func (c *Run) skip(target string, err error) {
	e := penstock.AsError(err)
	if e.Code != penstock.CodeInvalidRequest {
		return
	}
	reason := "cannot be asked"
	if e.Param != "" {
		reason = "cannot express " + e.Param
	}
	c.skips = append(c.skips, route.Skip{Target: target, Reason: reason, Order: -1})
	c.refused = c.query.Model.RefuseIncapable
}

// skipped lists the targets whose turn came before that of the chosen one, "" for none.
func (c *Run) skipped(chosen *penstock.Target) string {
	if len(c.skips) == 0 {
		return ""
	}
	return c.skips.Before(&c.query.Model, slices.Index(c.task.Targets, chosen.Name))
}
