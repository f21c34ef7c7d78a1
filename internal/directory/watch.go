package directory

import (
	"context"
	"sync"
	"time"

	"penstock"
	"penstock/internal/config"
)

// OpenCall is a call that stays open with a key: a stream, a long poll, a download, an upload. Short calls are not
// watched, because their key was checked a moment ago.
type OpenCall interface {
	// End is called when the key is not accepted any more. It must neither block nor call Unwatch. Codes of the error:
	// invalid_key.
	End(why error)
}

// watches are the open calls, each with a function that reports why its credential is not accepted any more.
type watches struct {
	mu   sync.Mutex
	open map[OpenCall]func() error
}

// Refusal returns a function that reports why the key of a secret is not accepted, nil while it is: it is revoked or has
// expired, or its tenant is disabled.
func (d *Directory) Refusal(secret string) func() error {
	digest, _ := config.Digest(secret)
	return func() error {
		_, _, err := d.lookUp(digest)
		return err
	}
}

// Watch ends a call when refuse returns an error. The check runs at every change of the view and every [PollInterval]; it
// must be fast.
func (d *Directory) Watch(c OpenCall, refuse func() error) {
	d.watches.mu.Lock()
	defer d.watches.mu.Unlock()
	if d.watches.open == nil {
		d.watches.open = map[OpenCall]func() error{}
	}
	d.watches.open[c] = refuse
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
	for c, refuse := range d.watches.open {
		if err := refuse(); err != nil {
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
