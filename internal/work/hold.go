package work

import (
	"time"

	"penstock"
)

// heldWait is when an item is looked at again whose targets are all paused. It is rare: the gate is closed
// for models whose targets are all paused, but an item keeps the targets that its job was given.
const heldWait = 5 * time.Second

// openTargets are the targets that an item may run on now. Codes: overloaded (none).
func (p *Pool) openTargets(targets []string) ([]string, error) {
	if p.Open == nil {
		return targets, nil
	}
	open := p.Open(targets)
	if len(open) == 0 && len(targets) > 0 {
		return nil, &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: heldWait, Message: "An operator paused every target of this item."}
	}
	return open, nil
}
