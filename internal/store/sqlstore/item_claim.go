package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// candidate is a claimed item that has a row. Its input is still sealed.
type candidate struct {
	store.Claimed
	input     placed
	notBefore int64
}

// ClaimItems implements store.Queue.
func (s *Store) ClaimItems(ctx context.Context, l store.Lease, want store.Want) ([]*store.Claimed, error) {
	if want.Limit <= 0 {
		return nil, nil
	}
	w := wanted{Want: want}
	got, err := s.claim(ctx, l, w)
	if err == nil && got.due {
		w.woken, w.Corrections = true, nil
		if err = s.wakeItems(ctx); err == nil {
			got, err = s.claim(ctx, l, w)
		}
	}
	for tries := 1; tries < claimTries && ((err == nil && len(got.items) == 0 && got.busy) || errors.Is(err, sqldb.ErrMissed)); tries++ {
		// Other processes hold every share, each for one transaction, or ended the picked items.
		if err == nil {
			w.Corrections = nil // they are committed, though nothing was claimed
		}
		pause := time.NewTimer(claimPause)
		select {
		case <-pause.C:
			got, err = s.claim(ctx, l, w)
		case <-ctx.Done():
			pause.Stop()
			return nil, sqldb.PublicError(ctx.Err())
		}
	}
	if errors.Is(err, sqldb.ErrMissed) {
		return nil, nil // other claims took the items each time: nothing is left
	}
	if err != nil {
		return nil, err
	}
	var chunk []byte
	for i := range got.items {
		c, input := got.items[i], got.inputs[i]
		// An input that cannot be opened must not delay the others: its item is returned without a body.
		var err error
		c.Body, chunk, err = s.openBehind(ctx, chunk, inputOwner(c.Tenant, c.Item), input)
		c.BodyErr = unread(err)
	}
	return got.items, nil
}

// unread is why an input could not be read, nil if it could.
func unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blob.ErrNotFound), errors.Is(err, payload.ErrTampered):
		return &penstock.Error{Code: penstock.CodeGone, Message: "The input is gone.", Err: err}
	}
	return sqldb.PublicError(err)
}

const (
	// claimTries is how often a claim tries again after it found every share locked.
	claimTries = 5
	// claimPause is how long it waits in between: about as long as a claim takes.
	claimPause = 3 * time.Millisecond
)

// wanted is what a claim asks for.
type wanted struct {
	store.Want
	woken bool // due items were just woken
}

// claimResult is the result of one claim transaction.
type claimResult struct {
	claimBatch
	busy bool // there may be more items, but other claims hold their locks
	due  bool // parked items must be woken first; nothing was taken
}

// claimBatch is claimed items and, of each, the input that is still sealed.
type claimBatch struct {
	items  []*store.Claimed
	inputs []placed
	chunk  []store.Claimed // memory of the next items
}

// claimChunk is how many claimed items share a piece of memory: few, so that an item which runs for long keeps little of it.
const claimChunk = 16

// next is the memory of the next item.
func (h *claimBatch) next() *store.Claimed {
	if len(h.chunk) == 0 {
		h.chunk = make([]store.Claimed, max(1, min(claimChunk, cap(h.items)-len(h.items))))
	}
	item := &h.chunk[0]
	h.chunk = h.chunk[1:]
	return item
}

// bounded says that a hard budget pays for something that was taken.
func (h *claimBatch) bounded() bool {
	for i := range h.items {
		if h.items[i].Resolved.Bounded {
			return true
		}
	}
	return false
}

func (s *Store) claim(ctx context.Context, l store.Lease, w wanted) (got claimResult, err error) {
	err = s.write(ctx, "claim", func(tx sqldb.Tx) error {
		got = claimResult{}
		if err := correct(ctx, tx, w.Corrections); err != nil {
			return err
		}
		o, err := survey(ctx, tx, l, w.Lanes)
		if err != nil {
			return err
		}
		if got.due = o.due && !w.woken; got.due {
			return nil
		}
		want := w.Want
		want.Lanes = o.lanes
		if got, err = s.claimLanes(ctx, tx, l, want); err != nil {
			return err
		}
		// A crash of the database may undo a relaxed claim: its items are still queued, and a finish of them,
		// which is not relaxed, finds no claim. Under a hard budget the claim is not relaxed: if the process
		// died as well, no record of what the claim spent would be left.
		if !got.bounded() {
			tx.Relax()
		}
		return nil
	})
	return got, err
}

// outlook is what a claim reads before it picks.
type outlook struct {
	lanes []penstock.Lane // in which a tenant has work
	due   bool            // parked items wait to be woken
}

