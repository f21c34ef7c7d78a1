package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/outbox"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

// submitGroup writes submissions of one tenant in one transaction. The outcome of each is the one that it would have had in a
// transaction of its own, behind those before it in the group.
//
// The transaction asks the database once for all members, decides in memory, and writes the rows of all members together. Locks
// are taken in the order of a lone submission: keys, budgets, shares, stored bytes, backlogs; each kind in ascending order.
type submitGroup struct {
	store   *Store
	tenant  penstock.TenantID
	members []*pendingSubmit

	keys       map[string]keyHeld             // by idempotency key
	balances   map[penstock.ID]*store.Balance // by account
	stored     store.Stored                   // what the tenant has stored, with the members that were accepted
	expiries   map[store.Lease]int64          // when the leases of starters expire, in microseconds
	waiting    map[penstock.Lane]bool         // lanes in which items wait
	queued     map[penstock.Lane]bool         // lanes in which members were queued
	subscribed bool                           // the events of all jobs have a receiver
	started    []penstock.ID                  // jobs with webhooks that started
	changed    map[penstock.ID]*store.Balance // balances to save
	moved      backlog
	more       stored
}

// keyHeld is the job that has an idempotency key.
type keyHeld struct {
	hash []byte
	job  penstock.ID
}

// writeSubmits writes a group in one transaction. Members that are refused do not fail the others, unless the group has only one
// member: then the transaction fails with the refusal.
func (s *Store) writeSubmits(ctx context.Context, members []*pendingSubmit) error {
	return s.write(ctx, members[0].name, func(tx sqldb.Tx) error {
		for _, p := range members {
			p.receipt, p.refusal, p.named = store.Receipt{}, nil, false
		}
		g := &submitGroup{
			store: s, tenant: members[0].tenant, members: members,
			keys: map[string]keyHeld{}, balances: map[penstock.ID]*store.Balance{}, expiries: map[store.Lease]int64{},
			waiting: map[penstock.Lane]bool{}, queued: map[penstock.Lane]bool{},
			changed: map[penstock.ID]*store.Balance{}, moved: backlog{}, more: stored{},
		}
		if err := g.write(ctx, tx); err != nil {
			return err
		}
		for _, p := range members { // a commit that fails may have happened all the same
			p.named = p.refusal == nil && !p.receipt.Replayed
		}
		return nil
	})
}

func (g *submitGroup) write(ctx context.Context, tx sqldb.Tx) error {
	questions, err := g.takeKeys(ctx, tx)
	if err != nil {
		return err
	}
	if only := g.members[0]; only.also != nil { // it is alone
		if err := tx.Ask(ctx, append(questions, storedrow.Ask(g.tenant, &g.stored))...); err != nil {
			return err
		}
		if replayed, err := g.replay(ctx, tx, only); replayed || err != nil {
			return err
		}
		if err := g.refuseStored(only); err != nil {
			return err
		}
		if err := only.also(tx, only.newJob(tx)); err != nil {
			return err
		}
		questions = nil
	}
	if questions = append(questions, g.questions(tx)...); len(questions) > 0 {
		if err := tx.Ask(ctx, questions...); err != nil {
			return err
		}
	}
	for _, p := range g.members {
		err := g.accept(ctx, tx, p)
		if refused, ok := errors.AsType[*penstock.Error](err); ok && refused.Code != penstock.CodeInternal && len(g.members) > 1 {
			p.refusal = err
			err = g.returnKey(ctx, tx, p)
		}
		if err != nil {
			return err
		}
	}
	return g.save(ctx, tx)
}

var takeKey = sqldb.InsertInto("idempotency_keys", `tenant_id text, key text, body_hash bytea, job_id text, created_at bigint, expires_at bigint`,
	sqldb.Overwriting("tenant_id, key", "body_hash bytea, job_id text, created_at bigint, expires_at bigint")+
		` WHERE idempotency_keys.expires_at <= excluded.created_at`)

