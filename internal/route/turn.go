package route

import "penstock"

// MaxWaitingEach is how many calls of one tenant may wait for capacity at a time: a tenant that sends more than can be
// served must not take all places of the line.
const MaxWaitingEach = MaxWaiting / 2

// turns order the waiting calls of one lane by tenant: the first call of each tenant comes before the second of any,
// so a tenant that sends a thousand calls does not block others behind them. A tenant that comes later starts at the turn
// that is being served.
//
// Items of jobs, which have no tenant here, count as one: their queue is fair already.
type turns struct {
	serving int64
	last    map[penstock.TenantID]int64 // turn of the last waiting call
	waiting map[penstock.TenantID]int
}

// admit gives a call of a tenant its turn.
func (t *turns) admit(tenant penstock.TenantID) int64 {
	if t.last == nil {
		t.last, t.waiting = make(map[penstock.TenantID]int64), make(map[penstock.TenantID]int)
	}
	turn := max(t.serving, t.last[tenant]) + 1
	t.last[tenant] = turn
	t.waiting[tenant]++
	return turn
}

// served records the turn that was served.
func (t *turns) served(turn int64) { t.serving = max(t.serving, turn) }

// leave ends the wait of a call, served or not.
func (t *turns) leave(tenant penstock.TenantID) {
	if t.waiting[tenant]--; t.waiting[tenant] <= 0 {
		delete(t.waiting, tenant)
		delete(t.last, tenant)
	}
}
