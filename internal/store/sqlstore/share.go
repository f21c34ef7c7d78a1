package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"penstock"
	"penstock/internal/fair"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// Claiming is fair in tokens: package fair has the policy, and a row for every lane and tenant has the tenant's virtual
// time.
//
// On PostgreSQL a transaction that queues an item locks its tenant's share FOR KEY SHARE until the commit. Claims
// charge the share FOR NO KEY UPDATE, which does not conflict. Only the full lock, which does conflict, may mark a
// tenant idle. So a tenant with ready items is never marked idle.

// activate makes a tenant's items visible to claims. A tenant that was idle starts at the lowest virtual time of the active
// tenants. If all are idle, nobody waits for anybody, so it starts at the highest: the others owe it nothing for the time when
// they were alone. Nearly always the tenant is active: then the statement only locks the share.
func activate(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, lane penstock.Lane) error {
	return tx.Do(ctx, `WITH held AS (SELECT active FROM shares WHERE lane = $1 AND tenant_id = $2 /*pg FOR KEY SHARE */)
		INSERT INTO shares (lane, tenant_id, vtime, active)
		SELECT $1, $2, COALESCE((SELECT MIN(vtime) FROM shares WHERE lane = $1 AND active = 1), (SELECT MAX(vtime) FROM shares WHERE lane = $1 AND active = 0), 0), 1
		WHERE NOT EXISTS (SELECT 1 FROM held WHERE active = 1)
		ON CONFLICT (lane, tenant_id) DO UPDATE SET active = 1,
			vtime = CASE WHEN excluded.vtime > shares.vtime THEN excluded.vtime ELSE shares.vtime END
		WHERE shares.active = 0`, lane, tenant)
}

// deactivate marks tenants idle that have nothing ready in a lane, unless another transaction is queueing items
// for them. It checks twice: only a check under the lock is certain.
func deactivate(ctx context.Context, tx sqldb.Tx, of []backlogKey) error {
	if len(of) == 0 {
		return nil
	}
	var idle []backlogKey
	questions := make([]sqldb.Question, len(of))
	for i, key := range of {
		questions[i] = sqldb.Ask(sqldb.SQL(`SELECT 1 FROM shares s WHERE s.lane = $1 AND s.tenant_id = $2
			AND NOT EXISTS (SELECT 1 FROM backlogs b WHERE b.lane = $1 AND b.tenant_id = $2 AND b.ready > 0)
			/*pg FOR UPDATE SKIP LOCKED */`, key.lane, key.tenant), func(sqldb.Row) error { idle = append(idle, key); return nil })
	}
	if err := tx.Ask(ctx, questions...); err != nil {
		return err
	}
	for _, key := range idle {
		err := tx.Do(ctx, `UPDATE shares SET active = 0 WHERE lane = $1 AND tenant_id = $2
			AND NOT EXISTS (SELECT 1 FROM backlogs b WHERE b.lane = $1 AND b.tenant_id = $2 AND b.ready > 0)`, key.lane, key.tenant)
		if err != nil {
			return err
		}
	}
	return nil
}

// correct charges tenants for the actual usage of their items. All processes update the shares in the same order. They
// skip idle tenants, which accumulate no credit: a finish that makes a tenant active holds the lock of a job that this
// claim may need.
func correct(ctx context.Context, tx sqldb.Tx, corrections []store.Correction) error {
	slices.SortFunc(corrections, func(a, b store.Correction) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Tenant, b.Tenant))
	})
	for _, c := range corrections {
		err := tx.Do(ctx, `UPDATE shares SET vtime = vtime + $3 / COALESCE((SELECT t.weight FROM tenants t WHERE t.id = $2), 1)
			WHERE lane = $1 AND tenant_id = $2 AND active = 1`, c.Lane, c.Tenant, fair.Cost(c.Tokens, 1))
		if err != nil {
			return err
		}
	}
	return nil
}

// share is a tenant's standing in a lane, locked by a claim, and what it has to give.
type share struct {
	fair.Share
	tenant     penstock.TenantID
	before     int64 // its virtual time when it was locked
	modelQueue []*modelQueue
	done       bool // it has nothing more to give to this claim
}

// save writes what the tenant was given. What was charged while it was being picked is replaced by what
// was really taken.
func (s *share) save(ctx context.Context, tx sqldb.Tx, lane penstock.Lane, tokens int64) error {
	if tokens == 0 {
		return nil
	}
	s.VTime = s.before
	s.Charge(tokens)
	return tx.Do(ctx, `UPDATE shares SET vtime = $3 WHERE lane = $1 AND tenant_id = $2`, lane, s.tenant, s.VTime)
}

// modelQueue is what a tenant has ready for one model, in the order of deadlines. It is read in parts.
type modelQueue struct {
	model  string
	ranges []*readyRange // read and not all taken yet
	next   int           // index of the item that is in front, in the first of them
	empty  bool          // there is no more to read
	seen   readyRange    // the last that was read

	refused []penstock.Endpoint // those for which no call was left

	reading int // how many ranges were asked for last
}

// pick is a queued item that a claim may take.
type pick struct {
	from     *readyRange
	n        int
	estimate int64
	bytes    int64
	charge   int64 // tokens that its tenant is charged for it
	call     store.Call
}

// front is the item in front. The model queue must not be empty.
func (s *modelQueue) front() (pick, error) {
	r := s.ranges[0]
	if r.single() {
		return pick{from: r, n: r.first, estimate: r.estimate, bytes: r.inputBytes}, nil
	}
	f, err := r.inputs.Fact(s.next)
	if err != nil {
		return pick{}, err
	}
	return pick{from: r, n: s.next, estimate: f.Estimate, bytes: f.InputBytes}, nil
}

// advance moves on to the item behind the one in front.
func (s *modelQueue) advance() {
	if s.next++; s.next > s.ranges[0].last {
		s.drop()
	}
}

// drop leaves out the first range.
func (s *modelQueue) drop() {
	if s.ranges = s.ranges[1:]; len(s.ranges) > 0 {
		s.next = s.ranges[0].first
	}
}

// refuse leaves out what is of an endpoint, now and from what is read later: it is for the same targets.
func (s *modelQueue) refuse(e penstock.Endpoint) {
	s.refused = append(s.refused, e)
	if s.ranges = slices.DeleteFunc(s.ranges, s.isRefused); len(s.ranges) > 0 {
		s.next = s.ranges[0].first
	}
}

func (s *modelQueue) isRefused(r *readyRange) bool { return slices.Contains(s.refused, r.endpoint) }

// before is the order of model queues: by the deadline of what is in front, then by age.
func (s *modelQueue) before(other *modelQueue) bool {
	a, b := s.ranges[0], other.ranges[0]
	return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.job, b.job), cmp.Compare(s.next, other.next)) < 0
}
