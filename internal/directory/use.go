package directory

import (
	"context"
	"time"

	"penstock/internal/store"
)

const (
	// useStep is the precision of the time of a key's last use: a busy key is stored once per step.
	useStep = time.Minute
	// maxUses is how many uses may wait to be written. Beyond that, a use is stored a step later.
	maxUses = 4096
	// flushInterval and flushBatch are how often uses are written and how many at a time.
	flushInterval = 2 * time.Second
	flushBatch    = 1000
	flushTimeout  = 5 * time.Second
)

// note queues the use of a key. It never blocks.
func (d *Directory) note(k *key, now time.Time) {
	last, at := k.used.Load(), now.UnixMicro()
	if at-last < useStep.Microseconds() || !k.used.CompareAndSwap(last, at) {
		return
	}
	select {
	case d.uses <- store.KeyUse{Key: k.ID, At: now}:
	default: // a use within the next step will be noted
	}
}

// flush writes a batch of uses. If it fails, they are lost, which does no harm: the next use of the key is stored.
func (d *Directory) flush(ctx context.Context) {
	var batch []store.KeyUse
	for len(batch) < flushBatch {
		select {
		case u := <-d.uses:
			batch = append(batch, u)
			continue
		default:
		}
		break
	}
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := d.Source.TouchKeys(ctx, batch); err != nil {
		d.Log.WarnContext(ctx, "noting when keys were used", "keys", len(batch), "error", err)
	}
}
