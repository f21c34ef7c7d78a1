package directory

import (
	"context"
	"sync"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// OpenCall is a call that stays open with a key: a stream, a long poll, a download, an upload. Short calls are not
// watched, because their key was checked a moment ago.
type OpenCall interface {
	// End is called when the key is not accepted any more. It must neither block nor call Unwatch. Codes of the error:
	// invalid_key.
	End(why error)
}

// watches are the open calls, with the digests of their keys.
type watches struct {
	mu   sync.Mutex
	open map[OpenCall]store.KeyHash
}

// Watch ends a call when the key of its secret is revoked or expires, or when its tenant is disabled. The check runs at
// every change of the view and every [PollInterval].
func (d *Directory) Watch(c OpenCall, secret string) {
	digest, _ := config.Digest(secret)
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	if d.watches.open == nil {
		d.watches.open = map[OpenCall]store.KeyHash{}
	}
	d.watches.open[c] = digest
}

// Unwatch forgets a call. After it has returned, the call is not ended.
func (d *Directory) Unwatch(c OpenCall) {
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	delete(d.watches.open, c)
}

// endRefused ends the open calls whose key is not accepted any more. Each look-up takes about 100 ns, so ten thousand
// open streams cost a millisecond.
func (d *Directory) endRefused() {
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	for c, digest := range d.watches.open {
		if _, _, err := d.lookUp(digest); err != nil {
			delete(d.watches.open, c)
			c.End(&penstock.Error{Code: penstock.CodeInvalidKey, Err: err,
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
