package directory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
)

// openStream is an open call that notes when it is ended, and why.
type openStream struct {
	at  time.Time
	why error
}

func (o *openStream) End(why error) { o.at, o.why = time.Now(), why }

// What a key has open ends within a second of the key: when it is revoked, when it expires, and when its tenant is
// disabled. What other keys have open, and what was closed before, is left alone.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newLedger()
		d := newDirectory(t, l, time.Now)
		l.tenant(kept("acme"))
		l.tenant(kept("other"))
		revoked, expiring, good, off := keyOf(1, "acme"), keyOf(2, "acme"), keyOf(3, "acme"), keyOf(4, "other")
		expiring.ExpiresAt = time.Now().Add(10 * time.Second)
		l.key(revoked)
		l.key(expiring)
		l.key(good)
		l.key(off)
		d.refresh(t)
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		open := map[string]*openStream{}
		for n, secret := range map[string]string{"revoked": secretOf(1), "expiring": secretOf(2), "good": secretOf(3), "off": secretOf(4), "file": fileSecret, "closed": secretOf(1)} {
			open[n] = &openStream{}
			d.Watch(open[n], d.Refusal(secret))
		}
		d.Unwatch(open["closed"])
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for name, o := range open {
			if o.why != nil {
				t.Errorf("%s ended: %v", name, o.why)
			}
		}
		began := time.Now()
		revoked.RevokedAt = began
		l.key(revoked)
		disabled := kept("other")
		disabled.Enabled = false
		l.tenant(disabled)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		for name, due := range map[string]time.Time{"revoked": began, "off": began, "expiring": expiring.ExpiresAt} {
			o := open[name]
			if penstock.ErrorCode(o.why) != penstock.CodeInvalidKey || o.at.Before(due) || o.at.Sub(due) > time.Second {
				t.Errorf("%s ended %v after its key: %v", name, o.at.Sub(due), o.why)
			}
		}
		for _, name := range []string{"good", "file", "closed"} {
			if open[name].why != nil {
				t.Errorf("%s ended: %v", name, open[name].why)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
