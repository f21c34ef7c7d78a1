package sqlstore

import (
	"context"
	"maps"
	"penstock/internal/store/sqldb"
	"slices"
	"time"
)

// backlogKeys are backlogs that lost a job.
type backlogKeys map[backlogKey]bool

// backlogRest is how long no item of a backlog must have ended before its row is removed: until then its measured rate is
// still useful.
const backlogRest = time.Hour

// forget removes the rows of empty backlogs. Where one model serves every name, callers may use any name, and each name
// has a row. A row with running items or jobs to be split stays too: the position of such a job was computed from the
// counter of the row.
func (k backlogKeys) forget(ctx context.Context, tx sqldb.Tx) error {
	for _, key := range slices.SortedFunc(maps.Keys(k), compareKeys) {
		err := tx.Do(ctx, `DELETE FROM backlogs WHERE lane = $1 AND tenant_id = $2 AND model = $3 AND ready = 0 AND parked = 0
			AND NOT EXISTS (SELECT 1 FROM claims c JOIN jobs j ON j.id = c.job_id WHERE j.lane = $1 AND j.tenant_id = $2 AND j.model = $3)
			AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.split < j.total AND j.finished_at = 0 AND j.lane = $1 AND j.tenant_id = $2 AND j.model = $3)
			AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.tenant_id = $2 AND j.finished_at > $4 AND j.finished_at > 0 AND j.lane = $1 AND j.model = $3)`,
			key.lane, key.tenant, key.model, sqldb.Micros(tx.Now().Add(-backlogRest)))
		if err != nil {
			return err
		}
	}
	return nil
}
