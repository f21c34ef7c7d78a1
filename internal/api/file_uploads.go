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
		return nil, penstock.Errorf(penstock.CodeRateLimited, "This tenant has %d uploads under way, which is the maximum; wait until one of them ends.", maxTenantUploads)
	case u.all == maxUploads:
		return nil, penstock.Errorf(penstock.CodeOverloaded, "This process has %d uploads under way, which is the maximum; try again later.", maxUploads)
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
