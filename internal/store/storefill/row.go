package storefill

import (
	"context"
	"fmt"
	"time"

	"penstock"
	"penstock/internal/store/sqldb"
)

var addJob = sqldb.InsertInto("jobs", `id text, tenant_id text, key_name text, endpoint text = '/v1/chat/completions', model text, lane text, tags text, status text, total bigint,
	succeeded bigint, failed bigint, cancelled bigint, input_tokens bigint = 812, output_tokens bigint = 164, cost_nano_usd bigint, seq bigint = 4, max_attempts bigint = 4,
	item_timeout bigint = 300000000, resolved text, created_at bigint, deadline bigint, started_at bigint, finished_at bigint, split bigint`, "")

const resolved = `{"config":"0f3c6a1d2b","model":"fast","targets":["openai-main","azure-eu"]}`

// job writes a job. Jobs of the last hours may be open, and a few older ones.
func (f *filler) job(at time.Time, i int) {
	id, tenant := f.ids.New(at), f.tenant()
	if tenant == Busy {
		sample(&f.filled.JobIDs, id, i)
	}
	status := f.status(at)
	total, ended := int64(1), sqldb.Micros(at.Add(time.Duration(f.random.IntN(90_000))*time.Millisecond))
	if f.oneIn(50) {
		total = int64(f.random.IntN(5000)) + 1
	}
	var succeeded, failed, cancelled int64
	started := sqldb.Micros(at.Add(40 * time.Millisecond))
	switch status {
	case penstock.StatusQueued:
		started, ended = 0, 0
	case penstock.StatusRunning:
		ended = 0
	case penstock.StatusFailed:
		failed = total
	case penstock.StatusCancelled:
		cancelled = total
	default:
		succeeded = total
	}
	f.put(addJob, id, tenant, f.key(), f.model(), pick(f.random, penstock.LaneStandard, penstock.LaneBulk, penstock.LaneRealtime), f.tags(i), status, total,
		succeeded, failed, cancelled, total*f.random.Int64N(4_000_000), resolved, sqldb.Micros(at), sqldb.Micros(at.Add(24*time.Hour)), started, ended, total)
}

func (f *filler) status(at time.Time) penstock.Status {
	age := f.filled.Until.Sub(at)
	switch n := f.random.IntN(1000); {
	case age < 10*time.Minute && n < 500, f.oneIn(100_000):
		return penstock.StatusQueued
	case age < 30*time.Minute && n < 200, f.oneIn(100_000):
		return penstock.StatusRunning
	case n < 40:
		return penstock.StatusFailed
	case n < 50:
		return penstock.StatusCancelled
	}
	return penstock.StatusSucceeded
}

var (
	addItem = sqldb.InsertInto("items", `id text, job_id text, tenant_id text, n bigint, custom_id text, status text = 'failed', estimate_tokens bigint = 900, input_bytes bigint = 3100,
		reserved_nano_usd bigint = 0, error_code text, error_message text, finished_at bigint`, "")
	addDeadLetter = sqldb.InsertInto("dead_letters", `item_id text, job_id text, tenant_id text, model text, error_code text, error_kind text = 'timeout', fingerprint text, created_at bigint,
		resolved_at bigint, resolution text`, "")
)

// perJob is how many dead letters a job with failures has.
const perJob = 25

// deadLetter writes a failed item with its dead letter, and for every so many a failed job.
func (f *filler) deadLetter(at time.Time, i int) {
	n := i % perJob
	if n == 0 {
		f.failed = failedJob{id: f.ids.New(at), tenant: f.tenant(), model: f.model(), code: pick(f.random, penstock.CodeUpstreamTimeout, penstock.CodeUpstreamError, penstock.CodeInvalidRequest)}
		f.failed.fingerprint = Fingerprint(f.failed.code, min(f.random.IntN(40), f.random.IntN(40)))
		if f.oneIn(2_000) {
			f.failed.code, f.failed.fingerprint = RareCode, RareFingerprint
		}
		f.put(addJob, f.failed.id, f.failed.tenant, f.key(), f.failed.model, penstock.LaneBulk, f.tags(i), penstock.StatusFailed, int64(perJob),
			int64(0), int64(perJob), int64(0), int64(0), resolved, sqldb.Micros(at), sqldb.Micros(at.Add(24*time.Hour)), sqldb.Micros(at), sqldb.Micros(at.Add(time.Second)), int64(perJob))
	}
	j, item, resolvedAt, resolution := f.failed, penstock.ItemID(f.failed.id, n), int64(0), ""
	if f.oneIn(5) {
		resolvedAt, resolution = sqldb.Micros(at.Add(time.Hour)), "dismissed"
	} else if j.tenant == Busy {
		f.filled.ItemID = item
	}
	f.put(addDeadLetter, item, j.id, j.tenant, j.model, j.code, j.fingerprint, sqldb.Micros(at), resolvedAt, resolution)
	f.put(addItem, item, j.id, j.tenant, int64(n), fmt.Sprintf("row-%d", n), j.code, "The target did not answer in time.", sqldb.Micros(at))
}

