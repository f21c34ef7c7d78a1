package sqlstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/fair"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

const (
	// shareWindow is how many model queues of tenants are looked at together, and maxWindows how often.
	shareWindow = 16
	maxWindows  = 64
	// maxRefusals is how often a claim may find no call for an item before it leaves the lane: the calls are used up, and
	// reading every tenant would find nothing.
	maxRefusals = 32
	// fewRanges is how many ranges of a model queue are read at first; each further look reads twice as many.
	fewRanges = 8
)

// laneClaim picks items of one lane, from the tenants in the order of their shares.
type laneClaim struct {
	lane   penstock.Lane
	limit  int
	want   store.Want
	calls  *store.Calls
	recent *itemstore.Recent
	shares []*share
	picks  []picked
	busy   bool // other claims hold every share

	refusals int
}

// over reports whether the claim has the wanted items of this lane, or cannot get more.
func (c *laneClaim) over() bool { return len(c.picks) == c.limit || c.refusals >= maxRefusals }

// picked is a pick with the share of its tenant.
type picked struct {
	pick
	share *share
}

// pickInLane picks queued items of a lane that may start, fairly among its tenants. It looks at a window
// of tenants; when these have nothing more that a call is left for, at the next one.
func pickInLane(ctx context.Context, tx sqldb.Tx, c *laneClaim) error {
	for range maxWindows {
		more, err := c.window(ctx, tx)
		if err != nil {
			return err
		}
		for next := c.next(); next != nil && !c.over(); next = c.next() {
			if err := c.takeTurn(ctx, tx, next); err != nil {
				return err
			}
		}
		if !more || c.over() {
			break
		}
	}
	if len(c.shares) > 0 {
		return nil
	}
	_, busy, err := sqldb.QueryOne(ctx, tx, c.modelQueues(`SELECT 1`, `LIMIT 1`), sqldb.ScanOne[int64])
	c.busy = busy
	return err
}

// separator separates names that are passed as one argument; no name contains it.
const separator = "\x1f"

// names makes one argument of a set, in which REPLACE finds a member on both engines.
func names[T ~string](set []T) string {
	var b strings.Builder
	for _, name := range set {
		b.WriteString(separator + string(name) + separator)
	}
	return b.String()
}

// modelQueues asks for what tenants have ready in this lane and may be claimed, behind what was seen already.
func (c *laneClaim) modelQueues(columns, rest string) sqldb.Query {
	var last modelQueueKey
	if n := len(c.shares); n > 0 {
		s := c.shares[n-1]
		last = modelQueueKey{s.before, s.tenant, s.modelQueue[len(s.modelQueue)-1].model}
	} else {
		last.vtime = math.MinInt64
	}
	return modelQueueQuery{c.lane, c.want, last}.query(columns, rest)
}

// modelQueueKey is a place in the order in which a claim looks at the model queues of a lane.
type modelQueueKey struct {
	vtime  int64
	tenant penstock.TenantID
	model  string
}

// modelQueueQuery asks for model queues of a lane, in the order of the tenants' shares.
type modelQueueQuery struct {
	lane  penstock.Lane
	want  store.Want
	after modelQueueKey
}

func (q modelQueueQuery) query(columns, rest string) sqldb.Query {
	return sqldb.SQL(columns+` FROM shares s
		JOIN backlogs b ON b.lane = s.lane AND b.tenant_id = s.tenant_id
		LEFT JOIN tenants t ON t.id = s.tenant_id
		WHERE s.lane = $1 AND s.active = 1 AND b.ready > 0
			AND (s.vtime, s.tenant_id) >= ($2, $3) AND (s.vtime, s.tenant_id, b.model) > ($2, $3, $4)
			AND ($5 = '' OR REPLACE($5, $8 || b.model || $8, '') <> $5)
			AND REPLACE($6, $8 || b.model || $8, '') = $6
			AND REPLACE($7, $8 || b.tenant_id || $8, '') = $7
		ORDER BY s.vtime, s.tenant_id, b.model `+rest,
		q.lane, q.after.vtime, q.after.tenant, q.after.model, names(q.want.Models), names(q.want.ExceptModels), names(q.want.ExceptTenants), separator)
}

// window locks the next tenants in the order of their shares. It reports whether there may be more.
func (c *laneClaim) window(ctx context.Context, tx sqldb.Tx) (more bool, err error) {
	type row struct {
		share
		model string
	}
	rows, err := sqldb.QueryAll(ctx, tx, c.modelQueues(`SELECT s.tenant_id, s.vtime, COALESCE(t.weight, 1), b.model`,
		fmt.Sprintf(`LIMIT %d /*pg FOR NO KEY UPDATE OF s SKIP LOCKED */`, shareWindow)),
		func(r sqldb.Row) (x row, err error) { return x, r.Scan(&x.tenant, &x.VTime, &x.Weight, &x.model) })
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		if n := len(c.shares); n == 0 || c.shares[n-1].tenant != r.tenant {
			c.shares = append(c.shares, &share{Share: r.Share, tenant: r.tenant, before: r.VTime})
		}
		last := c.shares[len(c.shares)-1]
		last.modelQueue, last.done = append(last.modelQueue, &modelQueue{model: r.model}), false
	}
	return len(rows) == shareWindow, nil
}

