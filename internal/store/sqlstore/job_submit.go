package sqlstore

import (
	"bytes"
	"context"
	"errors"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// SubmitJob implements store.Jobs. Concurrent submits of a tenant share transactions; submitQueue says how.
func (s *Store) SubmitJob(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	batch, err := s.sealBatch(tenant, sub)
	if err != nil {
		return store.Receipt{}, sqldb.PublicError(err)
	}
	a := acceptance{Submission: sub, name: "submit"}
	if sub.Job.File != "" || sub.Batch != nil || len(sub.Parts) > 0 || remarkable(sub) {
		a.also = func(tx sqldb.Tx, j penstock.Job) error {
			if err := batch.insert(ctx, tx, j); err != nil {
				return err
			}
			if err := insertItemRemarks(ctx, tx, j, store.Split{Job: j.ID, Items: sub.Items}); err != nil {
				return err
			}
			return insertParts(ctx, tx, j, sub.Parts)
		}
	}
	p, err := s.prepare(ctx, tenant, a)
	if err != nil {
		return store.Receipt{}, err
	}
	if p.shareable() {
		err = s.submits.run(ctx, p, s.writeSubmits)
	} else {
		err = s.writeSubmits(ctx, []*pendingSubmit{p})
	}
	return s.settle(ctx, p, err)
}

// acceptance is a submission that is being written.
type acceptance struct {
	store.Submission
	name string
	also func(tx sqldb.Tx, j penstock.Job) error // further writes of the same transaction, before the budgets are locked; nil for none
}

// accept writes a submission in a transaction of its own.
func (s *Store) accept(ctx context.Context, tenant penstock.TenantID, a acceptance) (store.Receipt, error) {
	p, err := s.prepare(ctx, tenant, a)
	if err != nil {
		return store.Receipt{}, err
	}
	return s.settle(ctx, p, s.writeSubmits(ctx, []*pendingSubmit{p}))
}

// pendingSubmit is a submission with sealed inputs, ready to be written. A transaction sets its outcome.
type pendingSubmit struct {
	acceptance
	tenant penstock.TenantID
	inputs []placed
	items  submittedItems

	receipt store.Receipt
	refusal error // nil for a submission that was accepted or replayed
	named   bool  // rows may name the inputs
}

// prepare seals the inputs of a submission and makes the large ones durable.
func (s *Store) prepare(ctx context.Context, tenant penstock.TenantID, a acceptance) (*pendingSubmit, error) {
	inputs, err := s.placeInputs(ctx, tenant, store.Split{Job: a.Job.ID, Items: a.Items})
	if err != nil {
		return nil, sqldb.PublicError(err)
	}
	return &pendingSubmit{acceptance: a, tenant: tenant, inputs: inputs, items: newSubmitted(a.Items, inputs, 0)}, nil
}

// settle returns the outcome of a submission. The error is that of its transaction.
func (s *Store) settle(ctx context.Context, p *pendingSubmit, err error) (store.Receipt, error) {
	if !p.named {
		s.discard(ctx, p.inputs...)
	}
	if errors.Is(err, sqldb.ErrLockTimeout) && p.Idempotency != nil {
		err = &penstock.Error{
			Code:    penstock.CodeIdempotencyInFlight,
			Message: "Another submit with this Idempotency-Key has been running for more than 5 s; try again to get its job.",
			Err:     err,
		}
	}
	if err == nil {
		err = p.refusal
	}
	if err != nil {
		return store.Receipt{}, err // the rows may be missing: the items must not start
	}
	if !p.receipt.Replayed && len(p.receipt.Claimed) == 0 {
		s.recent.Keep(p.receipt.Job.ID, p.items.inputGroups)
	}
	return p.receipt, nil
}

func (s *Store) placeInputs(ctx context.Context, tenant penstock.TenantID, sub store.Split) ([]placed, error) {
	ids := penstock.ItemIDs(sub.Job, sub.From, len(sub.Items))
	return s.placeAll(ctx, &placing{count: len(sub.Items), at: func(i int) unplaced {
		return unplaced{owner: inputOwner(tenant, ids[i]), plain: sub.Items[i].Body}
	}})
}

// keyHolder returns the job that holds a key, "" if none does.
func keyHolder(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, key store.IdempotencyKey) (penstock.ID, error) {
	h, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT body_hash, job_id FROM idempotency_keys
		WHERE tenant_id = $1 AND key = $2 AND expires_at > $3`, tenant, key.Key, sqldb.Micros(tx.Now())),
		func(row sqldb.Row) (h keyHeld, err error) { return h, row.Scan(&h.hash, &h.job) })
	if err != nil || !ok {
		return "", err
	}
	if !bytes.Equal(h.hash, key.BodyHash) {
		return "", keyMismatch()
	}
	return h.job, nil
}

func keyMismatch() error {
	return penstock.Errorf(penstock.CodeIdempotencyMismatch, "This Idempotency-Key was used before with another payload; use a new key for a new job.")
}

// JobByKey implements store.Jobs.
func (s *Store) JobByKey(ctx context.Context, tenant penstock.TenantID, key store.IdempotencyKey) (j penstock.Job, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		holder, err := keyHolder(ctx, tx, tenant, key)
		if err != nil {
			return err
		}
		if holder == "" {
			return penstock.Errorf(penstock.CodeNotFound, "No job was submitted with this Idempotency-Key.")
		}
		j, err = priorJob(ctx, tx, tenant, holder)
		return err
	})
	return j, err
}

func priorJob(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error) {
	j, err := findJob(ctx, tx, tenant, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return j, penstock.Errorf(penstock.CodeGone,
			"The job of this Idempotency-Key, %s, was deleted; use a new key to run it again.", penstock.ViewJob.Format(id))
	}
	return j, err
}

// newJob completes a submitted job with the fields that the store sets.
func newJob(tx sqldb.Tx, tenant penstock.TenantID, sub store.Submission) penstock.Job {
	j := sub.Job
	j.Tenant = tenant
	j.Resolved.PartOf = "" // a retry is a job of its own, whatever it retries
	j.CreatedAt = tx.Now()
	if j.Deadline.IsZero() {
		j.Deadline = j.CreatedAt.Add(sub.DeadlineIn)
	}
	total := len(sub.Items)
	if j.File != "" {
		total = sub.Lines
	}
	j.Counts = penstock.Counts{Total: total, Queued: total}
	return j
}

// submittedItems are items that a job is about to get, with their sealed inputs.
type submittedItems struct {
	items       []store.NewItem
	inputs      []placed
	first       int                    // index of the first of them
	inputGroups []itemstore.InputGroup // made beforehand: transactions have others waiting
}

func newSubmitted(items []store.NewItem, inputs []placed, first int) submittedItems {
	return submittedItems{items: items, inputs: inputs, first: first, inputGroups: itemstore.GroupInputs(items, inputs, first)}
}

// upTo are the first n of them.
func (s submittedItems) upTo(n int) submittedItems {
	if n == len(s.items) {
		return s
	}
	return newSubmitted(s.items[:n], s.inputs[:n], s.first)
}

// insertSubmission writes a job with its items and the money that is reserved for them. The caller saves what it adds to the
// backlog.
func insertSubmission(ctx context.Context, tx sqldb.Tx, a arrival) error {
	j := a.job
	j.Seq = 1 // job.queued
	if err := insertJob(ctx, tx, *j); err != nil {
		return err
	}
	if err := enqueue(ctx, tx, a); err != nil {
		return err
	}
	return book(ctx, tx, penstock.LedgerEntry{
		Key: reserveKey(j.ID), Tenant: j.Tenant, Kind: penstock.EntryReserve,
		Subject: j.ID, Job: j.ID, Reserved: a.reserved(), Origin: j.Origin(0),
	})
}

func (s submittedItems) reserved() (sum penstock.NanoUSD) {
	for _, item := range s.items {
		sum = sum.Plus(item.Reserved)
	}
	return sum
}

// arrival is items that a job gets.
type arrival struct {
	submittedItems
	job   *penstock.Job
	moved backlog
}

// enqueue writes the input groups of items that may start at once, and parks the other items. The tenant's share must be active
// if there are input groups.
func enqueue(ctx context.Context, tx sqldb.Tx, a arrival) error {
	j, key := a.job, backlogKey{a.job.Lane, a.job.Tenant, a.job.Model}
	var items itemstore.Writer
	for i := range a.inputGroups {
		g := &a.inputGroups[i]
		if err := items.Accept(ctx, tx, j.ID, g); err != nil {
			return err
		}
		if err := readyGroup(g, key, j).admit(ctx, tx); err != nil {
			return err
		}
		for i := range g.Facts {
			a.moved.add(key, arrived(&g.Facts[i]))
		}
	}
	for i, item := range a.items {
		if item.StartIn <= 0 {
			continue
		}
		p := itemstore.Parked{NewItem: item, Index: a.first + i, Input: a.inputs[i], NotBefore: sqldb.Micros(j.CreatedAt.Add(item.StartIn))}
		if err := items.Park(ctx, tx, j, p); err != nil {
			return err
		}
		if err := tx.Put(ctx, admitParked, p.NotBefore, penstock.ItemID(j.ID, p.Index)); err != nil {
			return err
		}
		a.moved.add(key, stock{parked: 1, tokens: item.EstimateTokens, bytes: int64(len(item.Body))})
	}
	return nil
}

// arrived is what an item that may start adds to the queue.
func arrived(f *itemstore.Fact) stock {
	return stock{ready: 1, tokens: f.Estimate, bytes: f.InputBytes}
}

// readyGroup is the range of all items of a new input group.
func readyGroup(g *itemstore.InputGroup, key backlogKey, j *penstock.Job) *readyRange {
	r := &readyRange{
		backlogKey: key, deadline: sqldb.Micros(j.Deadline), job: j.ID, first: g.First, last: g.Last(), inputGroup: g.First,
	}
	if len(g.Facts) == 1 {
		r.estimate, r.inputBytes = g.Facts[0].Estimate, g.Facts[0].InputBytes
	}
	return r
}
