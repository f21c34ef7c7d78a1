package directory

import (
	"context"
	"sync"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// watches are the calls that stay open on the authority of a key: streams, long polls, downloads, uploads. Short calls
// are not watched, because their key was good a moment ago.
type watches struct {
	mu   sync.Mutex
	open map[*watch]struct{}
}

// watch is one open call.
type watch struct {
	digest store.KeyHash
	end    func(why error)
}

// Watch calls end once when the key of a secret is revoked or expires, or when its tenant is disabled. The check runs at
// every change of the view and every [PollInterval]. After stop has returned, end is not called. end must not block
// and must not call stop. Codes of the error: invalid_key.
func (d *Directory) Watch(secret string, end func(why error)) (stop func()) {
	digest, _ := config.Digest(secret)
	w := &watch{digest, end}
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	if d.watches.open == nil {
		d.watches.open = map[*watch]struct{}{}
	}
	d.watches.open[w] = struct{}{}
	return func() {
		d.watches.mu.Lock()
		defer d.watches.mu.Unlock()
		delete(d.watches.open, w)
	}
}

// endRefused ends the open calls whose key is not accepted any more. Each look-up takes about 100 ns, so ten thousand
// open streams cost a millisecond.
func (d *Directory) endRefused() {
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	for w := range d.watches.open {
		if _, _, err := d.lookUp(w.digest); err != nil {
			delete(d.watches.open, w)
			w.end(&penstock.Error{Code: penstock.CodeInvalidKey, Err: err,
				Message: "This API key was revoked or has expired, or its tenant was disabled, while the call was open."})
		}
	}
}

// watchKeys checks open calls until ctx ends. It is apart from refreshing, so that a key expires on time while the store
// is slow.
func (d *Directory) watchKeys(ctx context.Context) {
	poll := time.NewTicker(PollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.changed:
		case <-poll.C:
		}
		d.endRefused()
	}
}
