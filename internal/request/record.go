package request

import (
	"time"

	"penstock"
	"penstock/internal/attempt"
)

// ending is what a record adds to the outcome of the attempts.
type ending struct {
	began   time.Time
	err     error
	status  int // that the caller saw
	funding penstock.Funding
}

// record hands the record of a call over. The call holds no place from then on.
func (r *Running) record(out *attempt.Outcome, end ending) {
	r.service.Recorder.Add(r.recordOf(out, end))
	r.held.place = false
}

func (r *Running) recordOf(out *attempt.Outcome, end ending) penstock.Request {
	record := penstock.Request{
		ID: r.id, Tenant: r.principal.Tenant.ID, Key: r.principal.Key, Endpoint: r.endpoint, Model: r.model, Stream: r.stream,
		Status: penstock.StatusSucceeded, StatusCode: end.status, Target: out.Target, Usage: out.Usage, Cost: out.Cost,
		Forfeit: out.Forfeit, Funding: end.funding, Attempts: out.Attempts, Files: r.files, Truncated: r.truncated, Prompt: r.promptCall(), Labels: r.labels, StartedAt: end.began, FinishedAt: r.service.Clock(),
	}
	if n := len(out.Attempts); n > 0 {
		record.FirstTokenAt = out.Attempts[n-1].FirstTokenAt
	}
	if end.err != nil {
		e := penstock.AsError(end.err)
		record.Status, record.ErrorCode, record.Error = penstock.StatusFailed, e.Code, e.Message
		if e.Code == penstock.CodeCancelled {
			record.Status = penstock.StatusCancelled
		}
	}
	return record
}
