package sqlstore

import (
	"bytes"
	"context"
	"errors"

	"penstock"
	"penstock/internal/store"
)

// SubmitJob implements store.Jobs. Concurrent submits of a tenant share transactions; submitQueue says how.
func (s *Store) SubmitJob(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	batch, err := s.sealBatch(tenant, sub)
	if err != nil {
		return store.Receipt{}, hide(err)
	}
	a := acceptance{Submission: sub, name: "submit"}
	if sub.Job.File != "" || sub.Batch != nil || len(sub.Parts) > 0 {
		a.also = func(tx Tx, j penstock.Job) error {
			if err := batch.insert(ctx, tx, j); err != nil {
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

// acceptance is a submission on its way into the store.
type acceptance struct {
	store.Submission
	name string
	also func(tx Tx, j penstock.Job) error // further writes of the same transaction, before the budgets are locked; nil for none
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
		return nil, hide(err)
	}
	return &pendingSubmit{acceptance: a, tenant: tenant, inputs: inputs, items: newSubmitted(a.Items, inputs, 0)}, nil
}

// settle returns the outcome of a submission. The error is that of its transaction.
func (s *Store) settle(ctx context.Context, p *pendingSubmit, err error) (store.Receipt, error) {
	if !p.named {
		s.discard(ctx, p.inputs...)
	}
	if errors.Is(err, ErrLockTimeout) && p.Idempotency != nil {
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
		s.recent.keep(p.receipt.Job.ID, p.items.inputGroups)
	}
	return p.receipt, nil
}

func (s *Store) placeInputs(ctx context.Context, tenant penstock.TenantID, sub store.Split) ([]placed, error) {
	inputs := make([]unplaced, len(sub.Items))
	for n := range sub.Items {
		inputs[n] = unplaced{owner: inputOwner(tenant, penstock.ItemID(sub.Job, sub.From+n)), plain: sub.Items[n].Body}
	}
	return s.placeAll(ctx, inputs)
}

// keyHolder returns the job that holds a key, "" if none does.
func keyHolder(ctx context.Context, tx Tx, tenant penstock.TenantID, key store.IdempotencyKey) (penstock.ID, error) {
	h, ok, err := queryOne(ctx, tx, sqlf(`SELECT body_hash, job_id FROM idempotency_keys
		WHERE tenant_id = $1 AND key = $2 AND expires_at > $3`, tenant, key.Key, micros(tx.Now())),
		func(row Row) (h keyHeld, err error) { return h, row.Scan(&h.hash, &h.job) })
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
	err = s.read(ctx, func(tx Tx) error {
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

func priorJob(ctx context.Context, tx Tx, tenant penstock.TenantID, id penstock.ID) (penstock.Job, error) {
	j, err := findJob(ctx, tx, tenant, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		return j, penstock.Errorf(penstock.CodeGone,
			"The job of this Idempotency-Key, %s, was deleted; use a new key to run it again.", penstock.ViewJob.Format(id))
	}
	return j, err
}

// newJob completes a submitted job with what only the store knows.
func newJob(tx Tx, tenant penstock.TenantID, sub store.Submission) penstock.Job {
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
	first       int          // index of the first of them
	inputGroups []inputGroup // made beforehand: transactions have others waiting
}

func newSubmitted(items []store.NewItem, inputs []placed, first int) submittedItems {
	s := submittedItems{items: items, inputs: inputs, first: first}
	s.inputGroups = s.groupInputs()
	return s
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
func insertSubmission(ctx context.Context, tx Tx, a arrival) error {
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
func enqueue(ctx context.Context, tx Tx, a arrival) error {
	j, key := a.job, backlogKey{a.job.Lane, a.job.Tenant, a.job.Model}
	for _, b := range a.inputGroups {
		if err := b.insert(ctx, tx, j.ID); err != nil {
			return err
		}
		if err := b.ready(key, j).admit(ctx, tx); err != nil {
			return err
		}
		for _, f := range b.facts {
			a.moved.add(key, stock{ready: 1, tokens: f.estimate, bytes: f.inputBytes})
		}
	}
	for i, item := range a.items {
		if item.StartIn <= 0 {
			continue
		}
		if err := park(ctx, tx, j, parking{item, a.first + i, a.inputs[i]}); err != nil {
			return err
		}
		a.moved.add(key, stock{parked: 1, tokens: item.EstimateTokens, bytes: int64(len(item.Body))})
	}
	return nil
}

// ready is the range in which all items of a new input group stand in line.
func (b inputGroup) ready(key backlogKey, j *penstock.Job) *readyRange {
	r := &readyRange{
		backlogKey: key, deadline: micros(j.Deadline), job: j.ID, first: b.first, last: b.first + len(b.facts) - 1, inputGroup: b.first,
	}
	if len(b.facts) == 1 {
		r.estimate, r.inputBytes = b.facts[0].estimate, b.facts[0].inputBytes
	}
	return r
}

// parking is an item that is held back: it stands apart from the beginning, with an input of its own.
type parking struct {
	store.NewItem
	n     int
	input placed
}

var addItem = insertInto("items", `id text, job_id text, tenant_id text, n bigint, custom_id text, status text, input bytea, input_blob text,
	estimate_tokens bigint, input_bytes bigint, reserved_nano_usd bigint, not_before bigint, parked bigint`, "")

func park(ctx context.Context, tx Tx, j *penstock.Job, p parking) error {
	id, until := penstock.ItemID(j.ID, p.n), micros(j.CreatedAt.Add(p.StartIn))
	err := tx.Put(ctx, addItem, id, j.ID, j.Tenant, p.n, p.CustomID, penstock.StatusQueued, p.input.inline, p.input.blob,
		p.EstimateTokens, len(p.Body), p.Reserved, until, int64(1))
	if err != nil {
		return err
	}
	return tx.Put(ctx, admitParked, until, id)
}
