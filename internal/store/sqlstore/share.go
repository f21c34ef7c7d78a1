package sqlstore

import (
	"cmp"
	"context"
	"math"
	"slices"

	"penstock"
	"penstock/internal/store"
)

// Claiming is fair in tokens: every tenant has a virtual time per lane, which grows by the tokens that
// it was given over its weight, and the tenant with the lowest is served next. The key is the tenant
// alone, so splitting work over jobs, keys or models gains nothing.
//
// On PostgreSQL whoever queues an item holds its tenant's share FOR KEY SHARE until the commit; claims
// hold it FOR NO KEY UPDATE, which does not conflict; and only the full lock, which does, may declare a
// tenant idle. So a tenant with queued items is never taken for idle.

const (
	// vtimeScale keeps small charges over large weights exact.
	vtimeScale = 1 << 10
	// shareWindow is how many tenants are looked at together, and maxWindows how often.
	shareWindow = 16
	maxWindows  = 64
	// quantumTokens is how much a tenant is given before the next one is looked at.
	quantumTokens = 16 << 10
	// itemsPerTurn bounds a turn of small items.
	itemsPerTurn = 16
)

// share is a tenant's standing in a lane, locked by a claim.
type share struct {
	tenant penstock.TenantID
	vtime  int64
	weight int64
	before int64 // its vtime when it was locked
	empty  bool  // it had nothing more that is due

	deadline int64 // of the last item that it was given by this claim, and its id
	id       penstock.ID
}

func scanShare(row Row) (s share, err error) {
	err = row.Scan(&s.tenant, &s.vtime, &s.weight)
	s.weight, s.before = max(s.weight, 1), s.vtime
	return s, err
}

// activate makes sure that a tenant's queued items can be found. Coming back it starts where the others
// are: idleness banks nothing.
func activate(ctx context.Context, tx Tx, tenant penstock.TenantID, lane penstock.Lane) error {
	active, ok, err := queryOne(ctx, tx, sqlf(`SELECT active FROM shares WHERE lane = $1 AND tenant_id = $2 /*pg FOR KEY SHARE */`,
		lane, tenant), func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	if err != nil || (ok && active == 1) {
		return err
	}
	return tx.Do(ctx, `INSERT INTO shares (lane, tenant_id, vtime, active)
		VALUES ($1, $2, COALESCE((SELECT MIN(vtime) FROM shares WHERE lane = $1 AND active = 1), 0), 1)
		ON CONFLICT (lane, tenant_id) DO UPDATE SET active = 1,
			vtime = CASE WHEN excluded.vtime > shares.vtime THEN excluded.vtime ELSE shares.vtime END`, lane, tenant)
}

// correct charges tenants for what their items really used. All processes go through the shares in the
// same order, and leave idle tenants alone, who bank nothing anyway: a finish that makes one active
// holds a job that this claim may need.
func correct(ctx context.Context, tx Tx, corrections []store.Correction) error {
	slices.SortFunc(corrections, func(a, b store.Correction) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Tenant, b.Tenant))
	})
	for _, c := range corrections {
		err := tx.Do(ctx, `UPDATE shares SET vtime = vtime + $3 / COALESCE((SELECT t.weight FROM tenants t WHERE t.id = $2), 1)
			WHERE lane = $1 AND tenant_id = $2 AND active = 1`, c.Lane, c.Tenant, c.Tokens*vtimeScale)
		if err != nil {
			return err
		}
	}
	return nil
}

// contended reports whether other claims hold all that could be served in a lane.
func contended(ctx context.Context, tx Tx, lane penstock.Lane) (bool, error) {
	_, busy, err := queryOne(ctx, tx, sqlf(`SELECT 1 FROM shares WHERE lane = $1 AND active = 1 LIMIT 1`, lane),
		func(row Row) (n int64, err error) { return n, row.Scan(&n) })
	return busy, err
}

// laneClaim takes items of one lane, from the tenants in the order of their shares.
type laneClaim struct {
	lane   penstock.Lane
	limit  int
	shares []share
	due    []candidate
	busy   bool // other claims hold every share
}

