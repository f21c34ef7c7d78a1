package playground

import (
	"context"
	"time"

	"penstock"
)

// live is a run that runs in this process. Service.mu guards all of it that changes.
type live struct {
	tenant    penstock.TenantID
	id        penstock.ID
	author    string
	principal penstock.Principal // with the daily budget of the author
	setup     Setup
	cells     []*liveCell
	running   int // cells with a goroutine
	seq       int64
	size      int  // bytes of output, of all cells
	lost      bool // another process, or nobody, owns it
	unwatch   func()
}

// liveCell is a cell of a live run.
type liveCell struct {
	Cell
	begun  bool                    // it has or had a goroutine
	cancel context.CancelCauseFunc // nil while it has no goroutine
	pieces []Piece                 // that are not stored yet
	change int64                   // grows with every change
	stored int64                   // the change that is stored
}

func newLive(o Opened, caller penstock.Principal) *live {
	r := &live{tenant: o.Tenant, id: o.ID, author: o.Author.ID, principal: caller, setup: o.Setup, seq: o.Seq}
	for i := range o.Cells {
		c := &liveCell{Cell: o.Cells[i]}
		c.Marks = nil
		if !c.State.Open() {
			c.begun = true
			r.size += c.Result.Output.size()
			c.Result = Result{} // the store has it
		}
		r.cells = append(r.cells, c)
	}
	return r
}

// start adds a run to the active ones.
func (s *runner) start(r *live, w Watch) {
	s.mu.Lock()
	s.active[r.id] = r
	s.order = append(s.order, r)
	s.mu.Unlock()
	if w != nil {
		stop := w(func(why error) { s.stopWith(StopOrder{r.id, AllColumns}, penstock.AsError(why)) })
		s.mu.Lock()
		r.unwatch = stop
		gone := s.active[r.id] != r // it ended meanwhile
		s.mu.Unlock()
		if gone {
			stop()
		}
	}
	s.pump()
}

// pump starts cells while there are slots, one of each run in turn.
func (s *runner) pump() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for started := true; started; {
		started = false
		for _, r := range s.order {
			if c := s.nextLocked(r); c != nil {
				s.beginLocked(r, c)
				started = true
			}
		}
	}
}

// nextLocked is the next cell of a run that may start now, nil for none.
func (s *runner) nextLocked(r *live) *liveCell {
	if s.stopping || s.failing || r.lost || r.running >= MaxRunConcurrency {
		return nil
	}
	limits := s.Limits(r.tenant)
	if s.inUse >= limits.Process || s.byTenant[r.tenant] >= share(limits.Tenant, r.principal.Tenant.Limits.Concurrency) {
		return nil
	}
	for _, c := range r.cells {
		if !c.begun && c.State == CellQueued {
			return c
		}
	}
	return nil
}

// share is how many cells of a tenant may run at once: half of the tenant's own concurrency at the most, so that its other calls
// always have the other half.
func share(most, concurrency int) int {
	if concurrency > 0 {
		most = min(most, max(1, concurrency/2))
	}
	return max(1, most)
}

func (s *runner) beginLocked(r *live, c *liveCell) {
	ctx, cancel := context.WithCancelCause(context.Background()) // a cell outlives the call that asked for it
	c.begun, c.cancel = true, cancel
	r.running++
	s.inUse++
	s.byTenant[r.tenant]++
	s.cells.Go(func() {
		defer cancel(nil)
		s.runCell(ctx, r, c)
	})
}

// leaveLocked gives the slot of a cell back.
func (s *runner) leaveLocked(r *live, c *liveCell) {
	c.cancel = nil
	r.running--
	s.inUse--
	if s.byTenant[r.tenant]--; s.byTenant[r.tenant] == 0 {
		delete(s.byTenant, r.tenant)
	}
}

// errStopped is the error of calls whose cell was stopped.
func errStopped() *penstock.Error {
	return penstock.Errorf(penstock.CodeCancelled, "The cell was stopped.")
}

// errInterrupted is the error of calls that the process could not wait for.
func errInterrupted() *penstock.Error {
	return penstock.Errorf(penstock.CodeOverloaded, "The server stopped before the cell had ended; resume the run.")
}

// stopWith stops cells of a run that runs here, and reports whether it does.
func (s *runner) stopWith(o StopOrder, why *penstock.Error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.active[o.ID]
	if r == nil {
		return false
	}
	state := CellStopped
	if why.Code == penstock.CodeOverloaded {
		state = CellInterrupted
	}
	for _, c := range r.cells {
		if o.Column != AllColumns && c.Column != o.Column {
			continue
		}
		switch {
		case c.cancel != nil:
			c.cancel(why)
		case !c.begun:
			c.begun, c.State = true, state
			c.change++
		}
	}
	s.mark()
	return true
}

// drop forgets a run that is being deleted and cancels its cells.
func (s *runner) drop(id penstock.ID) {
	s.mu.Lock()
	r := s.active[id]
	if r == nil {
		s.mu.Unlock()
		return
	}
	r.lost = true
	s.forgetLocked(r)
	unwatch := r.unwatch
	s.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
}

