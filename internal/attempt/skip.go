package attempt

import (
	"penstock"
	"penstock/internal/provider"
	"penstock/internal/route"
)

// divided reports whether a target that cannot serve the task may keep other targets from serving it. Then it must be known of every
// target beforehand: health and chance must not decide whether the task is refused.
func (c *Run) divided() bool {
	names, targets := c.task.Targets, c.snapshot.Targets
	switch c.query.Model.OnIncapable {
	case penstock.IncapableSkip:
		return false
	case penstock.IncapableRefuse:
		return len(names) > 1
	}
	vendor, known := "", false
	for _, name := range names {
		t, ok := targets[name]
		if ok && known && t.Vendor != vendor {
			return true
		}
		if ok {
			vendor, known = t.Vendor, true
		}
	}
	return false
}

// checkAble finds the targets that cannot serve the task, and limits the query to those that its model allows then.
func (c *Run) checkAble() error {
	divided, said := c.divided(), map[string]error{} // by provider: its targets speak the same dialect
	for _, t := range c.listed() {
		switch lacks := c.query.Needs.Lacks(t); {
		case !c.runner.Serves(t, c.task.Endpoint):
			c.skips.Add(route.Skip{Target: t.Name, Reason: unserved(c.task.Endpoint)})
		case lacks != "":
			c.skips.Add(route.Skip{Target: t.Name, Reason: lacks})
		case divided:
			err, asked := said[t.Provider]
			if !asked {
				_, err = c.runner.requestTo(c.task, t)
				said[t.Provider] = err
			}
			if err != nil {
				c.skips.AddUnable(t.Name, err)
			}
		}
	}
	c.query.Unable = c.skips
	return c.restrict()
}

// listed are the targets of the task, whether or not they can serve it.
func (c *Run) listed() []*penstock.Target {
	all, _ := route.Candidates(c.task.Targets, c.snapshot.Targets) // none is an error of setOut
	return all
}

// restrict limits the query to the targets that the model allows, now that some cannot serve the task.
func (c *Run) restrict() error {
	err := c.skips.Restrict(&c.query, c.listed())
	if err != nil && c.task.Endpoint == penstock.EndpointCountTokens {
		return notServed(c.task) // Penstock counts itself
	}
	return err
}

// unable notes that a target which was chosen cannot be asked. It reports whether no other may be.
func (c *Run) unable(target string, err error) bool {
	if !c.skips.AddUnable(target, err) {
		return false
	}
	c.skips.Chose(target)
	refusal := c.restrict()
	if refusal != nil {
		c.out.Err = refusal
	}
	return refusal != nil
}

// tooLong notes that the input of the task is too long for a target, which nobody knew before. It reports whether no other target may
// be tried.
func (c *Run) tooLong(t *try) bool {
	c.skips.Add(route.Skip{Target: t.choice.Target.Name, Reason: "takes fewer tokens", Chosen: true})
	if c.restrict() == nil {
		return false
	}
	t.addReason("the model does not move such calls to other vendors (on_incapable)")
	return true
}

// supported refuses a body with a member that the upstream does not honour.
func (l *upstreamRequest) supported() error {
	checker, ok := l.upstream.(provider.Checker)
	if !ok {
		return nil
	}
	if name := checker.Unsupported(provider.Call{Endpoint: l.endpoint, Body: l.body, Object: l.object}); name != "" {
		return penstock.InvalidParam(name, "%s has a value that the target which this call goes to does not support. Leave it out, or ask for another model.", name)
	}
	return nil
}

// explainAble explains the choice among the targets that the model allows for a task.
func (r *Runner) explainAble(c *Run) Explanation {
	refusal := c.checkAble()
	able := c.query.Candidates
	c.query.Candidates = c.listed()
	explained := r.Router.Explain(c.query)
	if c.query.Candidates = able; refusal != nil {
		explained.Chosen, explained.Reason = "", penstock.AsError(refusal).Message
	} else if len(able) < len(explained.Targets) {
		allowed := r.Router.Explain(c.query)
		explained.Chosen, explained.Reason = allowed.Chosen, allowed.Reason
	}
	return explained
}
