package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Bounds of a group of submits. A submission that is larger than half of a group is written alone.
const (
	maxGroupSubmits = 64
	maxGroupBytes   = 1 << 20 // of inputs
	// groupTimeout bounds the transaction of a group. It does not end with the context of any of its callers.
	groupTimeout = 15 * time.Second
)

// submitQueue lets concurrent submits of a tenant share transactions. Each would update the same rows, the tenant's backlog and
// budgets, and wait for the commit of the one before it.
//
// A submit that finds no other of its tenant is written at once. Submits that arrive while one is being written wait, and the
// next transaction writes them together. There is neither a timer nor a goroutine: the caller whose submit is the first of a
// group writes the group. Tenants do not share transactions, so that none waits for the locks of another. It is safe for
// concurrent use; the zero value is empty.
type submitQueue struct {
	mu      sync.Mutex
	waiting map[penstock.TenantID][]*queuedSubmit // has a key, with a list that may be empty, while a submit of the tenant is being written
}

// queuedSubmit is a submit that waits for its group.
type queuedSubmit struct {
	*pendingSubmit
	lead  chan []*queuedSubmit // gets the group that this submit leads
	done  chan error           // gets the result of a group that another submit led
	bytes int
}

// errAlone is the result of a group whose members must each be written alone.
var errAlone = errors.New("written alone")

// submitWriter writes submits in one transaction.
type submitWriter func(ctx context.Context, group []*pendingSubmit) error

// shareable reports whether a submit may share a transaction.
func (p *pendingSubmit) shareable() bool {
	return p.also == nil && len(p.Items) > 0 && len(p.Items) <= maxGroupSubmits && p.items.inputBytes() <= maxGroupBytes/2
}

// run has a submit written. A caller whose context ends leaves the queue; a caller whose submit is being written waits, because
// it has to know the outcome.
func (q *submitQueue) run(ctx context.Context, p *pendingSubmit, write submitWriter) error {
	m := &queuedSubmit{pendingSubmit: p, lead: make(chan []*queuedSubmit, 1), done: make(chan error, 1), bytes: int(p.items.inputBytes())}
	if q.enter(m) {
		defer q.leave(p.tenant)
		return write(ctx, []*pendingSubmit{p})
	}
	err := error(nil)
	select {
	case group := <-m.lead:
		err = q.lead(ctx, group, write)
	case err = <-m.done:
	case <-ctx.Done():
		if q.remove(m) {
			return sqldb.PublicError(ctx.Err())
		}
		select {
		case group := <-m.lead:
			err = q.lead(ctx, group, write)
		case err = <-m.done:
		}
	}
	if errors.Is(err, errAlone) {
		return write(ctx, []*pendingSubmit{p})
	}
	return err
}

// enter reports whether a submit may be written at once. Otherwise it waits for its group.
func (q *submitQueue) enter(m *queuedSubmit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, busy := q.waiting[m.tenant]
	if busy {
		q.waiting[m.tenant] = append(waiting, m)
		return false
	}
	if q.waiting == nil {
		q.waiting = make(map[penstock.TenantID][]*queuedSubmit)
	}
	q.waiting[m.tenant] = nil
	return true
}

// leave starts the next group of a tenant.
func (q *submitQueue) leave(tenant penstock.TenantID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting[tenant]
	if len(waiting) == 0 {
		delete(q.waiting, tenant)
		return
	}
	group, rest := nextGroup(waiting)
	q.waiting[tenant] = rest
	group[0].lead <- group
}

// remove takes a submit out of the queue. It reports false for a submit that is in a group already.
func (q *submitQueue) remove(m *queuedSubmit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting[m.tenant], m)
	if at >= 0 {
		q.waiting[m.tenant] = slices.Delete(q.waiting[m.tenant], at, at+1)
	}
	return at >= 0
}

// nextGroup takes submits from the front, within the bounds of a group. Submits with the same idempotency key are never in one
// group: the second is to find the job of the first.
func nextGroup(waiting []*queuedSubmit) (group, rest []*queuedSubmit) {
	bytes, keys := 0, map[string]bool{}
	for i, m := range waiting {
		bytes += m.bytes
		if len(group) == maxGroupSubmits || len(group) > 0 && bytes > maxGroupBytes {
			return group, append(rest, waiting[i:]...)
		}
		if key := m.Idempotency; key != nil {
			if keys[key.Key] {
				return group, append(rest, waiting[i:]...)
			}
			keys[key.Key] = true
		}
		group = append(group, m)
	}
	return group, rest
}

// lead writes a group and sends the result to the other members. When the transaction of several members fails for a reason
// that one member may have caused, nothing was written, and each member is written alone: the others must not fail with it.
func (q *submitQueue) lead(ctx context.Context, group []*queuedSubmit, write submitWriter) (err error) {
	defer q.leave(group[0].tenant)
	if len(group) == 1 {
		return write(ctx, []*pendingSubmit{group[0].pendingSubmit})
	}
	err = errors.New("the transaction of a group of submits did not end")
	defer func() {
		for _, m := range group[1:] {
			m.done <- err
		}
	}()
	members := make([]*pendingSubmit, len(group))
	for i, m := range group {
		members[i] = m.pendingSubmit
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupTimeout)
	defer cancel()
	if err = write(ctx, members); err != nil && retryAlone(members, err) {
		err = errAlone
	}
	return err
}

// retryAlone reports whether the failure of a group may be caused by one of its members, and certainly nothing was written: the
// transaction did not reach its commit, or the database reported a rollback.
func retryAlone(members []*pendingSubmit, err error) bool {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrAway), errors.Is(err, store.ErrFull):
		return false
	case !slices.ContainsFunc(members, func(p *pendingSubmit) bool { return p.named }): // before the commit
		return true
	}
	return errors.Is(err, sqldb.ErrRolledBack) || errors.Is(err, sqldb.ErrLockTimeout) || errors.Is(err, sqldb.ErrMissed)
}
