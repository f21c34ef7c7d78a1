package itemstore

import (
	"encoding/json"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// rowColumns leaves the result out: most readers do not want it, and it can be large.
const rowColumns = `id, job_id, tenant_id, n, custom_id, status, seq, attempts, fence, tries, crashes, child_deaths,
	reserved_nano_usd, estimate_tokens, input_bytes, not_before, parked = 1, claim_id, target, status_code, error_code, error_message,
	cost_nano_usd, price_version, ` + usagerow.Names + `, finished_at`

func (r *Row) dest(more ...any) []any {
	r.Error = &penstock.ItemError{}
	return append(usagerow.Dest(&r.Usage, &r.ID, &r.Job, &r.Tenant, &r.Index, &r.CustomID, &r.Status, &r.Seq, &r.Attempts,
		&r.Fence, &r.Tries, &r.Crashes, &r.ChildDeaths, &r.Reserved, &r.Estimate, &r.InputBytes, &r.NotBefore, &r.Parked, &r.Claim,
		&r.Target, &r.StatusCode, &r.Error.Code, &r.Error.Message, &r.Cost, &r.PriceVersion), more...)
}

func scanRow(row sqldb.Row) (Row, error) {
	var r Row
	return r, r.scan(row)
}

// scan reads rowColumns and the columns behind them.
func (r *Row) scan(row sqldb.Row, more ...any) error {
	var finished int64
	if err := row.Scan(r.dest(append([]any{&finished}, more...)...)...); err != nil {
		return fmt.Errorf("scanning item: %w", err)
	}
	r.FinishedAt = sqldb.FromMicros(finished)
	if r.Error.Code == "" {
		r.Error = nil
	}
	return nil
}

// encodeAttempt is the attempt that decided an item, as its row has it.
func encodeAttempt(a *penstock.Attempt) (string, error) {
	if a == nil {
		return "", nil
	}
	stored := *a
	stored.ErrorMessage = sqldb.Storable(a.ErrorMessage)
	for _, t := range []*time.Time{&stored.StartedAt, &stored.FirstTokenAt, &stored.FinishedAt} {
		*t = sqldb.FromMicros(sqldb.Micros(*t)) // the precision of a column
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return "", fmt.Errorf("encoding an attempt: %w", err)
	}
	return string(text), nil
}

func scanAttempt(row sqldb.Row) (a penstock.Attempt, err error) {
	var text []byte
	if err := row.Scan(&text); err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}
