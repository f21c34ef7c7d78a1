package sqlstore

import (
	"context"

	"penstock"
)

// ItemInput implements store.Inputs.
func (s *Store) ItemInput(ctx context.Context, tenant penstock.TenantID, id penstock.ID) ([]byte, error) {
	var item retryable
	err := s.read(ctx, func(tx Tx) error {
		found, ok, err := queryOne(ctx, tx, sqlf(`SELECT i.job_id, `+retryableColumns+` FROM items i
			WHERE i.id = $1 AND i.tenant_id = $2 AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = i.job_id)`, id, tenant), scanItemOfJob)
		if err == nil && !ok {
			var job penstock.Job
			job, found.n, err = jobOfItem(ctx, tx, tenant, id)
			found.job = job.ID
		}
		if err != nil {
			return err
		}
		items := []retryable{found.retryable}
		err = groupedInputs(ctx, tx, found.job, items)
		item = items[0]
		if err == nil && item.input.inline == nil && item.input.blob == "" {
			err = notFound(penstock.ViewItem, id) // a line that its job does not have yet
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	item.ID = id
	body, err := s.retriedInput(ctx, tenant, item)
	return body, hide(err)
}

// itemOfJob is an item of which only the id was known.
type itemOfJob struct {
	retryable
	job penstock.ID
}

func scanItemOfJob(row Row) (i itemOfJob, err error) {
	i.retryable, err = scanRetryable(prefixed{row, []any{&i.job}})
	return i, err
}
