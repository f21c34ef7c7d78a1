package attempt

import (
	"context"
	"errors"
	"sync"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// MaxDrainBytes bounds what is read of a stream whose caller left.
const MaxDrainBytes = 16 << 20

// drain lets a stream outlive its caller. An upstream reports the usage at the end of a stream, and most charge for all of it
// whether or not the caller is there. So a target may have its streams read for a bounded time after their callers left. A nil drain does
// nothing: the stream ends with its caller.
type drain struct {
	timeout time.Duration
	cancel  context.CancelFunc // ends the call upstream
	unwatch func() bool        // stops waiting for the caller to leave
	missed  int                // bytes of the answer that no caller received

	mu    sync.Mutex // the caller leaves on another goroutine
	begun bool       // there is an answer to be read
	gone  bool       // the caller left
	timer *time.Timer
}

// outlive is the context of a try whose stream may outlive its caller, or else the caller's own.
func (t *try) outlive(ctx context.Context) context.Context {
	if t.target.DrainTimeout == 0 || !t.task.Stream || t.task.Tenant == "" {
		return ctx
	}
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.drain = &drain{timeout: t.target.DrainTimeout, cancel: cancel}
	t.drain.unwatch = context.AfterFunc(ctx, func() {
		t.drain.leave()
		if _, ended := errors.AsType[*penstock.Error](context.Cause(ctx)); ended {
			t.drain.cancel() // not by its caller: nothing more is to be spent
		}
	})
	return within
}

// begin records that the caller has seen the answer begin. A caller who leaves sooner wants no answer.
func (d *drain) begin() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun = true
}

// leave records that the caller left. The timeout of the drain starts.
func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.gone:
	case d.begun:
		d.timer = time.AfterFunc(d.timeout, d.cancel)
	default:
		d.cancel()
	}
	d.gone = true
}

func (d *drain) left() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// end lets go of everything once the answer is closed.
func (d *drain) end() {
	if d == nil {
		return
	}
	d.unwatch()
	d.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
}

// hand gives a chunk to the sink, or counts its bytes if the caller left.
func (t *try) hand(chunk provider.Chunk) error {
	if !t.drain.left() {
		if err := t.sink.Chunk(chunk); err == nil || t.endedBy(err) {
			return err
		}
		t.drain.leave()
	}
	if t.drain.missed += len(chunk.Wire); t.drain.missed > MaxDrainBytes {
		return errors.New("the rest of the answer is too long to be read without a caller")
	}
	return nil
}

// endedBy reports whether an error of the sink ends the answer.
func (t *try) endedBy(err error) bool {
	_, says := errors.AsType[*provider.Error](err)
	return says || t.drain == nil
}

// waiting is the hook that has the sink send what it keeps back; nil for a sink that keeps nothing back.
func (t *try) waiting() func() error {
	var ok bool
	if t.flusher, ok = t.sink.(Flusher); !ok || !t.task.Stream {
		return nil
	}
	return t.flush
}

// flush has the sink send what it keeps back.
func (t *try) flush() error {
	if !t.begun || t.drain.left() {
		return nil
	}
	err := t.flusher.Flush()
	switch {
	case err == nil:
	case t.endedBy(err):
		t.flushErr = refused(err)
	default:
		t.drain.leave()
		t.drain.missed++ // or more: the sink does not say
	}
	return t.flushErr
}

// drained is the end of an answer that was read to its end: an error if its caller did not receive all of it.
func (t *try) drained() *provider.Error {
	if t.drain == nil || t.drain.missed == 0 {
		return nil
	}
	return &provider.Error{Kind: provider.KindCancelled, Message: "The caller left before the answer was complete; the rest was read to learn what it used."}
}
