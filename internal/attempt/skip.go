package attempt

import (
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

// explainAble explains the choice among the targets that the model allows for a task.
func (r *Runner) explainAble(c *Run) Explanation {
	explained := r.Router.Explain(c.query)
	if err := c.checkAble(); err != nil {
		explained.Chosen, explained.Reason = "", penstock.AsError(err).Message
	} else if len(c.query.Candidates) < len(explained.Targets) {
		allowed := r.Router.Explain(c.query)
		explained.Chosen, explained.Reason = allowed.Chosen, allowed.Reason
	}
	return explained
}
