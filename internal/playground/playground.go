// Package playground runs prompts side by side and keeps the history of these runs.
//
// A run has a [Setup]: columns, rows of variables, and trials. Each combination is a cell, and a cell is one synchronous call of
// the person's tenant, or several if the model calls tools with simulated results. The package owns the rules of setups, the
// order in which cells start, the text that arrives, the history, marks and shares. It does not make calls itself: package
// request does, so limits, budgets, filters, cache, records and metrics apply to a cell as to any other call.
//
// Invariants:
//   - Everything is rendered and checked before anything runs. A cell stores the prompt version, its hash and the model, and the
//     rendered body, so a cell that runs again sends the same bytes.
//   - A reader sees only text that is stored: a crash takes nothing back. Every change of a cell has a number, so a reader that
//     comes back gets exactly the rest, from any process.
//   - A run belongs to the lease of one process while it runs. A process whose lease ended cannot write to it any more; another
//     process marks its open cells as interrupted and keeps their text.
//   - A run is private to its author until the author shares it. Another tenant's run, and one that is not shared, is not_found.
//   - Cells never take more than a share of the concurrency of their process and their tenant. Cells that wait are queued.
//
// A Service is safe for concurrent use. [Service.Run] owns all goroutines that cells run in, and drains them.
package playground

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

// Bounds of the playground.
const (
	MaxColumns          = 4
	MaxRows             = 200
	MaxTrials           = 10
	MaxCells            = 400
	MaxSetupBytes       = 4 << 20
	MaxInputBytes       = 32 << 20 // of all rendered bodies of a run, one for each column and row
	MaxOutputBytes      = 4 << 20  // of one cell
	MaxRunOutputBytes   = 64 << 20 // of all cells of a run
	MaxSnapshotBytes    = 48 << 20
	MaxRuns             = 5000 // of one author
	MaxActiveRuns       = 8    // of one author, in one process
	MaxProcessRuns      = 256  // that run in one process
	MaxRunConcurrency   = 8    // cells of one run that run at the same time
	MaxSteps            = 8    // calls of one cell
	MaxShares           = 32   // of one run
	MaxNameBytes        = 200
	MaxQueryBytes       = 200
	MaxCommentBytes     = 16 << 10
	MaxCorrectionBytes  = 256 << 10
	MaxMarks            = 100 // of one cell
	MaxActorNameBytes   = 256
	MaxToolResults      = 128
	MinSnapshotLifetime = time.Hour
	MaxSnapshotLifetime = 90 * 24 * time.Hour
)

const (
	// ViewRun is the prefix of the ids of runs.
	ViewRun penstock.View = "prun"
	// ViewShare is the prefix of the ids of shares.
	ViewShare penstock.View = "pshr"
)

// The audited actions.
const (
	ActionCreate      = "playground.run.create"
	ActionDelete      = "playground.run.delete"
	ActionShare       = "playground.share.create"
	ActionRemoveShare = "playground.share.remove"
)

// The tags on the records of the calls that cells make. Callers cannot set them: see [penstock.ReservedTag].
const (
	TagPerson = penstock.ReservedTagPrefix + "playground" // the id of the author; the daily budget is by this tag
	TagRun    = penstock.ReservedTagPrefix + "run"        // the id of the run
)

// RunState is the state of a run.
type RunState string

// The states of runs.
const (
	RunRunning     RunState = "running"
	RunCompleted   RunState = "completed"   // all cells ended by themselves, also those that failed
	RunStopped     RunState = "stopped"     // somebody stopped cells
	RunInterrupted RunState = "interrupted" // its process ended before all cells had
)

// RunStates lists every state.
var RunStates = []RunState{RunRunning, RunCompleted, RunStopped, RunInterrupted}

// CellState is the state of a cell.
type CellState string

// The states of cells.
const (
	CellQueued      CellState = "queued"
	CellRunning     CellState = "running"
	CellSucceeded   CellState = "succeeded"
	CellFailed      CellState = "failed"
	CellStopped     CellState = "stopped"
	CellInterrupted CellState = "interrupted"
)

// CellStates lists every state.
var CellStates = []CellState{CellQueued, CellRunning, CellSucceeded, CellFailed, CellStopped, CellInterrupted}

// Open reports whether the cell has not ended.
func (s CellState) Open() bool { return s == CellQueued || s == CellRunning }

// Counts are how many cells are in each state.
type Counts struct {
	Queued      int `json:"queued"`
	Running     int `json:"running"`
	Succeeded   int `json:"succeeded"`
	Failed      int `json:"failed"`
	Stopped     int `json:"stopped"`
	Interrupted int `json:"interrupted"`
}

// add counts a cell.
func (c *Counts) add(s CellState) {
	switch s {
	case CellQueued:
		c.Queued++
	case CellRunning:
		c.Running++
	case CellSucceeded:
		c.Succeeded++
	case CellFailed:
		c.Failed++
	case CellStopped:
		c.Stopped++
	case CellInterrupted:
		c.Interrupted++
	}
}

// CountCells counts cells by their states.
func CountCells(cells []Cell) (c Counts) {
	for i := range cells {
		c.add(cells[i].State)
	}
	return c
}