// forgetLocked takes a run off the active ones and cancels its cells.
func (s *runner) forgetLocked(r *live) {
	delete(s.active, r.id)
	for i, one := range s.order {
		if one == r {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
	for _, c := range r.cells {
		c.begun = true
		if c.cancel != nil {
			c.cancel(errStopped())
		}
	}
}

// mark wakes the writer.
func (s *runner) mark() {
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// pending is a step with the changes that it stores.
type pending struct {
	run     *live
	step    Step
	cells   []*liveCell
	changes []int64 // of these cells
}

// collect makes the steps of all runs that changed.
func (s *runner) collect() (all []pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.order {
		p := pending{run: r, step: Step{Tenant: r.tenant, Run: r.id}}
		for _, c := range r.cells {
			p.step.Counts.add(c.State)
			p.step.Cost = p.step.Cost.Plus(c.Metrics.Cost)
			if c.change == c.stored {
				continue
			}
			r.seq++
			c.Seq = r.seq
			p.step.Cells = append(p.step.Cells, Changed{Cell: c.Cell, Pieces: c.pieces})
			p.changes, p.cells = append(p.changes, c.change), append(p.cells, c)
			c.pieces = nil
		}
		if len(p.step.Cells) == 0 {
			continue
		}
		if p.step.Counts.State() != RunRunning {
			p.step.FinishedAt = s.Clock()
		}
		p.step.Seq = r.seq
		all = append(all, p)
	}
	return all
}

// saveTimeout bounds a write, so that a store that hangs does not stop the playground for good.
const saveTimeout = 10 * time.Second

// save stores all changes, and tells readers of them.
func (s *runner) save(ctx context.Context) {
	s.saving.Lock()
	defer s.saving.Unlock()
	all := s.collect()
	if len(all) == 0 {
		return
	}
	steps := make([]Step, len(all))
	for i := range all {
		steps[i] = all[i].step
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	lost, err := s.Progress.SaveSteps(ctx, s.Lease(), steps)
	if err != nil {
		s.Log.WarnContext(ctx, "storing what cells of the playground wrote", "error", err)
	}
	s.settle(all, lost, err)
	if err != nil {
		s.mark()
		return
	}
	ids := make([]penstock.ID, len(all))
	for i := range all {
		ids[i] = all[i].run.id
	}
	s.Changed.Publish(ids...)
	s.pump()
}

// settle notes what was stored.
func (s *runner) settle(all []pending, lost []penstock.ID, err error) {
	var unwatch []func()
	s.mu.Lock()
	s.failing = err != nil
	gone := map[penstock.ID]bool{}
	for _, id := range lost {
		gone[id] = true
	}
	for i := range all {
		p := &all[i]
		for j, c := range p.cells {
			if err != nil { // the next step has them
				c.pieces = append(p.step.Cells[j].Pieces, c.pieces...)
				continue
			}
			c.stored = p.changes[j]
			if c.change == c.stored && !c.State.Open() {
				c.Result = Result{} // the store has it
			}
		}
		if err == nil && (!p.step.FinishedAt.IsZero() || gone[p.run.id]) {
			p.run.lost = gone[p.run.id]
			s.forgetLocked(p.run)
			if p.run.unwatch != nil {
				unwatch = append(unwatch, p.run.unwatch)
			}
		}
	}
	s.mu.Unlock()
	for _, f := range unwatch {
		f()
	}
}

const (
	// saveInterval is the shortest time between two writes: the text of all cells that arrived meanwhile is one transaction.
	saveInterval = 100 * time.Millisecond
	// lookInterval is how often runs of dead processes, stops of other processes and expired snapshots are looked for.
	lookInterval = time.Second
	// interruptLimit and purgeLimit bound one step of maintenance.
	interruptLimit, purgeLimit = 20, 20
)

// Run writes what cells say, and runs maintenance, until ctx ends. Then cells that run get the grace period, and all others are
// interrupted.
func (s *runner) Run(ctx context.Context) error {
	stops := s.Stops.SubscribeAll()
	defer stops.Close()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			s.drain(context.WithoutCancel(ctx))
			return nil
		case <-s.dirty:
			s.save(ctx)
			rest(ctx, saveInterval)
		case <-stops.C:
			s.look(ctx)
		case <-look.C:
			s.look(ctx)
			s.maintain(ctx)
		}
	}
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// look asks which runs this process still owns, and which of their cells others stopped.
func (s *runner) look(ctx context.Context) {
	s.mu.Lock()
	known := append([]*live(nil), s.order...)
	s.mu.Unlock()
	if len(known) == 0 {
		return
	}
	owned, err := s.Progress.Owned(ctx, s.Lease())
	if err != nil {
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "reading the runs of this process", "error", err)
		}
		return
	}
	still := map[penstock.ID]bool{}
	for _, o := range owned {
		still[o.ID] = true
		for _, column := range o.Stops {
			s.stopWith(StopOrder{o.ID, column}, errStopped())
		}
	}
	for _, r := range known {
		if !still[r.id] {
			s.drop(r.id) // deleted, or interrupted because the lease was lost
		}
	}
	s.pump()
}

// maintain ends runs of processes that died, and removes expired snapshots.
func (s *runner) maintain(ctx context.Context) {
	ended, err := s.Progress.Interrupt(ctx, interruptLimit)
	if err == nil {
		s.Changed.Publish(ended...)
		_, err = s.Shares.PurgeShares(ctx, purgeLimit)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "maintenance of the playground", "error", err)
	}
}

// drain waits for running cells, within the grace period, and stores their ends.
func (s *runner) drain(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	known := append([]*live(nil), s.order...)
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.cells.Wait()
		close(done)
	}()
	grace := time.NewTimer(s.Grace)
	defer grace.Stop()
	write := time.NewTicker(saveInterval)
	defer write.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-grace.C:
			s.interrupt(known)
		case <-write.C:
			s.save(ctx)
		}
	}
	s.interrupt(known) // the cells that never started
	s.save(ctx)
}

// interrupt ends the open cells of runs.
func (s *runner) interrupt(runs []*live) {
	for _, r := range runs {
		s.stopWith(StopOrder{r.id, AllColumns}, errInterrupted())
	}
}
