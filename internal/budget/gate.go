package budget

import (
	"context"

	"penstock"
	"penstock/internal/store"
)

// gate lets one call at a time withdraw from a budget: the calls that wait for it use what it withdrew.
type gate struct {
	turn  chan struct{}
	users int // calls that hold it or wait for it
}

// admit passes the gates of all accounts, in the same order for all calls. The caller leaves by what it returns.
// Codes: overloaded.
func (b *Reserver) admit(ctx context.Context, d Demand, accounts []store.Account) (leave func(), err error) {
	var passed []penstock.ID
	leave = func() {
		for _, id := range passed {
			<-b.gate(id, 0).turn
			b.gate(id, -1)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for _, a := range accounts {
		id := a.ID(d.Principal.Tenant.ID)
		select {
		case b.gate(id, 1).turn <- struct{}{}:
			passed = append(passed, id)
		case <-ctx.Done():
			b.gate(id, -1)
			leave()
			return nil, errBusy()
		}
	}
	return leave, nil
}

// gate finds a gate and changes how many use it. An unused gate is removed.
func (b *Reserver) gate(id penstock.ID, change int) *gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.gates[id]
	if g == nil {
		g = &gate{turn: make(chan struct{}, 1)}
		b.gates[id] = g
	}
	if g.users += change; g.users == 0 {
		delete(b.gates, id)
	}
	return g
}
