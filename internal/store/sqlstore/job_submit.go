package sqlstore

import (
	"bytes"
	"context"
	"errors"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
)

// SubmitJob implements store.Jobs.
func (s *Store) SubmitJob(ctx context.Context, tenant penstock.TenantID, sub store.Submission) (store.Receipt, error) {
	batch, err := s.sealBatch(tenant, sub)
	if err != nil {
		return store.Receipt{}, hide(err)
	}
	hear := bringing(ctx, sub.Webhook)
	return s.accept(ctx, tenant, acceptance{Submission: sub, name: "submit", also: func(tx Tx, j penstock.Job) error {
		err := batch.insert(ctx, tx, j)
		if err == nil {
			err = insertParts(ctx, tx, j, sub.Parts)
		}
		if err != nil || hear == nil {
			return err
		}
		return hear(tx, j)
	}})
}

// acceptance is a submission on its way into the store.
type acceptance struct {
	store.Submission
	name string
	also func(tx Tx, j penstock.Job) error // what the same transaction does before it inserts the job, or nil
}

func (s *Store) accept(ctx context.Context, tenant penstock.TenantID, sub acceptance) (store.Receipt, error) {
	inputs, err := s.placeInputs(ctx, tenant, store.Split{Job: sub.Job.ID, Items: sub.Items})
	if err != nil {
		return store.Receipt{}, hide(err)
	}
	items := newSubmitted(sub.Items, inputs, 0)
	var receipt store.Receipt
	var named bool // whether rows may have come to name the inputs
	err = s.write(ctx, sub.name, func(tx Tx) error {
		named = false
		prior, err := takeKey(ctx, tx, tenant, sub.Submission)
		if err != nil {
			return err
		}
		if prior != "" {
			receipt = store.Receipt{Replayed: true}
			receipt.Job, err = priorJob(ctx, tx, tenant, prior)
			return err
		}
		if err := refuseStored(ctx, tx, tenant, storedMore{sub.StoredLimit, items.inputBytes()}); err != nil {
			return err
		}
		receipt = store.Receipt{Job: newJob(tx, tenant, sub.Submission)}
		receipt.Job.StoredBytes = items.inputBytes()
		if sub.also != nil {
			if err := sub.also(tx, receipt.Job); err != nil {
				return err
			}
		}
		if receipt.Warnings, err = reserve(ctx, tx, &receipt.Job, sub.Submission); err != nil {
			return err
		}
		start, ok, err := startable(ctx, tx, tenant, sub.Submission)
		if err != nil {
			return err
		}
		if ok {
			start.submittedItems = items
			receipt.Job.Seq = 1 // as it was before
			receipt.Claimed, err = s.start(ctx, tx, receipt.Job, start)
		} else {
			err = insertSubmission(ctx, tx, &receipt.Job, items)
		}
		named = err == nil // a commit that fails may have happened all the same
		return err
	})
	if !named {
		s.discard(ctx, inputs...)
	}
	if errors.Is(err, ErrLockTimeout) && sub.Idempotency != nil {
		err = &penstock.Error{
			Code:    penstock.CodeIdempotencyInFlight,
			Message: "Another submit with this Idempotency-Key has been running for more than 5 s; try again to get its job.",
			Err:     err,
		}
	}
	if err != nil {
		return store.Receipt{}, err // what was to be written may not be there: its items must not start
	}
	if !receipt.Replayed && len(receipt.Claimed) == 0 {
		s.recent.Keep(receipt.Job.ID, items.inputGroups)
	}
	return receipt, nil
}

func (s *Store) placeInputs(ctx context.Context, tenant penstock.TenantID, sub store.Split) ([]placed, error) {
	inputs := make([]unplaced, len(sub.Items))
	for n := range sub.Items {
		inputs[n] = unplaced{owner: inputOwner(tenant, penstock.ItemID(sub.Job, sub.From+n)), plain: sub.Items[n].Body}
	}
	return s.placeAll(ctx, inputs)
}

