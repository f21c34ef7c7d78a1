package work

import "context"

// setLaunch lets the pool start items.
func (p *Pool) setLaunch(launch func([]*granted)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.launch = launch
}

// launched is an item that is about to run.
type launched struct {
	*granted
	ctx  context.Context
	stop context.CancelCauseFunc // ends ctx
}

// launcher returns a function that starts claimed items until the pool stops. The items are held when it returns, and start
// soon after. Items are stopped one by one, so their contexts share no parent whose lock they would contend for.
func (p *Pool) launcher(lasting context.Context) func([]*granted) {
	return func(group []*granted) {
		items := make([]launched, len(group))
		p.mu.Lock()
		for i, g := range group {
			ctx, stop := context.WithCancelCause(lasting)
			p.held[claim{g.Item, g.Fence}] = stop
			items[i] = launched{g, ctx, stop}
		}
		p.mu.Unlock()
		p.running.Run(items)
	}
}

// runLaunched runs an item, and frees its context.
func (p *Pool) runLaunched(l launched) {
	defer l.stop(nil)
	p.runItem(l.ctx, l.granted)
}
