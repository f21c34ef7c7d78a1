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

// backlogRest is how long nothing must have ended in a backlog before it is forgotten: what is known of its pace is
// still good before that.
const backlogRest = time.Hour

// forget removes the rows of backlogs that hold nothing. Callers may ask for models by any name where there is one that
// answers for all, and each name has a row. Nothing may run or wait to be split either: such a job was told its place
// by the odometer of the row.
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
