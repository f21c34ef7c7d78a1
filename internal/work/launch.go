package work

import (
	"context"
	"runtime"
)

// startsInARow is how many items start before the launcher yields. The scheduler runs new goroutines first: if a whole claim
// started at once, the goroutines that write the next claims and results would wait for a processor.
const startsInARow = 16

// setLaunch lets the pool start items.
func (p *Pool) setLaunch(launch func([]*granted)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.launch = launch
}

// launcher returns a function that starts claimed items until the pool stops. The items are held when it returns, and start
// soon after. Items are stopped one by one, so their contexts share no parent whose lock they would contend for.
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