// State is the state of a run with such cells.
func (c Counts) State() RunState {
	switch {
	case c.Queued+c.Running > 0:
		return RunRunning
	case c.Interrupted > 0:
		return RunInterrupted
	case c.Stopped > 0:
		return RunStopped
	}
	return RunCompleted
}

// Sharing says who may see a run beside its author.
type Sharing string

// The kinds of sharing.
const (
	Private        Sharing = "private"
	SharedRole     Sharing = "role"     // people with a role see the run
	SharedSnapshot Sharing = "snapshot" // people who have a link see a copy
)

// Run is a run without its setup and its cells.
type Run struct {
	ID         penstock.ID       `json:"id"`
	Tenant     penstock.TenantID `json:"tenant"`
	Name       string            `json:"name"` // "" for none
	State      RunState          `json:"state"`
	Author     penstock.Author   `json:"author"`
	CreatedAt  time.Time         `json:"created_at"`
	FinishedAt time.Time         `json:"finished_at"` // zero while it runs
	Models     []string          `json:"models"`
	Prompts    []string          `json:"prompts"` // as name@version, name@draft for a draft
	Counts     Counts            `json:"counts"`
	Cost       penstock.NanoUSD  `json:"cost"`
	Revision   int64             `json:"revision"` // of the name
	Seq        int64             `json:"seq"`      // the number of the last change of a cell
	Shared     Sharing           `json:"shared"`
	Roles      []penstock.Role   `json:"roles,omitempty"` // that the run is shared with; only where one run is read
	Owner      store.Lease       `json:"-"`               // the process that it runs in
	Mine       bool              `json:"-"`               // the reader is the author
}

// Opened is a run with its setup and its cells.
type Opened struct {
	Run
	Setup Setup  `json:"setup"`
	Cells []Cell `json:"cells"`
}

// PromptRef is the version that a cell was rendered from.
type PromptRef struct {
	Name    string `json:"name"`
	Version int64  `json:"version,omitempty"` // 0 for the draft
	SHA256  string `json:"sha256"`
}

// Cell is one combination of a column, a row and a trial, with its outcome.
type Cell struct {
	N       int        `json:"n"`
	Column  int        `json:"column"`
	Row     int        `json:"row"`
	Trial   int        `json:"trial"`
	State   CellState  `json:"state"`
	Attempt int64      `json:"attempt"` // from 1; grows when the cell runs again
	Seq     int64      `json:"seq"`     // of its last change
	Prompt  *PromptRef `json:"prompt,omitempty"`
	Model   string     `json:"model"`
	Target  string     `json:"target,omitempty"`
	// Requests are the calls that the cell made, one for each step.
	Requests    []penstock.ID `json:"requests,omitempty"`
	Result      Result        `json:"result"`
	SchemaValid *bool         `json:"schema_valid,omitempty"` // nil if no schema was asked for
	Metrics     Metrics       `json:"metrics"`
	Marks       []Mark        `json:"marks,omitempty"`
}

// Result is what a cell keeps of its answer.
type Result struct {
	Output       Output   `json:"output"`
	FinishReason string   `json:"finish_reason,omitempty"`
	Error        *Problem `json:"error,omitempty"`
}

// Output is the text of a cell. Texts of several steps stand behind each other.
type Output struct {
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
}

// size is how many bytes of text there are.
func (o *Output) size() int {
	n := len(o.Text) + len(o.Reasoning)
	for i := range o.ToolCalls {
		n += len(o.ToolCalls[i].Arguments)
	}
	return n
}

// ToolCall is a call of a tool by the model.
type ToolCall struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Result    *string `json:"result,omitempty"` // the simulated one, nil for none
}

// Problem is why a cell failed.
type Problem struct {
	Code    penstock.Code `json:"code"`
	Message string        `json:"message"`
}

// Metrics are the figures of a cell, over all of its steps.
type Metrics struct {
	FirstToken   time.Duration    `json:"first_token,omitempty"` // of the first step; 0 while it is unknown
	Duration     time.Duration    `json:"duration,omitempty"`
	InputTokens  int64            `json:"input_tokens,omitempty"`
	OutputTokens int64            `json:"output_tokens,omitempty"`
	Cost         penstock.NanoUSD `json:"cost,omitempty"`
}

// Mark is one person's judgement of a cell.
type Mark struct {
	Author     penstock.Author `json:"author"`
	Rating     int             `json:"rating"` // 1, -1, or 0 for none
	Comment    string          `json:"comment,omitempty"`
	Correction string          `json:"correction,omitempty"`
	At         time.Time       `json:"at"`
}

// ShareKind is how a run is shared.
type ShareKind string

// The kinds of shares.
const (
	ShareRole     ShareKind = "role"     // people of the tenant with a role open the live run
	ShareSnapshot ShareKind = "snapshot" // people of the tenant who have the link open a copy
)

// ShareKinds lists every kind.
var ShareKinds = []ShareKind{ShareRole, ShareSnapshot}

// Share lets others see a run.
type Share struct {
	ID        penstock.ID
	Tenant    penstock.TenantID
	Run       penstock.ID
	Kind      ShareKind
	Role      penstock.Role // "" for a snapshot
	CreatedBy penstock.Author
	CreatedAt time.Time
	ExpiresAt time.Time // zero for never
}
