package capacity

import (
	"cmp"
	"math"
	"time"

	"penstock"
)

const (
	// MaxShare is the part of a target that one tenant's synchronous calls may hold while others use it too.
	MaxShare = 0.75
	// sharedFor is how long after its last call a tenant still counts as a user of the target.
	sharedFor = time.Minute
)

// tenantUses counts the synchronous calls that run on a target, by tenant. One tenant alone may have all of a
// target; as soon as others use it, each tenant leaves a part of it free. So a new tenant finds capacity without
// waiting for another tenant's long calls to end.
type tenantUses map[penstock.TenantID]*tenantUse

type tenantUse struct {
	running int
	seen    time.Time

	oversize   int64     // estimated input of the smallest of its calls that was refused as too large lately; 0 for none
	oversizeAt time.Time // when the last such call was refused
}

// oversized predicts that a call will be refused as too large. Such a call takes no tokens until it has passed: a tenant that sends
// such calls in a loop would otherwise hold the whole limit while they are refused.
func (g *tenantUse) oversized(now time.Time, inputTokens int64) bool {
	return g != nil && g.oversize > 0 && inputTokens >= g.oversize && now.Sub(g.oversizeAt) < sharedFor
}

// refusedSize notes that a call was refused as too large.
func (g *tenantUse) refusedSize(now time.Time, inputTokens int64) {
	if g == nil || inputTokens == 0 {
		return
	}
	if g.oversize == 0 || inputTokens < g.oversize || now.Sub(g.oversizeAt) >= sharedFor {
		g.oversize = inputTokens
	}
	g.oversizeAt = now
}

// full says that a tenant runs as many calls as it may on a target that runs so many at a time.
func (c tenantUses) full(now time.Time, tenant penstock.TenantID, places int, share float64) bool {
	g := c[tenant]
	if tenant == "" || g == nil || share >= 1 {
		return false
	}
	most := max(1, int(math.Floor(float64(places)*share)))
	return g.running >= most && c.others(now, tenant)
}

// others says whether another tenant uses the target now or did recently. It removes tenants that did not.
func (c tenantUses) others(now time.Time, tenant penstock.TenantID) bool {
	for id, g := range c {
		switch {
		case id == tenant:
		case g.running > 0 || now.Sub(g.seen) < sharedFor:
			return true
		default:
			delete(c, id)
		}
	}
	return false
}

// saw records that a tenant uses the target.
func (r *entry) saw(now time.Time, tenant penstock.TenantID) *tenantUse {
	if tenant == "" {
		return nil
	}
	g := r.syncs[tenant]
	if g == nil {
		if r.syncs == nil {
			r.syncs = make(tenantUses)
		}
		g = new(tenantUse)
		r.syncs[tenant] = g
	}
	g.seen = now
	return g
}

// tenantFull says that a tenant runs as many calls on a target as it may.
func (b *Tracker) tenantFull(r *entry, now time.Time, a Ask) bool {
	return a.Tenant != "" && r.syncs.full(now, a.Tenant, b.limit(r, now), cmp.Or(a.Target.MaxShare, MaxShare))
}

// LookFor is Look for a synchronous call of a tenant.
func (b *Tracker) LookFor(t *penstock.Target, tenant penstock.TenantID) Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.Clock()
	r := b.of(t, now)
	l := b.look(r, now)
	if l.Reason == "" && b.tenantFull(r, now, Ask{Target: t, Tenant: tenant}) {
		return Look{TenantFull, Forever}
	}
	return l
}
