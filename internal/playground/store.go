package playground

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/store"
)

// NewRun is a run to be stored, with all of its cells queued.
type NewRun struct {
	Run
	Setup  []byte // encoded
	Cells  []Cell
	Inputs []Input
	Stored int64 // the tenant's quota of bytes, 0 for none
}

// Input is the rendered body that the trials of a column and a row share.
type Input struct {
	Column, Row int
	Body        []byte
}

// Page selects runs, newest first.
type Page struct {
	Reader penstock.Author
	Roles  []penstock.Role // of the reader: runs that are shared with one of them are seen
	Author Authorship
	Query  string      // a part of the name, of a prompt or of a model, in lower case; "" for all
	Before penstock.ID // "" for the first page
	Limit  int
}

// Authorship is whose runs a list has.
type Authorship string

// The values of Authorship. The zero value is both.
const (
	AuthorMe     Authorship = "me"
	AuthorOthers Authorship = "others"
)

// Rename changes the name of a run.
type Rename struct {
	ID         penstock.ID
	Name       string
	IfRevision int64 // that the run must have, 0 for any
}

// Removal removes a run with all that belongs to it.
type Removal struct {
	ID    penstock.ID
	Actor penstock.Author
}

// Runs is the storage of runs.
type Runs interface {
	// CreateRun stores a run and its cells, with an audit entry. Codes: conflict (too many runs), quota_exceeded.
	CreateRun(ctx context.Context, tenant penstock.TenantID, n NewRun) (Run, error)
	// Run finds a run, with the roles that it is shared with. Codes: not_found.
	Run(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Run, error)
	// ListRuns returns runs that the reader may see.
	ListRuns(ctx context.Context, tenant penstock.TenantID, p Page) ([]Run, error)
	// RenameRun changes the name of a run. Codes: not_found, conflict.
	RenameRun(ctx context.Context, tenant penstock.TenantID, r Rename) (Run, error)
	// DeleteRun removes a run with its cells, marks, shares and snapshots, with an audit entry. Codes: not_found.
	DeleteRun(ctx context.Context, tenant penstock.TenantID, r Removal) error
}

// Changes are the cells of a run that changed behind a number.
type Changes struct {
	Run   Run
	Cells []Changed // in the order of their changes
}

// Changed is a cell with the pieces of its output that are new.
type Changed struct {
	Cell
	Pieces []Piece // of an open or interrupted cell: those behind the number; of any other: all of its output
}

// DeltaKind is the kind of a piece of output.
type DeltaKind string

// The kinds.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
	DeltaArguments DeltaKind = "tool_arguments"
)

// DeltaKinds lists every kind.
var DeltaKinds = []DeltaKind{DeltaText, DeltaReasoning, DeltaArguments}

// Piece is a part of the output of a cell.
type Piece struct {
	Kind   DeltaKind `json:"k"`
	Call   int       `json:"c,omitempty"` // of arguments: which tool call of the cell, from 0
	Offset int       `json:"o"`           // bytes of this kind before it; of arguments: of all calls together
	Text   string    `json:"t"`
}

// NewMark replaces the mark of one person on one cell; one without a judgement removes it.
type NewMark struct {
	Run  penstock.ID
	Cell int
	Mark
	Stored int64
}

// Cells is the storage of cells.
type Cells interface {
	// Open reads a run with its setup, its cells, their outputs and marks. Codes: not_found.
	Open(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Opened, error)
	// Input reads the rendered body of a column and a row. Codes: not_found.
	Input(ctx context.Context, tenant penstock.TenantID, id penstock.ID, at CellPlace) ([]byte, error)
	// Changes reads what changed behind a number. Codes: not_found.
	Changes(ctx context.Context, tenant penstock.TenantID, id penstock.ID, after int64) (Changes, error)
	// SetMark stores a mark. Codes: not_found, conflict (too many), quota_exceeded.
	SetMark(ctx context.Context, tenant penstock.TenantID, m NewMark) (Mark, error)
}

