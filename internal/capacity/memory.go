package capacity

import (
	"context"
	"sync"
	"time"

	"penstock/internal/store"
)

// permitsLast is how long permits of a Memory are valid without another refresh.
const permitsLast = time.Hour

// Memory implements shared pools in memory for the simulated processes of a forecast or a test, which share a clock
// and never stop. It counts as a store does.
type Memory struct {
	clock func() time.Time

	mu      sync.Mutex
	pools   map[string]*store.Pool
	rests   map[string]*store.PoolRest
	permits map[string]map[string]store.PermitHolding // by pool and process
	calls   map[store.CallScope]int                   // that run as jobs
}

// NewMemory returns shared pools in which every pool is full.
func NewMemory(clock func() time.Time) *Memory {
	return &Memory{
		clock: clock, pools: make(map[string]*store.Pool), rests: make(map[string]*store.PoolRest),
		permits: make(map[string]map[string]store.PermitHolding), calls: make(map[store.CallScope]int),
	}
}

// Calls says how many calls of a scope run as jobs.
func (m *Memory) Calls(scope store.CallScope, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[scope] = n
}

// Process is the view of one simulated process on the shared pools.
func (m *Memory) Process(name string) Pools { return account{m, name} }

type account struct {
	*Memory
	process string
}

// Withdraw implements Pools.
func (a account) Withdraw(_ context.Context, w store.Withdrawal) (store.Allotment, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	var all store.Allotment
	for _, d := range w.Rates {
		p, ok := a.pools[d.Pool]
		if !ok {
			p = &store.Pool{}
			a.pools[d.Pool] = p
		}
		p.Terms, p.PerMinute = d.Terms, d.PerMinute
		all.Rates = append(all.Rates, p.Serve(now, d))
	}
	for _, d := range w.Permits {
		rest, ok := a.rests[d.Pool]
		if !ok {
			rest = new(store.PoolRest)
			a.rests[d.Pool] = rest
		}
		rest.Extend(now, d)
		g := store.PermitGrant{For: permitsLast, Calls: a.calls[d.Calls]}
		rest.Answer(now, &g)
		if d.Cap > 0 {
			d.Cap = max(0, d.Cap-g.Calls)
			g.Permits, g.Share = a.takePermits(d)
		}
		all.Permits = append(all.Permits, g)
	}
	return all, nil
}

func (a account) takePermits(d store.PermitDraw) (permits, share int) {
	holdings, ok := a.permits[d.Pool]
	if !ok {
		holdings = make(map[string]store.PermitHolding)
		a.permits[d.Pool] = holdings
	}
	var others []store.PermitHolding
	for process, h := range holdings {
		if process != a.process {
			others = append(others, h)
		}
	}
	g := store.AllotPermits(a.process, d, others)
	holdings[a.process] = store.PermitHolding{Process: a.process, Permits: g.Permits, Want: d.Want}
	return g.Permits, g.Share
}
