// Package inflight bounds the memory of bodies in flight: request bodies of callers, and answers of upstreams.
//
// It owns the arithmetic: how many bytes a tenant and the process hold, and which call is refused. It does not allocate or
// read anything itself. A reader takes bytes before it allocates them, and gives them back when nothing refers to them
// any more.
//
// Invariants:
//   - A tenant takes no more than its bound, and all tenants together no more than the bound of the process. Only copies of
//     bytes that were taken before ([Account.Add]) can go beyond, and each copy is as long as its original.
//   - The last quarter of the process's bound is for tenants that hold little. So a few tenants that fill their bounds
//     cannot keep the others from sending ordinary bodies.
//   - A closed account holds nothing.
//
// A [Pool] is safe for concurrent use.
package inflight

import (
	"fmt"
	"sync"
	"time"

	"penstock"
)

const (
	// reserved is the part of a pool that only small holders may use, and small is the part of it up to which a tenant
	// is one.
	reserved, small = 4, 64
	// retryAfter is the Retry-After of a refusal. Bodies come and go within seconds.
	retryAfter = time.Second
)

// Config are the bounds of a pool.
type Config struct {
	Process int64  // bytes of all tenants
	Tenant  int64  // bytes of one tenant
	Content string // what the bytes are, for messages, such as "request bodies"
	// Refused is called for each refusal; may be nil. The scope is tenant or process.
	Refused func(tenant penstock.TenantID, scope string)
}

// Pool is the memory that bodies may take.
type Pool struct {
	Config
	mu      sync.Mutex
	held    int64
	tenants map[penstock.TenantID]int64 // of those that hold something
	freed   chan struct{}               // closed when bytes were given back; nil while no call waits
}

// New returns a pool of which nothing is held.
func New(c Config) *Pool { return &Pool{Config: c, tenants: map[penstock.TenantID]int64{}} }

// Held is how many bytes are held.
func (p *Pool) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Account is what one call holds of a pool. The zero Account takes nothing into account. An account belongs to one call,
// which may use it from several goroutines.
type Account struct {
	pool   *Pool
	tenant penstock.TenantID
	held   int64
}

// Open returns an account that holds nothing. It is to be closed. The pool may be nil, for no bounds.
func (p *Pool) Open(tenant penstock.TenantID) Account { return Account{pool: p, tenant: tenant} }

// Take adds bytes to what the account holds, or fails if the tenant or the process holds too many already. Codes: rate_limited (the tenant does),
// overloaded (the process does).
func (a *Account) Take(n int64) error {
	if a.pool == nil {
		return nil
	}
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	err := a.take(n)
	a.refused(err)
	return err
}

// MaxWait is how long Wait waits.
const MaxWait = 10 * time.Second

// Wait is Take for bytes that work was already done for: it waits until they fit, for MaxWait at the most, or until done
// is closed. Codes: those of Take.
func (a *Account) Wait(done <-chan struct{}, n int64) error {
	if a.pool == nil {
		return nil
	}
	freed, err := a.tryTake(n)
	if err == nil {
		return nil
	}
	timer := time.NewTimer(MaxWait)
	defer timer.Stop()
	for err != nil {
		select {
		case <-freed:
			freed, err = a.tryTake(n)
			continue
		case <-timer.C:
		case <-done:
		}
		a.pool.mu.Lock()
		defer a.pool.mu.Unlock()
		a.refused(err)
		return err
	}
	return nil
}

// tryTake takes bytes, or returns what to wait for.
func (a *Account) tryTake(n int64) (<-chan struct{}, error) {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	err := a.take(n)
	if err != nil && p.freed == nil {
		p.freed = make(chan struct{})
	}
	return p.freed, err
}

func (a *Account) take(n int64) error {
	if n <= 0 {
		return nil
	}
	p := a.pool
	held := p.tenants[a.tenant] + n
	if held > p.Tenant {
		return &penstock.Error{Code: penstock.CodeRateLimited, RetryAfter: retryAfter, Message: fmt.Sprintf(
			"Tenant %s has %d bytes of %s in flight, and its limit is %d; retry when some of its calls have ended.", a.tenant, p.tenants[a.tenant], p.Content, p.Tenant)}
	}
	most := p.Process
	if held > p.Process/small {
		most -= p.Process / reserved
	}
	if p.held+n > most {
		return &penstock.Error{Code: penstock.CodeOverloaded, RetryAfter: retryAfter, Message: fmt.Sprintf(
			"This process has reached its limit of bytes of %s in flight; retry in a moment.", p.Content)}
	}
	a.add(n)
	return nil
}

// Add adds bytes that are in memory already, whatever the bounds: copies of what was taken before. What it adds beyond
// a bound keeps others from taking more.
func (a *Account) Add(n int64) {
	if a.pool == nil {
		return
	}
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	a.add(n)
}

func (a *Account) add(n int64) {
	a.pool.held += n
	a.pool.tenants[a.tenant] += n
	a.held += n
}

// refused counts a refusal.
func (a *Account) refused(err error) {
	if err == nil || a.pool.Refused == nil {
		return
	}
	scope := "process"
	if penstock.ErrorCode(err) == penstock.CodeRateLimited {
		scope = "tenant"
	}
	a.pool.Refused(a.tenant, scope)
}

// Shrink gives back all but n bytes. An account that holds fewer is not changed.
func (a *Account) Shrink(n int64) {
	if a.pool == nil {
		return
	}
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	more := a.held - n
	if more <= 0 {
		return
	}
	a.held = n
	p.held -= more
	if p.tenants[a.tenant] -= more; p.tenants[a.tenant] == 0 {
		delete(p.tenants, a.tenant)
	}
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}

// Close gives everything back. It may be called twice.
func (a *Account) Close() { a.Shrink(0) }
