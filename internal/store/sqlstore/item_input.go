package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// ItemInput implements store.Inputs.
func (s *Store) ItemInput(ctx context.Context, tenant penstock.TenantID, id penstock.ID) ([]byte, error) {
	item := retryable{RetryableItem: store.RetryableItem{ID: id}}
	err := s.read(ctx, func(tx sqldb.Tx) error {
		job, n, err := jobOfItem(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		inputs, err := itemReader.Inputs(ctx, tx, job.ID, []int{n})
		if item.input = inputs[n]; err == nil && item.input.Empty() {
			err = notFound(penstock.ViewItem, id) // a line that its job does not have as an item yet
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	body, err := s.retriedInput(ctx, tenant, item)
	return body, sqldb.PublicError(err)
}
