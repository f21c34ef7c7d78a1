package work

import (
	"context"
	"slices"
	"time"

	"penstock"
	"penstock/internal/provider"
	"penstock/internal/store"
)

// heldWait is the retry delay of an item whose targets are all paused, or whose input cannot be read now. The first is rare:
// the gate is closed for models whose targets are all paused, but an item keeps the targets that its job was resolved to.
const heldWait = 5 * time.Second

// hopefulTargets are the targets of an item without those that refused it for good in an earlier claim. If the history cannot
// be read, the item runs anyway: such a target would refuse it again.
func (p *Pool) hopefulTargets(ctx context.Context, c *store.Claimed) []string {
	all := c.Resolved.Targets
	if p.History == nil || c.Tries == 0 || len(all) < 2 {
		return all
	}
	tried, err := p.History.Attempts(ctx, c.Tenant, c.Item)
	if err != nil {
		p.Log.WarnContext(ctx, "reading what was tried for an item", "error", err)
		return all
	}
	left := slices.Clone(all)
	for _, a := range tried {
		switch provider.Kind(a.ErrorKind) {
		case provider.KindFinal, provider.KindContextTooLong, provider.KindTooLarge, provider.KindForbidden:
			left = slices.DeleteFunc(left, func(target string) bool { return target == a.Target })
		}
	}
	if len(left) == 0 {
		return all
	}
	return left
}

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