// survey fails with conflict unless the lease is current. It is one statement: on SQLite, beginning a statement takes longer than these
// look-ups.
func survey(ctx context.Context, tx sqldb.Tx, l store.Lease, lanes []penstock.Lane) (o outlook, err error) {
	var expires, soonest int64
	waiting := make([]int64, len(lanes))
	text, args, dest := strings.Builder{}, []any{l.Process, l.Epoch}, []any{&expires, &soonest}
	text.WriteString(`SELECT COALESCE((SELECT expires_at FROM leases WHERE process_id = $1 AND epoch = $2), 0),
		COALESCE((SELECT not_before FROM parked ORDER BY not_before LIMIT 1), 9223372036854775807)`)
	for i, lane := range lanes {
		fmt.Fprintf(&text, `, COALESCE((SELECT 1 FROM shares WHERE lane = $%d AND active = 1 LIMIT 1), 0)`, len(args)+1)
		args, dest = append(args, lane), append(dest, &waiting[i])
	}
	if err := tx.Ask(ctx, sqldb.Ask(sqldb.SQL(text.String(), args...), func(row sqldb.Row) error { return row.Scan(dest...) })); err != nil {
		return o, err
	}
	if expires <= sqldb.Micros(tx.Now()) {
		return o, leaseLost(l)
	}
	for i, lane := range lanes {
		if waiting[i] > 0 {
			o.lanes = append(o.lanes, lane)
		}
	}
	o.due = soonest <= sqldb.Micros(tx.Now())
	return o, nil
}

// claimLanes takes due items, lane by lane. Shares are saved late: by then the jobs are locked, and a
// finish that queues an item again, which locks its job first, never waits for a claim that waits for it.
func (s *Store) claimLanes(ctx context.Context, tx sqldb.Tx, l store.Lease, w store.Want) (got claimResult, err error) {
	moved, calls := backlog{}, store.NewCalls(w)
	var picks []picked
	notUrgent := cmp.Or(w.LimitNotUrgent, w.Limit)
	for _, lane := range w.Lanes {
		limit := w.Limit - len(picks)
		if lane != penstock.LaneRealtime {
			limit = min(limit, notUrgent)
		}
		if limit == 0 {
			continue
		}
		c := &laneClaim{lane: lane, limit: limit, want: w, calls: calls, recent: &s.recent}
		if err := pickInLane(ctx, tx, c); err != nil {
			return got, err
		}
		if lane != penstock.LaneRealtime {
			notUrgent -= len(c.picks)
		}
		if picks == nil {
			picks = c.picks
		} else {
			picks = append(picks, c.picks...)
		}
		got.busy = got.busy || c.busy
	}
	if len(picks) > 0 {
		if got.claimBatch, err = take(ctx, tx, claimOf{newClaims(&s.ids, tx.Now()), l, picks, moved}); err != nil {
			return got, err
		}
	}
	return got, moved.save(ctx, tx)
}

// claimOf is the items that a lease takes.
type claimOf struct {
	ids   *claimIDs
	lease store.Lease
	picks []picked
	moved backlog
}

// take puts picked items under the lease. Their jobs are locked against cancels and sweeps, not against
// finishes: a job that was cancelled in the meantime keeps its items, and of two claims that take from the same
// range one fails.
func take(ctx context.Context, tx sqldb.Tx, c claimOf) (h claimBatch, err error) {
	runs := runsOf(c.picks)
	jobs, events, lock := openJobs(runs)
	rows, questions, err := c.questions(runs)
	if err != nil {
		return h, err
	}
	if err := tx.Ask(ctx, append([]sqldb.Question{lock}, questions...)...); err != nil {
		return h, err
	}
	if err := inputsApart(ctx, tx, rows); err != nil {
		return h, err
	}
	h = claimBatch{items: make([]*store.Claimed, 0, len(c.picks)), inputs: make([]placed, 0, len(c.picks))}
	given := make(map[*share]int64)
	held, now := newClaimRows(c.ids), tx.Now()
	for i := range runs {
		run := &runs[i]
		j := jobs[run.from.job]
		if j == nil {
			continue
		}
		if err := run.from.leaveTo(ctx, tx, run.last().n+1); err != nil {
			return h, err
		}
		job, of := claimedJob(j, now), held.of(j)
		var charged int64
		var left stock
		ids := run.itemIDs()
		for i := range run.picks {
			p := &run.picks[i]
			item, due, err := h.add(run, i, ids, rows)
			if err != nil {
				return h, err
			}
			item.ClaimedJob, item.Charged, item.Call, item.QueuedFor = job, p.charge, p.call, job.Age
			if !due.IsZero() {
				item.QueuedFor = now.Sub(due)
			}
			of.take(item, run.from.kept())
			charged += p.charge
			left = left.plus(claimedStock(&p.pick))
		}
		given[run.picks[0].share] += charged
		c.moved.add(run.from.backlogKey, left)
	}
	return h, c.note(ctx, tx, noteOf{jobs, events, held, given})
}