// CellPlace is a column and a row.
type CellPlace struct{ Column, Row int }

// Step is what the owner of a run writes: the cells that changed, and the run as it is with them.
type Step struct {
	Tenant     penstock.TenantID
	Run        penstock.ID
	Seq        int64
	Counts     Counts
	Cost       penstock.NanoUSD
	FinishedAt time.Time // zero while it runs
	Cells      []Changed // an open cell adds its pieces; any other replaces them by its result
}

// StopOrder asks the owner of a run to stop cells.
type StopOrder struct {
	ID     penstock.ID
	Column int // AllColumns for all
}

// AllColumns is every column of a run.
const AllColumns = -1

// OwnedRun is a run of a lease, with the columns that others asked to stop.
type OwnedRun struct {
	ID    penstock.ID
	Stops []int
}

// Resumption runs cells of a run again.
type Resumption struct {
	ID    penstock.ID
	Lease store.Lease
}

// Progress is the storage of runs that run.
type Progress interface {
	// SaveSteps writes steps of runs under a lease, in one transaction. It returns the runs that the lease does not own any more.
	SaveSteps(ctx context.Context, l store.Lease, steps []Step) (lost []penstock.ID, err error)
	// RequestStop asks the owner of a run to stop cells; it does nothing to a run that has ended. Codes: not_found.
	RequestStop(ctx context.Context, tenant penstock.TenantID, o StopOrder) error
	// Owned lists the running runs of a lease.
	Owned(ctx context.Context, l store.Lease) ([]OwnedRun, error)
	// Resume queues the cells of a run that were interrupted or stopped, or failed, and gives the run to a lease. Their output is
	// removed. Codes: not_found, conflict (it runs, or no cell can run again).
	Resume(ctx context.Context, tenant penstock.TenantID, r Resumption) (Opened, error)
	// Interrupt ends runs whose lease has ended: their open cells are interrupted and keep their output. It returns the runs.
	Interrupt(ctx context.Context, limit int) ([]penstock.ID, error)
}

// NewShare is a share to be stored.
type NewShare struct {
	Share
	Snapshot []byte // encoded; nil for a share with a role
	Stored   int64
}

// ShareRemoval removes a share.
type ShareRemoval struct {
	ID    penstock.ID
	Actor penstock.Author
}

// Shares is the storage of shares.
type Shares interface {
	// AddShare stores a share, with an audit entry. A run has one share for a role: a second one is the first. Codes: not_found,
	// conflict (too many), quota_exceeded.
	AddShare(ctx context.Context, tenant penstock.TenantID, n NewShare) (Share, error)
	// Share finds a share that has not expired, with its snapshot. Codes: not_found.
	Share(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Share, []byte, error)
	// ListShares returns the shares of a run that have not expired.
	ListShares(ctx context.Context, tenant penstock.TenantID, run penstock.ID) ([]Share, error)
	// RemoveShare removes a share, with an audit entry. Codes: not_found.
	RemoveShare(ctx context.Context, tenant penstock.TenantID, r ShareRemoval) error
	// PurgeShares removes snapshots of any tenant that have expired, and returns how many.
	PurgeShares(ctx context.Context, limit int) (int, error)
}

// PiecesOf are the pieces of a whole output.
func PiecesOf(o Output) (all []Piece) {
	if o.Reasoning != "" {
		all = append(all, Piece{Kind: DeltaReasoning, Text: o.Reasoning})
	}
	if o.Text != "" {
		all = append(all, Piece{Kind: DeltaText, Text: o.Text})
	}
	offset := 0
	for i, call := range o.ToolCalls {
		if call.Arguments != "" {
			all = append(all, Piece{Kind: DeltaArguments, Call: i, Offset: offset, Text: call.Arguments})
			offset += len(call.Arguments)
		}
	}
	return all
}
