// Package drain lets a stream outlive its caller. An upstream reports the usage at the end of a stream, and most charge for all of it
// whether or not the caller is there. So a target may have its streams read for a bounded time, and up to [MaxBytes], after their callers
// left.
//
// It owns the context of the upstream call, and the time and the bytes that a drain may take. It does not read the stream.
//
// A nil Drain does nothing: the stream ends with its caller. The methods belong to the goroutine that reads the stream; the caller leaves
// on another one.
package drain

import (
	"context"
	"errors"
	"sync"
	"time"

	"penstock"
)

// MaxBytes bounds what is read of a stream whose caller left.
const MaxBytes = 16 << 20

// Drain is the state of one stream.
type Drain struct {
	timeout time.Duration
	cancel  context.CancelFunc // ends the call upstream
	unwatch func() bool        // stops waiting for the caller to leave
	missed  int                // bytes of the answer that no caller received

	mu    sync.Mutex // the caller leaves on another goroutine
	begun bool       // there is an answer to be read
	gone  bool       // the caller left
	timer *time.Timer
}

// New returns the context of a call upstream that may outlive the caller's context by a time.
func New(caller context.Context, timeout time.Duration) (context.Context, *Drain) {
	within, cancel := context.WithCancel(context.WithoutCancel(caller))
	d := &Drain{timeout: timeout, cancel: cancel}
	d.unwatch = context.AfterFunc(caller, func() {
		d.Leave()
		if _, ended := errors.AsType[*penstock.Error](context.Cause(caller)); ended {
			d.cancel() // not by its caller: nothing more is to be spent
		}
	})
	return within, d
}

// Begin records that the caller has seen the answer begin. A caller who leaves sooner wants no answer.
func (d *Drain) Begin() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun = true
}

// Leave records that the caller left. The timeout of the drain starts.
func (d *Drain) Leave() {
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

// Left reports whether the caller left.
func (d *Drain) Left() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// Miss counts bytes that no caller received. It returns an error if there are too many.
func (d *Drain) Miss(bytes int) error {
	if d.missed += bytes; d.missed > MaxBytes {
		return errors.New("the rest of the answer is too long to be read without a caller")
	}
	return nil
}

// Missed reports whether the caller did not receive all of the answer.
func (d *Drain) Missed() bool { return d != nil && d.missed > 0 }

// End lets go of everything once the answer is closed.
func (d *Drain) End() {
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