// noteOf is what a claim writes.
type noteOf struct {
	jobs   map[penstock.ID]*penstock.Job
	events *jobEvents
	held   *claimRows
	given  map[*share]int64
}

// note writes the claim, the start of jobs, and the charges of the tenants.
func (c claimOf) note(ctx context.Context, tx sqldb.Tx, n noteOf) error {
	var started []penstock.ID
	if err := n.held.insert(ctx, tx, c.lease); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(n.held.byJob)) {
		if !n.jobs[id].StartedAt.IsZero() {
			continue
		}
		if n.events.subscribed[id] {
			started = append(started, id)
		}
		if err := tx.Put(ctx, startJob, id, sqldb.Micros(tx.Now()), penstock.StatusRunning, n.held.byJob[id].items); err != nil {
			return err
		}
	}
	for _, p := range c.picks {
		if err := p.share.save(ctx, tx, p.from.lane, n.given[p.share]); err != nil {
			return err
		}
		delete(n.given, p.share)
	}
	return publishStarted(ctx, tx, started)
}

// startJob records the first claim of a job's items; later claims change nothing.
var startJob = &sqldb.Bulk{
	Types: []sqldb.ColumnType{sqldb.Text, sqldb.Bigint, sqldb.Text, sqldb.Bigint},
	One:   `UPDATE jobs SET started_at = $2, status = $3, started_items = $4, seq = seq + 1, started_seq = seq + 1 WHERE id = $1 AND started_at = 0`,
	Many: `UPDATE jobs SET started_at = v.now, status = v.status, started_items = v.items, seq = seq + 1, started_seq = seq + 1
		FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS v(id, now, status, items) WHERE jobs.id = v.id AND jobs.started_at = 0`,
}

// run is the items that a claim takes from the front of one range.
type run struct {
	from  *readyRange
	picks []picked
}

func (r run) last() picked { return r.picks[len(r.picks)-1] }

// itemIDs are the ids of the picks. A claim takes the items at the front of a range, so their indexes follow each other.
func (r run) itemIDs() []penstock.ID {
	if r.from.item != "" {
		return []penstock.ID{r.from.item}
	}
	return penstock.ItemIDs(r.from.job, r.picks[0].n, len(r.picks))
}

// runsOf groups picks by their ranges. The picks of one range are in the order of the items.
func runsOf(picks []picked) []run {
	var runs []run
	at := make(map[*readyRange]int)
	for len(picks) > 0 {
		from, n := picks[0].from, 1
		for n < len(picks) && picks[n].from == from {
			n++
		}
		i, ok := at[from]
		if !ok {
			i = len(runs)
			at[from] = i
			runs = append(runs, run{from: from})
		}
		// Most often all of a range were picked one after the other: then this only looks into the list.
		if runs[i].picks == nil {
			runs[i].picks = picks[:n:n]
		} else {
			runs[i].picks = append(runs[i].picks, picks[:n]...)
		}
		picks = picks[n:]
	}
	return runs
}

// openJobs is the question for the jobs of runs that go on, and what its answer fills.
func openJobs(runs []run) (map[penstock.ID]*penstock.Job, *jobEvents, sqldb.Question) {
	ids := make([]penstock.ID, len(runs))
	for i, r := range runs {
		ids[i] = r.from.job
	}
	slices.Sort(ids)
	jobs := make(map[penstock.ID]*penstock.Job, len(ids))
	events := newJobEvents()
	return jobs, events, sqldb.Question{
		IDQuery: sqldb.IDQuery{IDs: sqldb.Strings(slices.Compact(ids)), SQL: `SELECT ` + lockedColumns + `, ` + subscribedColumn + ` FROM jobs
			WHERE id = /*pg ANY */($1) AND cancel_requested_at = 0 /*pg ORDER BY id FOR KEY SHARE */`},
		Scan: func(row sqldb.Row) error {
			j, err := events.scan(row)
			jobs[j.ID] = &j
			return err
		},
	}
}