// dueInLane locks queued items of a lane that may start, fairly among its tenants. It looks at a window
// of tenants; when all of them have only items that are not due, at the next one.
func dueInLane(ctx context.Context, tx Tx, lane penstock.Lane, limit int) (*laneClaim, error) {
	c := &laneClaim{lane: lane, limit: limit}
	for range maxWindows {
		window, err := c.window(ctx, tx)
		if err != nil {
			return nil, err
		}
		c.shares = append(c.shares, window...)
		for next := c.next(); next != nil && len(c.due) < limit; next = c.next() {
			if err := c.takeTurn(ctx, tx, next); err != nil {
				return nil, err
			}
		}
		if len(window) < shareWindow || len(c.due) == limit {
			break
		}
	}
	var err error
	if len(c.shares) == 0 {
		c.busy, err = contended(ctx, tx, lane)
	}
	return c, err
}

// window locks the next tenants in the order of their shares.
func (c *laneClaim) window(ctx context.Context, tx Tx) ([]share, error) {
	after := share{before: math.MinInt64}
	if n := len(c.shares); n > 0 {
		after = c.shares[n-1]
	}
	return queryAll(ctx, tx, sqlf(`SELECT s.tenant_id, s.vtime, COALESCE(t.weight, 1)
		FROM shares s LEFT JOIN tenants t ON t.id = s.tenant_id
		WHERE s.lane = $1 AND s.active = 1 AND (s.vtime, s.tenant_id) > ($2, $3)
		ORDER BY s.vtime, s.tenant_id LIMIT $4 /*pg FOR NO KEY UPDATE OF s SKIP LOCKED */`,
		c.lane, after.before, after.tenant, shareWindow), scanShare)
}

// next is the tenant that is due, nil when none has anything to give.
func (c *laneClaim) next() *share {
	var least *share
	for i := range c.shares {
		s := &c.shares[i]
		if !s.empty && (least == nil || s.vtime < least.vtime) {
			least = s
		}
	}
	return least
}

// takeTurn gives a tenant a quantum of tokens: items in the order of their deadlines, behind those that
// it was given in an earlier turn of this claim.
func (c *laneClaim) takeTurn(ctx context.Context, tx Tx, s *share) error {
	want := min(c.limit-len(c.due), itemsPerTurn)
	items, err := queryAll(ctx, tx, sqlf(`SELECT i.id, i.job_id, i.tenant_id, i.n, i.model, i.lane, i.fence, i.tries, i.attempts,
			i.estimate_tokens, i.reserved_nano_usd, i.input, i.input_blob, i.not_before, i.deadline
		FROM items i
		WHERE i.status = 'queued' AND i.lane = $1 AND i.tenant_id = $2 AND i.not_before <= $3 AND i.deadline > $3
			AND (i.deadline, i.id) > ($4, $5)
			AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = i.job_id AND j.cancel_requested_at > 0)
		ORDER BY i.deadline, i.id LIMIT $6 /*pg FOR UPDATE OF i SKIP LOCKED */`,
		c.lane, s.tenant, micros(tx.Now()), s.deadline, s.id, want), scanCandidate)
	if err != nil {
		return err
	}
	s.empty = len(items) < want
	tokens := int64(0)
	for _, item := range items {
		if tokens >= quantumTokens {
			s.empty = false // the rest of what was looked at waits for its next turn
			break
		}
		tokens += max(item.Estimate, 1)
		s.deadline, s.id = item.deadline, item.Item
		c.due = append(c.due, item)
	}
	s.vtime += tokens * vtimeScale / s.weight
	return nil
}

// save writes what the tenants were given. Those that gave all they had are idle from now on, unless
// somebody is just queueing for them.
func (c *laneClaim) save(ctx context.Context, tx Tx) error {
	for _, s := range c.shares {
		if s.vtime != s.before {
			if err := tx.Do(ctx, `UPDATE shares SET vtime = $3 WHERE lane = $1 AND tenant_id = $2`, c.lane, s.tenant, s.vtime); err != nil {
				return err
			}
		}
		if !s.empty {
			continue
		}
		_, free, err := queryOne(ctx, tx, sqlf(`SELECT 1 FROM shares WHERE lane = $1 AND tenant_id = $2 /*pg FOR UPDATE SKIP LOCKED */`,
			c.lane, s.tenant), func(row Row) (n int64, err error) { return n, row.Scan(&n) })
		if err != nil {
			return err
		}
		if !free {
			continue
		}
		err = tx.Do(ctx, `UPDATE shares SET active = 0 WHERE lane = $1 AND tenant_id = $2
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.status = 'queued' AND i.lane = $1 AND i.tenant_id = $2)`, c.lane, s.tenant)
		if err != nil {
			return err
		}
	}
	return nil
}
