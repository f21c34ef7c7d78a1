package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// FinishItems implements store.Queue.
func (s *Store) FinishItems(ctx context.Context, group []store.Finish) ([]store.Verdict, error) {
	row := s.borrowRow()
	results, err := s.placeResults(ctx, group, row)
	if err != nil {
		return nil, sqldb.PublicError(err)
	}
	tails, err := s.sealTails(group)
	if err != nil {
		s.discard(ctx, results...)
		return nil, sqldb.PublicError(err)
	}
	how := lookUp
	if recallable(group) {
		how = lookRecall
	}
	verdicts, named, err := s.finish(ctx, finishing{group, results, tails, how})
	if errors.Is(err, sqldb.ErrMissed) {
		// Not all claims still hold their items: read which do.
		verdicts, named, err = s.finish(ctx, finishing{group, results, tails, lookUp})
	}
	if err != nil {
		if !named {
			s.discard(ctx, results...)
		}
		return nil, err
	}
	for i, v := range verdicts {
		if !v.Won {
			s.discard(ctx, results[i])
		}
	}
	s.giveBackRow(row) // the results are committed
	return verdicts, nil
}

// finish records a group. It reports whether rows may name the results now: a commit that returns an error
// may have happened all the same.
func (s *Store) finish(ctx context.Context, g finishing) (verdicts []store.Verdict, named bool, err error) {
	err = s.write(ctx, "finish", func(tx sqldb.Tx) (err error) {
		verdicts, err = finishGroup(ctx, tx, g)
		named = err == nil
		return err
	})
	return verdicts, named, err
}

// placeResults places the results of a group, the small ones in row.
func (s *Store) placeResults(ctx context.Context, group []store.Finish, row *[]byte) ([]placed, error) {
	p := placing{count: len(group), at: func(i int) unplaced {
		f := &group[i]
		if len(f.Result) == 0 {
			return unplaced{}
		}
		return unplaced{owner: owner(f.Tenant, f.Item, partResult), plain: f.Result, sealed: f.Sealed}
	}}
	if size := p.size(0, p.count); cap(*row) < size {
		*row = make([]byte, 0, size)
	}
	p.row = (*row)[:0]
	return s.placeAll(ctx, &p)
}

// finishing is a group to be recorded.
type finishing struct {
	group   []store.Finish
	results []placed
	tails   [][]sealedDelta
	look    look
}

// look is how the items of a group are found.
type look int

const (
	lookUp     look = iota // in the store
	lookRecall             // as they were when they were claimed
)

// recallable reports whether the items of a group can be taken as their claims have them: every claim is known, and no item is in the
// group twice. If an item changed since its claim, the writes miss it.
func recallable(group []store.Finish) bool {
	seen, apart := newReleases(), map[penstock.ID]bool{}
	for i := range group {
		c := group[i].Of
		if c == nil || c.Item != group[i].Item {
			return false
		}
		if bit := placeBit(c.Place); bit != 0 {
			of := seen.of(claimKey{c.Job, c.Claim})
			if of.bits&bit != 0 {
				return false
			}
			of.bits |= bit
		} else if apart[c.Item] {
			return false
		} else {
			apart[c.Item] = true
		}
	}
	return true
}

// recalled is an item as its claim has it.
func recalled(c *store.Claimed) itemstore.Row {
	return itemstore.Row{
		Item: penstock.Item{
			ID: c.Item, Job: c.Job, Tenant: c.Tenant, Index: c.Index, CustomID: c.CustomID, Status: penstock.StatusRunning, Attempts: c.Attempts,
			Fence: c.Fence, Usage: c.Spent.Usage, Cost: c.Spent.Cost,
		},
		Reserved: c.Reserved, Estimate: c.Estimate, InputBytes: c.InputBytes, Tries: c.Tries, Crashes: c.Spent.Crashes, ChildDeaths: c.Spent.ChildDeaths,
		Claim: c.Claim, Rowless: c.Place > 0, Place: c.Place,
	}
}

func finishGroup(ctx context.Context, tx sqldb.Tx, g finishing) ([]store.Verdict, error) {
	group := g.group
	recalling := g.look == lookRecall
	jobIDs := make([]penstock.ID, len(group))
	for i := range group {
		jobIDs[i] = group[i].Job
	}
	jobs, err := lockJobs(ctx, tx, jobIDs, lockFinish)
	if err != nil {
		return nil, err
	}
	var items []*itemstore.Row
	if !recalling {
		if items, err = lookItems(ctx, tx, jobs, group); err != nil {
			return nil, err
		}
	}
	verdicts := make([]store.Verdict, len(group))
	var job *penstock.Job
	var row itemstore.Row // of one recalled item after the other: the writes copy what they keep
	for i := range group {
		f, item := &group[i], &row
		if recalling {
			row = recalled(f.Of)
		} else {
			item = items[i]
		}
		if job == nil || job.ID != f.Job { // most often the next item is of the same job
			job = jobs.byID[f.Job]
		}
		if recalling && job == nil {
			return nil, sqldb.ErrMissed
		}
		if item == nil || job == nil || item.Tenant != f.Tenant {
			continue // no such item was ever claimed: the finish is stale, and no tenant can be charged
		}
		if item.Status != penstock.StatusRunning || item.Fence != f.Fence || (f.Of != nil && f.Of.Claim != item.Claim) {
			verdicts[i] = store.Verdict{Status: item.Status}
			if err := bookStale(ctx, tx, *f, jobs.item(item)); err != nil {
				return nil, err
			}
			continue
		}
		if err := finishItem(ctx, tx, itemInJob{item, job, jobs}, &finishedClaim{f, g.results[i], g.tails[i]}); err != nil {
			return nil, err
		}
		verdicts[i] = store.Verdict{Won: true, Status: item.Status, JobFinished: job.Counts.Open() == 0, PromisedIn: promisedIn(job)}
	}
	_, err = jobs.save(ctx, tx)
	return verdicts, err
}

