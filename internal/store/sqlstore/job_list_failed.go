package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// failedStep is how many jobs are looked for at a time.
const failedStep = 200

// failed lists jobs by the failures of their items, newest first.
func (l *jobList) failed(ctx context.Context) error {
	if l.ascending() {
		return penstock.InvalidParam("order", "order=asc cannot be combined with code or fingerprint; leave order out.")
	}
	if f := l.filter; f.Code != "" && f.Fingerprint != "" && !store.FingerprintHas(f.Fingerprint, f.Code) {
		return nil
	}
	for r := l.failedRange(); !r.empty() && !l.ended(); {
		ids, err := l.failedJobs(ctx, r)
		if err != nil {
			return err
		}
		selected := slices.DeleteFunc(slices.Clone(ids), func(id penstock.ID) bool { return !l.whole.contains(id) })
		for batch := range slices.Chunk(selected, l.filter.Limit+1) {
			if err := l.consider(ctx, batch); err != nil || l.ended() {
				return err
			}
		}
		if len(ids) < failedStep {
			return nil
		}
		r.below = ids[len(ids)-1]
	}
	return nil
}

// failedRange is the ids of items of the jobs in the list's range: the items of the last job may lie behind the range.
func (l *jobList) failedRange() idRange {
	r := l.whole
	last := penstock.ID(l.filter.IDPrefix + strings.Repeat("Z", max(26-len(l.filter.IDPrefix), 0)))
	if l.filter.IDPrefix != "" && l.filter.After == "" && last.Valid() {
		r.below = max(r.below, behind(penstock.ItemID(last, lastItem)))
	}
	return r
}

// failedJobs walks over the jobs that have dead letters with the fingerprint or the code, from one to the next in the index,
// however many dead letters each has: the ids of a job's items follow the id of the job.
func (l *jobList) failedJobs(ctx context.Context, r idRange) ([]penstock.ID, error) {
	same, cause := "d.tenant_id = $1 AND d.item_id >= $2 AND "+byFingerprint+" = $4", l.filter.Fingerprint // which has the code
	if cause == "" {
		same, cause = "d.tenant_id = $1 AND d.item_id >= $2 AND d.error_code = $4", string(l.filter.Code)
	}
	args := []any{l.tenant, r.from, r.below, sqldb.Storable(cause)}
	sql := fmt.Sprintf(`WITH RECURSIVE seen(item, n) AS (
			SELECT (SELECT MAX(d.item_id) FROM dead_letters d WHERE %[1]s AND d.item_id < $3), 1
			UNION ALL
			SELECT (SELECT MAX(d.item_id) FROM dead_letters d WHERE %[1]s AND d.item_id < (SELECT x.job_id FROM dead_letters x WHERE x.item_id = seen.item)), seen.n + 1
			FROM seen WHERE seen.item IS NOT NULL AND seen.n < %[2]d
		) SELECT d.job_id FROM seen JOIN dead_letters d ON d.item_id = seen.item ORDER BY seen.n`, same, failedStep)
	return sqldb.QueryAll(ctx, l.tx, sqldb.Query{SQL: sql, Args: args}, sqldb.ScanOne[penstock.ID])
}

// failureCodes reads the error code of the first failed item of each job that has one. The items of a job have ids behind its
// own, so the first dead letter behind the job is of the job, or the job has none.
func failureCodes(ctx context.Context, tx sqldb.Tx, jobs []penstock.Job) (map[penstock.ID]penstock.Code, error) {
	var ids []penstock.ID
	for _, j := range jobs {
		if j.Counts.Failed > 0 {
			ids = append(ids, j.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	codes := make(map[penstock.ID]penstock.Code, len(ids))
	err := tx.QueryIn(ctx, sqldb.IDQuery{IDs: sqldb.Strings(ids), SQL: `SELECT d.job_id, d.error_code FROM jobs j JOIN dead_letters d
		ON d.item_id = (SELECT MIN(e.item_id) FROM dead_letters e WHERE e.item_id > j.id) AND d.job_id = j.id WHERE j.id = /*pg ANY */($1)`},
		func(row sqldb.Row) error {
			var id penstock.ID
			var code penstock.Code
			err := row.Scan(&id, &code)
			codes[id] = code
			return err
		})
	return codes, err
}
