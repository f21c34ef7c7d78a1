package api

import (
	"sync"

	"penstock"
)

// uploads bounds the number of concurrent uploads. The zero value is ready to use.
type uploads struct {
	mu     sync.Mutex
	all    int
	tenant map[penstock.TenantID]int
}

// admit counts an upload until leave is called. Codes: rate_limited (the tenant has too many), overloaded (this process
// has too many).
func (u *uploads) admit(tenant penstock.TenantID) (leave func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.tenant[tenant] == maxTenantUploads:
		return nil, penstock.Errorf(penstock.CodeRateLimited, "%d uploads of this tenant are under way, the most at a time; wait for one to end.", maxTenantUploads)
	case u.all == maxUploads:
		return nil, penstock.Errorf(penstock.CodeOverloaded, "%d uploads are under way, the most at a time; try again.", maxUploads)
	}
	if u.tenant == nil {
		u.tenant = map[penstock.TenantID]int{}
	}
	u.all++
	u.tenant[tenant]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.tenant[tenant]--; u.tenant[tenant] == 0 {
			delete(u.tenant, tenant)
		}
	}, nil
}
