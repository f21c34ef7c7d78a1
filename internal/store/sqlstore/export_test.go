package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// SubmitGroup writes submissions of one tenant in one transaction, as a submitQueue does with those that wait.
func (s *Store) SubmitGroup(ctx context.Context, tenant penstock.TenantID, subs []store.Submission) ([]store.Receipt, []error) {
	group := make([]*pendingSubmit, len(subs))
	receipts, errs := make([]store.Receipt, len(subs)), make([]error, len(subs))
	for i, sub := range subs {
		p, err := s.prepare(ctx, tenant, acceptance{Submission: sub, name: "submit"})
		if err != nil {
			errs[i] = err
			return receipts, errs
		}
		group[i] = p
	}
	err := s.writeSubmits(ctx, group)
	for i, p := range group {
		receipts[i], errs[i] = s.settle(ctx, p, err)
	}
	return receipts, errs
}

// SetSegmentJobs sets the number of jobs of a new segment.
func (s *Store) SetSegmentJobs(n int) { s.segmentJobs = n }

// SetDB sets the database of a store that only lists.
func (s *Store) SetDB(db *sqldb.DB) { s.db = db }