// takeKey claims the idempotency key for this job. It returns the job that holds it already, if any.
// On PostgreSQL the insert waits for a concurrent submit with the same key to commit.
func takeKey(ctx context.Context, tx Tx, tenant penstock.TenantID, sub store.Submission) (penstock.ID, error) {
	key := sub.Idempotency
	if key == nil {
		return "", nil
	}
	now := tx.Now()
	taken, err := tx.Exec(ctx, `INSERT INTO idempotency_keys (tenant_id, key, body_hash, job_id, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (tenant_id, key) DO UPDATE SET body_hash = excluded.body_hash, job_id = excluded.job_id,
			created_at = excluded.created_at, expires_at = excluded.expires_at
		WHERE idempotency_keys.expires_at <= excluded.created_at`,
		tenant, key.Key, key.BodyHash, sub.Job.ID, micros(now), micros(now.Add(key.TTL)))
	if err != nil || taken > 0 {
		return "", err
	}
	return keyHolder(ctx, tx, tenant, *key)
}

// keyHolder returns the job that holds a key, "" if none does.
func keyHolder(ctx context.Context, tx Tx, tenant penstock.TenantID, key store.IdempotencyKey) (penstock.ID, error) {
	type holder struct {
		hash []byte
		job  penstock.ID
	}
	h, ok, err := queryOne(ctx, tx, sqlf(`SELECT body_hash, job_id FROM idempotency_keys
		WHERE tenant_id = $1 AND key = $2 AND expires_at > $3`, tenant, key.Key, micros(tx.Now())),
		func(row Row) (h holder, err error) { return h, row.Scan(&h.hash, &h.job) })
	if err != nil || !ok {
		return "", err
	}
	if !bytes.Equal(h.hash, key.BodyHash) {
		return "", penstock.Errorf(penstock.CodeIdempotencyMismatch,
			"This Idempotency-Key was used before with another payload; use a new key for a new job.")
	}
	return h.job, nil
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

func insertSubmission(ctx context.Context, tx Tx, j *penstock.Job, sub submittedItems) error {
	j.Seq = 1 // job.queued
	if err := insertJob(ctx, tx, *j); err != nil {
		return err
	}
	moved := backlog{}
	if err := enqueue(ctx, tx, arrival{submittedItems: sub, job: j, moved: moved}); err != nil {
		return err
	}
	err := book(ctx, tx, penstock.LedgerEntry{
		Key: reserveKey(j.ID), Tenant: j.Tenant, Kind: penstock.EntryReserve,
		Subject: j.ID, Job: j.ID, Reserved: sub.reserved(), Origin: j.Origin(0),
	})
	if err != nil {
		return err
	}
	return saveArrived(ctx, tx, j, moved)
}

// saveArrived writes what a new job adds to what is stored and queued.
func saveArrived(ctx context.Context, tx Tx, j *penstock.Job, moved backlog) error {
	more := stored{}
	more.job(j.Tenant, j.ID, j.StoredBytes)
	if err := more.save(ctx, tx); err != nil {
		return err
	}
	return moved.save(ctx, tx)
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

// enqueue input groups items up and puts them in line, or parks those that are held back.
func enqueue(ctx context.Context, tx Tx, a arrival) error {
	j, key := a.job, backlogKey{a.job.Lane, a.job.Tenant, a.job.Model}
	if len(a.inputGroups) > 0 {
		if err := activate(ctx, tx, j.Tenant, j.Lane); err != nil {
			return err
		}
	}
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
		p := itemstore.Parked{NewItem: item, Index: a.first + i, Input: a.inputs[i], NotBefore: micros(j.CreatedAt.Add(item.StartIn))}
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

// readyGroup is the range in which all items of a new input group stand in line.
func readyGroup(g *itemstore.InputGroup, key backlogKey, j *penstock.Job) *readyRange {
	r := &readyRange{
		backlogKey: key, deadline: micros(j.Deadline), job: j.ID, first: g.First, last: g.Last(), inputGroup: g.First,
	}
	if len(g.Facts) == 1 {
		r.estimate, r.inputBytes = g.Facts[0].Estimate, g.Facts[0].InputBytes
	}
	return r
}
