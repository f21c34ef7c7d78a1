package route

import "penstock"

// MaxWaitingEach is how many calls of one tenant may wait for capacity at a time: whoever sends more than can be
// served must not take all places of the line.
const MaxWaitingEach = MaxWaiting / 2

// turns order those who wait in one lane by tenant: each tenant's first call comes before anybody's second,
// so one that sends a thousand does not keep another waiting behind them. A tenant that comes later starts
// at the turn that is being served, neither before it nor behind those who wait.
//
// Items of jobs, which have no tenant here, count as one: their queue is fair already.
type turns struct {
	serving int64
	last    map[penstock.TenantID]int64 // turn of the last call, of those who wait
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

// served notes whose turn it was.
func (t *turns) served(turn int64) { t.serving = max(t.serving, turn) }

// leave ends the wait of a call, served or not.
func (t *turns) leave(tenant penstock.TenantID) {
	if t.waiting[tenant]--; t.waiting[tenant] <= 0 {
		delete(t.waiting, tenant)
		delete(t.last, tenant)
	}
}
