package work

import "context"

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
		p.goroutinePool.run(starts)
	}
}