// Fingerprint is the fingerprint of the n-th cause of a code, of 40; the first causes are more frequent.
func Fingerprint(code penstock.Code, n int) string {
	return fmt.Sprintf("%s/timeout/openai-main/504/%08x", code, n)
}

// failedJob is the job of the dead letters that are being written.
type failedJob struct {
	id          penstock.ID
	tenant      penstock.TenantID
	model       string
	code        penstock.Code
	fingerprint string
}

var (
	addRequest = sqldb.InsertInto("requests", `id text, tenant_id text, key_name text, endpoint text = '/v1/chat/completions', model text, stream bigint = 1, status text, status_code bigint,
		error_code text, error_message text, target text, input_tokens bigint = 812, cached_input_tokens bigint = 0, output_tokens bigint = 164, cost_nano_usd bigint,
		started_at bigint, first_token_at bigint, finished_at bigint, tags text, subject text`, "")
	addRequestTag = sqldb.InsertInto("request_tags", "tenant_id text, name text, value text, request_id text", "")
)

// request writes a synchronous call.
func (f *filler) request(at time.Time, i int) {
	id, tenant := f.ids.New(at), f.tenant()
	if tenant == Busy {
		sample(&f.filled.Requests, id, i)
	}
	status, code, failure, message := penstock.StatusSucceeded, int64(200), penstock.Code(""), ""
	if n := f.random.IntN(100); n < 4 {
		status, code, failure, message = penstock.StatusFailed, 502, penstock.CodeUpstreamError, "The target failed."
	} else if n < 6 {
		status, code = penstock.StatusCancelled, 499
	}
	tags, subject := "{}", ""
	if f.oneIn(4) {
		team := pick(f.random, "ads", "search", "support", "risk")
		tags, subject = fmt.Sprintf(`{"team":"%s"}`, team), fmt.Sprintf("user-%d", f.random.IntN(20_000))
		f.put(addRequestTag, tenant, "team", team, id)
	}
	began := sqldb.Micros(at)
	f.put(addRequest, id, tenant, f.key(), f.model(), status, code, failure, message, pick(f.random, "openai-main", "azure-eu", "local"), f.random.Int64N(8_000_000),
		began, began+300_000, began+1_900_000, tags, subject)
}

var addFile = sqldb.InsertInto("files", `id text, tenant_id text, key_name text, purpose text, name text, bytes bigint, blob text, blob_bytes bigint = 0, index_at bigint = 0, lines bigint = 100,
	tokens bigint = 0, endpoint text = '', error_count bigint = 0, errors text = '[]', created_at bigint, expires_at bigint = 0`, "")

// file writes a file.
func (f *filler) file(at time.Time, i int) {
	id, tenant := f.ids.New(at), f.tenant()
	if tenant == Busy {
		sample(&f.filled.Files, id, i)
	}
	purpose := pick(f.random, "batch_output", "batch", "user_data")
	if f.oneIn(50_000) {
		purpose = "vision"
	}
	f.put(addFile, id, tenant, f.key(), purpose, fmt.Sprintf("rows-%d.jsonl", i), f.random.Int64N(1<<20), string(id), sqldb.Micros(at))
}

var addDelivery = sqldb.InsertInto("deliveries", `id text, tenant_id text, webhook_id text, receiver_id text, job_id text, event_id text, type text = 'job.finished', url text = '', status text,
	attempts bigint = 1, not_before bigint, delivered_at bigint, created_at bigint, body bytea`, "")

// delivery writes a message to the endpoint.
func (f *filler) delivery(at time.Time, i int) {
	id, tenant := f.ids.New(at), f.tenant()
	if tenant == Busy {
		sample(&f.filled.Deliveries, id, i)
	}
	status := penstock.DeliveryDelivered
	if f.oneIn(5_000) {
		status = penstock.DeliveryFailed
	}
	f.put(addDelivery, id, tenant, Webhook, string(tenant), id, id, status, sqldb.Micros(at), sqldb.Micros(at), sqldb.Micros(at), []byte(`{"type":"job.finished"}`))
}

// endpoint writes the endpoint of the deliveries.
func (f *filler) endpoint(ctx context.Context) error {
	return f.db.Write(ctx, "fill", func(tx sqldb.Tx) error {
		for _, tenant := range []penstock.TenantID{Busy, Other} {
			err := tx.Do(ctx, `INSERT INTO webhooks (tenant_id, job_id, id, url, events, created_at, updated_at) VALUES ($1, '', $2, 'https://example.com/hook', '["job.finished"]', 1, 1)`, tenant, Webhook)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