// takeKeys claims the idempotency keys of the members, which differ, and asks for the job that has each. On PostgreSQL the insert
// waits for a concurrent submit with the same key to commit.
func (g *submitGroup) takeKeys(ctx context.Context, tx sqldb.Tx) ([]sqldb.Question, error) {
	var keyed []*pendingSubmit
	for _, p := range g.members {
		if p.Idempotency != nil {
			keyed = append(keyed, p)
		}
	}
	if len(keyed) == 0 {
		return nil, nil
	}
	slices.SortFunc(keyed, func(a, b *pendingSubmit) int { return cmp.Compare(a.Idempotency.Key, b.Idempotency.Key) })
	now, names := tx.Now(), make([]string, len(keyed))
	for i, p := range keyed {
		key := p.Idempotency
		names[i] = key.Key
		if err := tx.Put(ctx, takeKey, g.tenant, key.Key, key.BodyHash, p.Job.ID, sqldb.Micros(now), sqldb.Micros(now.Add(key.TTL))); err != nil {
			return nil, err
		}
	}
	return []sqldb.Question{{
		IDQuery: sqldb.IDQuery{SQL: `SELECT key, body_hash, job_id FROM idempotency_keys WHERE key = /*pg ANY */($1) AND tenant_id = $2`, IDs: names, Args: []any{g.tenant}},
		Scan: func(row sqldb.Row) error {
			var key string
			var held keyHeld
			err := row.Scan(&key, &held.hash, &held.job)
			g.keys[key] = held
			return err
		},
	}}, nil
}

// returnKey gives up the key of a member that was refused.
func (g *submitGroup) returnKey(ctx context.Context, tx sqldb.Tx, p *pendingSubmit) error {
	if p.Idempotency == nil || g.keys[p.Idempotency.Key].job != p.Job.ID {
		return nil
	}
	return tx.Do(ctx, `DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key = $2 AND job_id = $3`, g.tenant, p.Idempotency.Key, p.Job.ID)
}

// questions ask for what the members have to know: balances, stored bytes, leases, lanes in which items wait, webhooks.
func (g *submitGroup) questions(tx sqldb.Tx) (all []sqldb.Question) {
	accounts := map[penstock.ID]store.Account{}
	lanes := map[penstock.Lane]bool{} // in which members may start at once
	limited := false
	for _, p := range g.members {
		if len(p.Items) > 0 { // SplitJob reserves for lines
			for _, a := range p.Accounts {
				accounts[a.ID(g.tenant)] = a
			}
		}
		limited = limited || p.StoredLimit > 0
		if mayStart(p.Submission) {
			g.expiries[*p.Starter], lanes[p.Job.Lane] = 0, true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(accounts)) {
		g.balances[id] = &store.Balance{}
		all = append(all, askAccount(tx, g.tenant, accounts[id], g.balances[id]))
	}
	if limited {
		all = append(all, storedrow.Ask(g.tenant, &g.stored))
	}
	return append(all, g.askStarts(lanes)...)
}

// askStarts asks for what decides whether members start at once.
func (g *submitGroup) askStarts(lanes map[penstock.Lane]bool) (all []sqldb.Question) {
	if len(lanes) == 0 {
		return nil
	}
	for lease := range g.expiries {
		all = append(all, sqldb.Ask(sqldb.SQL(`SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2`, lease.Process, lease.Epoch), func(row sqldb.Row) error {
			expires, err := sqldb.ScanOne[int64](row)
			g.expiries[lease] = expires
			return err
		}))
	}
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		all = append(all, sqldb.Ask(sqldb.SQL(`SELECT 1 FROM shares WHERE lane = $1 AND active = 1 LIMIT 1`, lane), func(sqldb.Row) error {
			g.waiting[lane] = true
			return nil
		}))
	}
	// The job of a retry may have inherited a webhook. In a group of several, only the members' own webhooks are of one job.
	job := penstock.ID("")
	if len(g.members) == 1 {
		job = g.members[0].Job.ID
	}
	return append(all, sqldb.Ask(sqldb.SQL(`SELECT `+outbox.HasSubscriber("$1", "$2"), g.tenant, job), func(row sqldb.Row) error {
		subscribed, err := sqldb.ScanOne[int64](row)
		g.subscribed = subscribed > 0
		return err
	}))
}

// replay answers a member whose key has a job already. Codes: idempotency_mismatch, gone.
func (g *submitGroup) replay(ctx context.Context, tx sqldb.Tx, p *pendingSubmit) (replayed bool, err error) {
	if p.Idempotency == nil {
		return false, nil
	}
	held, ok := g.keys[p.Idempotency.Key]
	if !ok || held.job == p.Job.ID {
		return false, nil
	}
	if !bytes.Equal(held.hash, p.Idempotency.BodyHash) {
		return false, keyMismatch()
	}
	p.receipt.Replayed = true
	p.receipt.Job, err = priorJob(ctx, tx, g.tenant, held.job)
	return true, err
}

