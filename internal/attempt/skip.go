package attempt

import (
	"penstock"
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

// firstIsAllowed reports whether the first target of the task may serve the task, whatever the other targets are able to do. Nearly all
// calls of a model with an order go there. So the other targets are checked when one of them is needed: a check writes the request
// to each vendor.
func (c *Run) firstIsAllowed() bool {
	first := c.query.Candidates[0]
	return route.Ordered(&c.query.Model) && first.Name == c.task.Targets[0] && c.query.Needs.Lacks(first) == ""
}

// chooseFirst takes capacity of the first target, nil if it has none now. The claim of an item may have taken the capacity.
func (c *Run) chooseFirst() *route.Choice {
	if len(c.query.Tried) > 0 {
		return nil
	}
	only := c.query
	only.Candidates = only.Candidates[:1]
	switch held := c.task.Choice; {
	case held == nil:
		return c.runner.Router.ChooseNow(only)
	case only.Retry || held.Target.Name != only.Candidates[0].Name:
		return nil
	}
	taken := c.task.takeChoice(&only)
	if taken != nil {
		c.task.Choice = nil
	}
	return taken
}

// check makes the check that was deferred.
func (c *Run) check() error {
	if !c.deferred {
		return nil
	}
	c.deferred = false
	return c.checkAble()
}

// written is the properties of a target that decide whether the request of a task can be written.
type written struct {
	provider  string // its targets speak the same dialect
	maxOutput int64
}

// checkAble finds the targets that cannot serve the task, and limits the query to those that its model allows then.
func (c *Run) checkAble() error {
	divided, said := c.divided(), map[written]error{}
	for _, t := range c.listed() {
		switch lacks := c.query.Needs.Lacks(t); {
		case !c.runner.Serves(t, c.task.Endpoint):
			c.skips.Add(route.Skip{Target: t.Name, Reason: unserved(c.task.Endpoint)})
		case lacks != "":
			c.skips.Add(route.Skip{Target: t.Name, Reason: lacks})
		case divided:
			key := written{t.Provider, t.MaxOutputTokens}
			err, asked := said[key]
			if !asked {
				_, err = c.runner.requestTo(c.task, t)
				said[key] = err
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
	if c.check() != nil {
		return true
	}
	c.skips.Add(route.Skip{Target: t.choice.Target.Name, Reason: "takes fewer tokens", Chosen: true})
	if c.restrict() == nil {
		return false
	}
	t.addReason("the model does not move such calls to other vendors (on_incapable)")
	return true
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
