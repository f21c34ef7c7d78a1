package sqlstore

import (
	"context"
	"fmt"
	"math"

	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// readyRows is how many model queues of a lane, or how many suspects, ReadyItems and ReadySuspects look at.
const readyRows = 256

// ReadyItems implements store.ReadyReader. It is one round trip that locks nothing. Parked items that are due are woken
// first: the claim that follows takes them like others.
func (s *Store) ReadyItems(ctx context.Context, w store.Want) ([]store.Ready, bool, error) {
	ready, due, err := s.readyItems(ctx, w)
	if err == nil && due {
		if err = s.wakeItems(ctx); err == nil {
			ready, _, err = s.readyItems(ctx, w)
		}
	}
	if err != nil {
		return nil, false, err
	}
	return ready.list(w.Limit), ready.more, nil
}

func (s *Store) readyItems(ctx context.Context, w store.Want) (ready *readyModels, due bool, err error) {
	ready = newReadyModels()
	soonest := int64(math.MaxInt64)
	questions := []sqldb.Question{
		sqldb.Ask(sqldb.SQL(`SELECT not_before FROM parked ORDER BY not_before LIMIT 1`), func(row sqldb.Row) error { return row.Scan(&soonest) }),
	}
	for _, lane := range w.Lanes {
		rows := 0
		of := modelQueueQuery{lane, w, modelQueueKey{vtime: math.MinInt64}}
		// The bytes and tokens of a backlog are those of its ready and its parked items.
		questions = append(questions, sqldb.Ask(of.query(`SELECT b.model, b.ready, b.tokens / (b.ready + b.parked), b.bytes / (b.ready + b.parked)`, fmt.Sprintf(`LIMIT %d`, readyRows)),
			func(row sqldb.Row) error {
				rows++
				ready.more = ready.more || rows == readyRows
				return ready.scan(row)
			}))
	}
	now, err := s.db.Ask(ctx, questions...)
	return ready, soonest <= sqldb.Micros(now), err
}

// ReadySuspects implements store.ReadyReader.
func (s *Store) ReadySuspects(ctx context.Context, w store.Want) ([]store.Ready, bool, error) {
	ready := newReadyModels()
	err := s.read(ctx, func(tx sqldb.Tx) error {
		ready = newReadyModels()
		rows := 0
		return tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT j.model, 1, i.estimate_tokens, i.input_bytes
			FROM suspects s JOIN items i ON i.id = s.item_id JOIN jobs j ON j.id = i.job_id
			WHERE s.not_before <= $1 AND s.deadline > $1 AND j.cancel_requested_at = 0
				AND REPLACE($2, $6 || j.lane || $6, '') <> $2
				AND ($3 = '' OR REPLACE($3, $6 || j.model || $6, '') <> $3) AND REPLACE($4, $6 || j.model || $6, '') = $4
				AND REPLACE($5, $6 || s.tenant_id || $6, '') = $5
			ORDER BY s.tenant_id, s.urgency, s.deadline, s.item_id LIMIT $7`,
			sqldb.Micros(tx.Now()), names(w.Lanes), names(w.Models), names(w.ExceptModels), names(w.ExceptTenants), separator, readyRows),
			func(row sqldb.Row) error {
				rows++
				ready.more = rows == readyRows
				return ready.scan(row)
			}))
	})
	return ready.list(w.Limit), ready.more, err
}

// readyModels sums up what is ready by model.
type readyModels struct {
	order []string
	sums  map[string]*store.Ready // Estimate and InputBytes are of all items
	more  bool                    // not everything was looked at
}

func newReadyModels() *readyModels { return &readyModels{sums: make(map[string]*store.Ready)} }

// scan adds a row of a model with its items and their averages.
func (r *readyModels) scan(row sqldb.Row) error {
	var model string
	var items, estimate, bytes int64
	if err := row.Scan(&model, &items, &estimate, &bytes); err != nil {
		return err
	}
	sum := r.sums[model]
	if sum == nil {
		sum = &store.Ready{Model: model}
		r.sums[model], r.order = sum, append(r.order, model)
	}
	sum.Items += int(items)
	sum.Estimate += items * estimate
	sum.InputBytes += items * bytes
	return nil
}

// list returns the models in the order they were found, with averages, at most limit items of each.
func (r *readyModels) list(limit int) []store.Ready {
	all := make([]store.Ready, 0, len(r.order))
	for _, model := range r.order {
		sum := *r.sums[model]
		sum.Estimate, sum.InputBytes = sum.Estimate/int64(sum.Items), sum.InputBytes/int64(sum.Items)
		sum.Items = min(sum.Items, limit)
		all = append(all, sum)
	}
	return all
}