// refuseStored refuses a member that would take the tenant beyond its quota. Codes: quota_exceeded.
func (g *submitGroup) refuseStored(p *pendingSubmit) error {
	if p.StoredLimit == 0 {
		return nil
	}
	return g.stored.Refusal(g.tenant, p.StoredLimit, p.items.inputBytes())
}

func (p *pendingSubmit) newJob(tx sqldb.Tx) penstock.Job {
	j := newJob(tx, p.tenant, p.Submission)
	j.StoredBytes = p.items.inputBytes()
	return j
}

// accept decides about a member and writes it. A member that is refused has written nothing.
func (g *submitGroup) accept(ctx context.Context, tx sqldb.Tx, p *pendingSubmit) error {
	if replayed, err := g.replay(ctx, tx, p); replayed || err != nil {
		return err
	}
	if err := g.refuseStored(p); err != nil {
		return err
	}
	p.receipt.Job = p.newJob(tx)
	held, err := g.reserve(p)
	if err != nil {
		return err
	}
	if bring := bringing(ctx, p.Webhook); bring != nil {
		if err := bring(tx, p.receipt.Job); err != nil {
			return err
		}
	}
	for id, b := range held {
		*g.balances[id], g.changed[id] = b, g.balances[id]
	}
	g.stored.JobBytes += p.receipt.Job.StoredBytes
	g.more.Job(g.tenant, p.Job.ID, p.receipt.Job.StoredBytes)
	if g.startable(tx, p) {
		return g.start(ctx, tx, p)
	}
	return g.enqueue(ctx, tx, p)
}

// reserve sets the cost of a job aside in every account that covers it, and notes them on the job. It returns their balances,
// which count when nothing else refuses the job. Codes: budget_exceeded.
func (g *submitGroup) reserve(p *pendingSubmit) (map[penstock.ID]store.Balance, error) {
	if len(p.Items) == 0 { // SplitJob reserves for lines
		return nil, nil
	}
	most := p.items.reserved()
	var paid []penstock.ID
	held := make(map[penstock.ID]store.Balance, len(p.Accounts))
	for _, a := range p.Accounts {
		id := a.ID(g.tenant)
		b := *g.balances[id]
		if _, ok := b.Hold(most, most); !ok {
			return nil, a.Exceeded(b, most)
		}
		if b.Over() {
			p.receipt.Warnings = append(p.receipt.Warnings, a.Warning(b))
		}
		held[id], paid = b, append(paid, id)
	}
	p.receipt.Job.Pay(0, paid)
	return held, nil
}

// startable reports whether a member's items begin at once: its starter's lease is current, and nothing waits in the lane that
// they would overtake.
func (g *submitGroup) startable(tx sqldb.Tx, p *pendingSubmit) bool {
	return mayStart(p.Submission) && !g.waiting[p.Job.Lane] && g.expiries[*p.Starter] > sqldb.Micros(tx.Now())
}

func (g *submitGroup) start(ctx context.Context, tx sqldb.Tx, p *pendingSubmit) (err error) {
	p.receipt.Job.Seq = 1 // as it was before
	if g.subscribed || p.Webhook != nil {
		g.started = append(g.started, p.Job.ID)
	}
	p.receipt.Claimed, err = g.store.start(ctx, tx, p.receipt.Job, starting{p.items, *p.Starter, p.StartTargets, g.moved})
	return err
}

func (g *submitGroup) enqueue(ctx context.Context, tx sqldb.Tx, p *pendingSubmit) error {
	if len(p.items.inputGroups) > 0 {
		g.queued[p.Job.Lane], g.waiting[p.Job.Lane] = true, true
	}
	return insertSubmission(ctx, tx, arrival{p.items, &p.receipt.Job, g.moved})
}

// save writes what the accepted members add up to.
func (g *submitGroup) save(ctx context.Context, tx sqldb.Tx) error {
	for _, id := range slices.Sorted(maps.Keys(g.changed)) {
		if err := tx.Put(ctx, saveBudget, id, g.changed[id].Settled, g.changed[id].Held); err != nil {
			return err
		}
	}
	if err := publishStarted(ctx, tx, g.started); err != nil {
		return err
	}
	for _, lane := range slices.Sorted(maps.Keys(g.queued)) {
		if err := activate(ctx, tx, g.tenant, lane); err != nil {
			return err
		}
	}
	if err := g.more.Save(ctx, tx); err != nil {
		return err
	}
	return g.moved.save(ctx, tx)
}