// next is the tenant whose turn it is, nil when no tenant has items.
func (c *laneClaim) next() *share {
	var least *share
	for _, s := range c.shares {
		if !s.done && (least == nil || fair.Compare(s.Share, least.Share) < 0) {
			least = s
		}
	}
	return least
}

// takeTurn gives a tenant its turn: items in the order of their deadlines.
func (c *laneClaim) takeTurn(ctx context.Context, tx sqldb.Tx, s *share) error {
	var turn fair.Turn
	for !turn.Over() && !c.over() {
		modelQueue, err := c.earliest(ctx, tx, s)
		if err != nil {
			return err
		}
		if modelQueue == nil {
			s.done = true
			break
		}
		p, err := modelQueue.front()
		if err != nil {
			return err
		}
		candidate := store.Candidate{
			Tenant: s.tenant, Model: modelQueue.model, Lane: c.lane, Endpoint: p.from.endpoint, Estimate: p.estimate, InputBytes: p.bytes,
		}
		var ok bool
		if p.call, p.charge, ok = c.calls.Take(candidate); !ok {
			modelQueue.refuse(p.from.endpoint)
			c.refusals++
			continue
		}
		modelQueue.advance()
		turn.Add(p.charge)
		c.picks = append(c.picks, picked{p, s})
	}
	s.Charge(turn.Tokens)
	return nil
}

// earliest is the tenant's model queue with the earliest deadline in front, nil when all are empty.
func (c *laneClaim) earliest(ctx context.Context, tx sqldb.Tx, s *share) (*modelQueue, error) {
	var first *modelQueue
	for _, sh := range s.modelQueue {
		for len(sh.ranges) == 0 && !sh.empty && !c.over() {
			if err := c.fill(ctx, tx, s, sh); err != nil {
				return nil, err
			}
			if len(sh.ranges) == 0 && len(sh.refused) > 0 {
				c.refusals++ // to look for other endpoints behind those that were refused must end somewhere
			}
		}
		if len(sh.ranges) > 0 && (first == nil || sh.before(first)) {
			first = sh
		}
	}
	return first, nil
}

// fill reads the next ranges of a model queue: as many items as the tenant is likely to be given.
//
// Jobs are looked up by scalar subqueries: of a NOT EXISTS or a join PostgreSQL may make one that reads the whole
// line before it sorts and takes the first few.
func (c *laneClaim) fill(ctx context.Context, tx sqldb.Tx, s *share, sh *modelQueue) error {
	n := max(fair.ItemsPerTurn, (c.limit-len(c.picks))/len(c.shares))
	sh.reading = min(max(fewRanges, 2*sh.reading), n) // a range may have one item or hundreds
	ranges, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+rangeColumns+`, (SELECT j.endpoint FROM jobs j WHERE j.id = r.job_id) FROM ready r
		WHERE r.lane = $1 AND r.tenant_id = $2 AND r.model = $3 AND r.deadline > $4 AND (r.deadline, r.job_id, r.last_n) > ($5, $6, $7)
			AND COALESCE((SELECT j.cancel_requested_at FROM jobs j WHERE j.id = r.job_id), 0) = 0
		ORDER BY r.deadline, r.job_id, r.last_n LIMIT $8`,
		c.lane, s.tenant, sh.model, sqldb.Micros(tx.Now()), sh.seen.deadline, sh.seen.job, sh.seen.last, sh.reading),
		func(row sqldb.Row) (*readyRange, error) {
			r := &readyRange{backlogKey: backlogKey{c.lane, s.tenant, sh.model}}
			return r, row.Scan(append(r.dest(), &r.endpoint)...)
		})
	if err != nil {
		return err
	}
	sh.empty = len(ranges) < sh.reading
	var facts []sqldb.Question
	items := 0
	for ; len(ranges) > 0 && items < n; ranges = ranges[1:] {
		r := ranges[0]
		if sh.isRefused(r) {
			sh.seen = *r
			continue
		}
		wanted := n - items
		items += r.size()
		switch {
		case r.single():
		case c.findRecent(r, wanted):
		case 2*wanted >= r.size():
			facts = append(facts, r.inputs.AskAll(r.groupKey()))
		default:
			facts = append(facts, r.inputs.AskFacts(r.groupKey()))
		}
		sh.ranges, sh.seen = append(sh.ranges, r), *r
	}
	sh.empty = sh.empty && len(ranges) == 0 // those that were read in vain are read again
	if len(sh.ranges) > 0 {
		sh.next = sh.ranges[0].first
	}
	c.picks = slices.Grow(c.picks, min(items, n))
	if len(facts) == 0 {
		return nil
	}
	return tx.Ask(ctx, facts...)
}

// findRecent fills in the inputs of a range of which so many items are wanted, if this process has them in memory.
func (c *laneClaim) findRecent(r *readyRange, wanted int) (found bool) {
	r.inputs, found = c.recent.Find(r.groupKey(), min(r.last, r.first+wanted-1))
	return found
}
