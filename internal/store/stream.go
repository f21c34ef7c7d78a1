package store

import (
	"context"

	"penstock"
)

// Streams is the part of a job's log that is written while its items run: deltas of answers.
type Streams interface {
	// AppendDeltas adds deltas to the logs of jobs, in the order given and in one transaction, and reports for each
	// whether it was added. Only the deltas of claims that do not hold their items any more are left out. The limits of
	// MaxDeltaGroup apply to the group.
	AppendDeltas(ctx context.Context, group []ClaimDelta) ([]bool, error)

	// PurgeEvents removes the event rows of a tenant's jobs that finished longer than p.Kept ago. It counts events. The log of
	// such a job is gone from then on.
	PurgeEvents(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)
}

// Delta is a part of a running item's answer, or its restart.
type Delta struct {
	Reset bool   // earlier deltas of the item are void; it has no Data
	Data  []byte // as the job's Stream says
}

// ClaimDelta is a delta of a claimed item.
type ClaimDelta struct {
	Of *Claimed // without its body
	Delta
}

// Bounds of one call of AppendDeltas.
const (
	MaxDeltaGroup = 256
	// MaxDeltaBytes is what one delta aims to hold at the most. A single event of an upstream can be larger.
	MaxDeltaBytes = 64 << 10
)
