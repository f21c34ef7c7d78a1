package conversation

import (
	"context"
	"sync"
	"time"

	"penstock"
)

const (
	// maxPending and maxPendingBytes bound the turns that wait to be written.
	maxPending      = 4096
	maxPendingBytes = 256 << 20
	// maxGroup and maxGroupBytes bound the turns that one transaction writes.
	maxGroup      = 128
	maxGroupBytes = 16 << 20
	// writeTimeout bounds a transaction. The ends of the answers wait for it.
	writeTimeout = 10 * time.Second
	// lastTurns is how long the end waits for a turn whose answer ends at the same time.
	lastTurns = 100 * time.Millisecond
)

// keeper is the line of turns to be written. Turns that arrive during a transaction are written by the next one, so that many
// answers share a flush, and a single one does not wait for others.
type keeper struct {
	mu      sync.Mutex
	pending []*waiting
	bytes   int64
	stopped bool
	arrived chan struct{}
}

// waiting is a turn whose answer waits for its end.
type waiting struct {
	turn Turn
	done chan error
}

func newKeeper() keeper { return keeper{arrived: make(chan struct{}, 1)} }

// Keep writes a turn and returns when it is on stable storage, so that a call that begins afterwards finds it at any process. It
// is called after the last token and before the end of an answer. The write goes on if ctx ends. Codes: overloaded,
// quota_exceeded.
func (s *Service) Keep(ctx context.Context, t Turn) error {
	w := &waiting{turn: t, done: make(chan error, 1)}
	if err := s.keeper.add(w); err != nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return penstock.Errorf(penstock.CodeOverloaded, "The response was not stored in time.")
	}
}

func (k *keeper) add(w *waiting) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := w.turn.bytes()
	switch {
	case k.stopped:
		return penstock.Errorf(penstock.CodeOverloaded, "The process stops.")
	case len(k.pending) >= maxPending || k.bytes+n > maxPendingBytes && k.bytes > 0:
		return penstock.Errorf(penstock.CodeOverloaded, "Too many responses wait to be stored; the database may be slow or away.")
	}
	k.pending = append(k.pending, w)
	k.bytes += n
	select {
	case k.arrived <- struct{}{}:
	default:
	}
	return nil
}

// take removes the next group from the line.
func (k *keeper) take() (group []*waiting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var bytes int64
	for len(group) < min(maxGroup, len(k.pending)) {
		n := k.pending[len(group)].turn.bytes()
		if bytes+n > maxGroupBytes && len(group) > 0 {
			break
		}
		bytes += n
		group = append(group, k.pending[len(group)])
	}
	k.pending = append([]*waiting(nil), k.pending[len(group):]...) // lets go of those that were taken
	k.bytes -= bytes
	return group
}

// Run writes turns until ctx ends, and then those that are left.
func (s *Service) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.keeper.arrived:
			s.writePending(ctx)
		}
	}
	timer := time.NewTimer(lastTurns)
	defer timer.Stop()
	select {
	case <-s.keeper.arrived:
	case <-timer.C:
	}
	s.keeper.stop()
	s.writePending(ctx)
	return nil
}

func (k *keeper) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
}

func (s *Service) writePending(ctx context.Context) {
	for {
		group := s.keeper.take()
		if len(group) == 0 {
			return
		}
		s.write(context.WithoutCancel(ctx), group)
	}
}

// write writes a group at once or, if the store refuses it, one by one: a turn that the store never takes must not fail the others.
func (s *Service) write(ctx context.Context, group []*waiting) {
	err := s.save(ctx, group)
	if err == nil || len(group) == 1 || penstock.ErrorCode(err) == penstock.CodeOverloaded {
		for _, w := range group {
			w.done <- err
		}
		return
	}
	for i, w := range group {
		w.done <- s.save(ctx, group[i:i+1])
	}
}

func (s *Service) save(ctx context.Context, group []*waiting) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	turns := make([]Turn, len(group))
	for i, w := range group {
		turns[i] = w.turn
	}
	err := s.Responses.SaveTurns(ctx, turns)
	if err != nil && penstock.ErrorCode(err) != penstock.CodeQuotaExceeded {
		s.Log.WarnContext(ctx, "responses were answered and not stored", "responses", len(group), "error", err)
	}
	return err
}
