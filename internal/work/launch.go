package work

import (
	"context"
	"runtime"
)

// startsInARow is how many items begin before others have a turn. What begins does so at the front of what waits for a
// processor: a whole claim at once would stand between the store, which has the next claims and results to write, and the
// processor that it needs for that.
const startsInARow = 16

// setLaunch lets the pool take items up.
func (p *Pool) setLaunch(launch func([]*granted)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.launch = launch
}

// launcher starts claimed items until the pool stops. They are held when it returns, and begin soon after. They are stopped
// one by one, so their contexts have no parent in common at which they would have to queue up.
func (p *Pool) launcher(lasting context.Context) func([]*granted) {
	return func(group []*granted) {
		starts := make([]func(), len(group))
		p.mu.Lock()
		for i, g := range group {
			ctx, stop := context.WithCancelCause(lasting)
			p.held[claim{g.Item, g.Fence}] = stop
			starts[i] = func() {
				defer stop(nil)
				p.runItem(ctx, g)
			}
		}
		p.mu.Unlock()
		if len(starts) <= startsInARow {
			p.start(starts)
			return
		}
		p.launches.Go(func() { p.start(starts) })
	}
}

func (p *Pool) start(starts []func()) {
	for i, run := range starts {
		if i > 0 && i%startsInARow == 0 {
			runtime.Gosched()
		}
		p.goroutinePool.run(run)
	}
}
