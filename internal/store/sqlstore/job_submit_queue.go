package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"penstock"
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
// A submit that finds no other of its tenant is written at once, by its caller. Submits that arrive while one is being written
// wait, and the next transaction writes them together. A goroutine writes one group after the other and ends when no submit
// waits: it begins the next transaction while the callers of the last one send their answers. There is no timer. Tenants do not
// share transactions, so that none waits for the locks of another. It is safe for concurrent use; the zero value is empty.
type submitQueue struct {
	mu      sync.Mutex
	waiting map[penstock.TenantID][]*queuedSubmit // has a key, with a list that may be empty, while a submit of the tenant is being written
}

// queuedSubmit is a submit that waits for its group.
type queuedSubmit struct {
	*pendingSubmit
	done  chan error // gets the result of the group
	bytes int
}

// errAlone is the result of a group whose members must each be written alone.
var errAlone = errors.New("written alone")

// defect is the result of the first member of a group whose transaction panicked: its caller panics with it, and not the
// goroutine that writes groups, which has no caller.
type defect struct {
	value any
	stack []byte
}

func (d *defect) Error() string { return fmt.Sprintf("%v\n\n%s", d.value, d.stack) }

// submitWriter writes submits in one transaction.
type submitWriter func(ctx context.Context, group []*pendingSubmit) error

// shareable reports whether a submit may share a transaction.
func (p *pendingSubmit) shareable() bool {
	return p.also == nil && len(p.Items) > 0 && len(p.Items) <= maxGroupSubmits && p.items.inputBytes() <= maxGroupBytes/2
}

// run has a submit written. A caller whose context ends leaves the queue; a caller whose submit is being written waits, because
// it has to know the outcome.
func (q *submitQueue) run(ctx context.Context, p *pendingSubmit, write submitWriter) error {
	m := &queuedSubmit{pendingSubmit: p, done: make(chan error, 1), bytes: int(p.items.inputBytes())}
	if q.enter(m) {
		defer q.leave(ctx, p.tenant, write)
		return write(ctx, []*pendingSubmit{p})
	}
	err := error(nil)
	select {
	case err = <-m.done:
	case <-ctx.Done():
		if q.remove(m) {
			return sqldb.PublicError(ctx.Err())
		}
		err = <-m.done
	}
	if d, ok := err.(*defect); ok {
		panic(d)
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

// leave has the submits written that arrived while the caller's was.
func (q *submitQueue) leave(ctx context.Context, tenant penstock.TenantID, write submitWriter) {
	group := q.take(tenant)
	if len(group) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		for ; len(group) > 0; group = q.take(tenant) {
			writeGroup(ctx, group, write)
		}
	}()
}

// take returns the next group of a tenant, empty if no submit waits.
func (q *submitQueue) take(tenant penstock.TenantID) []*queuedSubmit {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting[tenant]
	if len(waiting) == 0 {
		delete(q.waiting, tenant)
		return nil
	}
	group, rest := nextGroup(waiting)
	q.waiting[tenant] = rest
	return group
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

// writeGroup writes a group and sends the result to its members. When the transaction of several members fails for a reason
// that one member may have caused, nothing was written, and each member is written alone: the others must not fail with it.
func writeGroup(ctx context.Context, group []*queuedSubmit, write submitWriter) {
	members := make([]*pendingSubmit, len(group))
	for i, m := range group {
		members[i] = m.pendingSubmit
	}
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	first, err := error(nil), errors.New("the transaction of a group of submits did not end")
	defer func() {
		if p := recover(); p != nil {
			first = &defect{p, debug.Stack()}
		}
		group[0].done <- cmp.Or(first, err)
		for _, m := range group[1:] {
			m.done <- err
		}
	}()
	if err = write(ctx, members); err != nil && len(group) > 1 && retryAlone(members, err) {
		err = errAlone
	}
}

// retryAlone reports whether the failure of a group may be caused by one of its members, and certainly nothing was written: the
// transaction did not reach its commit, or the database reported a rollback.
func retryAlone(members []*pendingSubmit, err error) bool {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, penstock.ErrUnreachable), errors.Is(err, penstock.ErrDiskFull):
		return false
	case !slices.ContainsFunc(members, func(p *pendingSubmit) bool { return p.named }): // before the commit
		return true
	}
	return errors.Is(err, sqldb.ErrRolledBack) || errors.Is(err, sqldb.ErrLockTimeout) || errors.Is(err, sqldb.ErrMissed)
}