// questions ask for what the runs are made of. Items with a row come under the lease by it, and the rows that
// come back are kept by their ids; those of one-item input groups travel together.
func (c claimOf) questions(runs []run) (map[penstock.ID]candidate, []sqldb.Question, error) {
	status, err := penstock.StatusQueued.Next(penstock.TransitionClaim)
	rows := make(map[penstock.ID]candidate)
	var questions []sqldb.Question
	var apart []string
	lone := make(map[penstock.ID]*itemstore.Inputs)
	for i := range runs {
		r := &runs[i]
		switch from := r.from; {
		case from.item != "":
			apart = append(apart, string(from.item))
		case from.single() && from.inputGroup == 0:
			lone[from.job] = &from.inputs
		case from.single():
			questions = append(questions, from.inputs.AskAll(from.groupKey()))
		default:
			inputs, needed, err := from.inputs.AskInputs(from.first, r.last().n)
			if err != nil {
				return nil, nil, err
			}
			if needed {
				questions = append(questions, inputs)
			}
		}
	}
	if len(lone) > 0 {
		questions = append(questions, itemstore.AskFirst(lone))
	}
	if len(apart) > 0 {
		questions = append(questions, c.resume(apart, status, rows))
	}
	return rows, questions, err
}

// resume is the question by which items that have rows come under the lease, with a higher fence.
func (c claimOf) resume(ids []string, status penstock.Status, rows map[penstock.ID]candidate) sqldb.Question {
	return sqldb.Question{
		IDQuery: sqldb.IDQuery{IDs: ids, SQL: `UPDATE items SET status = $2, claim_id = $3, fence = fence + 1
			WHERE id = /*pg ANY */($1) AND status = 'queued'
				AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = items.job_id AND j.cancel_requested_at = 0)
			RETURNING id, job_id, tenant_id, n, custom_id, fence, tries, attempts, estimate_tokens, input_bytes, reserved_nano_usd,
				crashes, child_deaths, cost_nano_usd, not_before, ` + usagerow.Names,
			Args: []any{status, c.ids.apart()}},
		Scan: func(row sqldb.Row) error {
			r, err := scanCandidate(row)
			rows[r.Item] = r
			return err
		},
	}
}

// inputsApart finds the inputs of items that have rows.
func inputsApart(ctx context.Context, tx sqldb.Tx, rows map[penstock.ID]candidate) error {
	byJob := make(map[penstock.ID][]int)
	for _, c := range rows {
		byJob[c.Job] = append(byJob[c.Job], c.Index)
	}
	for job, ns := range byJob {
		found, err := itemReader.Inputs(ctx, tx, job, ns)
		if err != nil {
			return err
		}
		for n, input := range found {
			c := rows[penstock.ItemID(job, n)]
			c.input = input
			rows[c.Item] = c
		}
	}
	return nil
}

// add takes the i-th item of a run, and returns since when it is due if that is later than its job. An item whose row
// was not returned has ended meanwhile.
func (h *claimBatch) add(r *run, i int, ids []penstock.ID, rows map[penstock.ID]candidate) (item *store.Claimed, due time.Time, err error) {
	from, n := r.from, r.picks[i].n
	if from.item != "" {
		row, ok := rows[from.item]
		if !ok {
			return nil, due, sqldb.ErrMissed
		}
		h.items, h.inputs = append(h.items, &row.Claimed), append(h.inputs, row.input)
		return &row.Claimed, sqldb.FromMicros(row.notBefore), nil
	}
	f, err := from.inputs.Fact(n)
	if err != nil {
		return nil, due, err
	}
	item = h.next()
	*item = store.Claimed{
		Item: ids[i], Job: from.job, Tenant: from.tenant, Index: n, CustomID: f.CustomID, Fence: 1,
		Estimate: f.Estimate, InputBytes: f.InputBytes, Reserved: f.Reserved,
	}
	h.items, h.inputs = append(h.items, item), append(h.inputs, from.inputs.Input(n))
	return item, due, nil
}

func scanCandidate(row sqldb.Row) (c candidate, err error) {
	spent := &c.Spent
	err = row.Scan(usagerow.Dest(&spent.Usage, &c.Item, &c.Job, &c.Tenant, &c.Index, &c.CustomID, &c.Fence, &c.Tries, &c.Attempts,
		&c.Estimate, &c.InputBytes, &c.Reserved, &spent.Crashes, &spent.ChildDeaths, &spent.Cost, &c.notBefore)...)
	if err != nil {
		return c, fmt.Errorf("scanning a claimed item: %w", err)
	}
	return c, nil
}

// claimedJob is what an attempt needs to know of the job of items that are claimed now.
func claimedJob(j *penstock.Job, now time.Time) *store.ClaimedJob {
	return &store.ClaimedJob{
		Key: j.Key, Endpoint: j.Endpoint, Model: j.Model, Lane: j.Lane, Stream: j.Stream, Resolved: j.Resolved, TraceParent: j.TraceParent,
		MaxAttempts: j.MaxAttempts, ItemTimeout: j.ItemTimeout, TimeLeft: j.Deadline.Sub(now), Age: now.Sub(j.CreatedAt),
	}
}