// lookItems reads the items of a group, with or without rows, in its order; nil for those that do not exist. Only the holder of
// their jobs' locks can change running items, so the items need no locks.
func lookItems(ctx context.Context, tx sqldb.Tx, jobs jobGroup, group []store.Finish) ([]*itemstore.Row, error) {
	byID := make(map[penstock.ID]*itemstore.Row, len(group))
	for id, j := range jobs.byID {
		var ns []int
		for _, f := range group {
			if n, ok := j.IndexOf(f.Item); ok && f.Job == id {
				ns = append(ns, n)
			}
		}
		found, err := itemReader.Find(ctx, tx, j, ns)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			byID[r.ID] = r
		}
	}
	items := make([]*itemstore.Row, len(group))
	for i := range group {
		items[i] = byID[group[i].Item]
	}
	return items, nil
}

// finishedClaim is a finish with its sealed result. The finish is not changed: the transaction may run again.
type finishedClaim struct {
	*store.Finish
	result placed
	tail   []sealedDelta
}

// finishItem records the end of a claim that still holds its item.
func finishItem(ctx context.Context, tx sqldb.Tx, item itemInJob, f *finishedClaim) error {
	for _, d := range f.tail {
		if err := d.insert(ctx, tx, item.job); err != nil {
			return err
		}
	}
	transition, failure := f.Transition, f.Error
	again := transition == penstock.TransitionRetry && item.job.CancelRequestedAt.IsZero()
	if f.ChildDied {
		if item.ChildDeaths++; again && item.ChildDeaths >= store.MaxChildDeaths {
			again, transition, failure = false, penstock.TransitionFail, poisoned()
		}
	}
	var last *penstock.Attempt
	for i := range f.Attempts {
		item.Tries++
		f.Attempts[i].Number = item.Tries
		if i == len(f.Attempts)-1 && !again {
			last = &f.Attempts[i]
			break
		}
		if err := insertAttempt(ctx, tx, f.Tenant, f.Attempts[i]); err != nil {
			return err
		}
	}
	item.Attempts += f.Counted
	item.spend(f.Usage, f.Cost)
	if err := item.forfeit(ctx, tx, f.Finish, f.Forfeit); err != nil {
		return err
	}
	if again && !item.lockedBudgets.affords(item.budgets()) {
		again, transition, failure = false, penstock.TransitionFail, unaffordable()
	}
	if again {
		return item.requeue(ctx, tx, transition, sqldb.Micros(tx.Now().Add(f.RetryIn)))
	}
	o := outcome{
		transition: transition, target: f.Target, statusCode: f.StatusCode, result: f.result, attempt: last,
		err: failure, errorKind: f.ErrorKind, priceVersion: f.PriceVersion, resultBytes: int64(len(f.Result)),
	}
	if transition == penstock.TransitionRetry {
		o.transition, o.err = penstock.TransitionCancel, cancelledError()
	}
	return item.end(ctx, tx, o)
}

func expiredError() *penstock.ItemError {
	return &penstock.ItemError{Code: penstock.CodeDeadlineExceeded, Message: "The job's deadline passed before this item could finish."}
}

func poisoned() *penstock.ItemError {
	return &penstock.ItemError{Code: penstock.CodePoison, Message: fmt.Sprintf(
		"The child process of this item died %d times while it ran nothing else; the item is not tried again.", store.MaxChildDeaths)}
}

func cancelledError() *penstock.ItemError {
	return &penstock.ItemError{Code: penstock.CodeCancelled, Message: "The job was cancelled."}
}

// bookStale records the cost of a claim that another claim replaced: counted, not invoiced. A repeated finish
// of a worker that did not receive the answer to the first one is recorded already.
func bookStale(ctx context.Context, tx sqldb.Tx, f store.Finish, item itemInJob) error {
	if len(f.Attempts) == 0 || (item.Last != nil && item.Last.ID == f.Attempts[0].ID) {
		return nil
	}
	recorded, err := findAttempts(ctx, tx, f.Tenant, f.Item)
	if err != nil || slices.ContainsFunc(recorded, func(a penstock.Attempt) bool { return a.ID == f.Attempts[0].ID }) {
		return err
	}
	_, booked, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT key FROM ledger WHERE key = $1`, forfeitKey(f.Item, f.Fence)),
		func(row sqldb.Row) (key string, err error) { return key, row.Scan(&key) })
	if err != nil || booked { // the process that rescued the item recorded it
		return err
	}
	return item.forfeit(ctx, tx, &f, f.Cost+f.Forfeit)
}
