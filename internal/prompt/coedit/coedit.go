// Package coedit lets several people edit the draft of a prompt at the same time.
//
// Each text of a draft has an id and a version. An editor sends updates: change sets for the version of the text that it knows.
// The service maps them over the updates that were accepted since, applies them to the draft and appends them to its log. So an
// update is never refused because somebody else was faster, and an editor that was offline sends all of its updates afterwards.
// Everything else in a draft (roles, order of messages, config, schema) is its structure. The structure changes by compare-and-set.
//
// The package owns the rules for updates, comments and the presence of people, their bounds, and the stream of changes. Package
// changeset owns the algebra of changes. Package promptsql stores: it applies updates in the transaction that writes the draft.
//
// Invariants:
//   - The text of a draft is in the draft alone. The log has its changes and how to undo them, no copy of the text.
//   - The revision of a draft grows by one with each update, so an update has one number for the log, the stream and the ETag.
//   - The versions of a text are consecutive. An update that is sent twice is accepted once.
//   - A process holds no state of a draft. Editors of one draft may be connected to different processes.
//   - Another tenant's draft is not_found.
//
// A Service is safe for concurrent use.
package coedit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/changeset"
	"penstock/internal/signal"
)

// Bounds of a draft that is edited together.
const (
	MaxSubmission   = 100     // updates in one call
	MaxBehind       = 200     // updates that a submission is mapped over; an editor that is further behind receives them first
	MaxLogUpdates   = 10_000  // of a draft; the oldest are removed
	MaxLogBytes     = 4 << 20 // of a draft, as JSON
	MaxPeople       = 32      // present at one draft
	MaxComments     = 500     // of a draft, replies and resolved ones included
	MaxCommentBytes = 4096
	MaxQuoteUnits   = 200
	MaxNameBytes    = 64 // of a person, beside a cursor
	// MaxStreams bounds the open streams of one draft on a process.
	MaxStreams = 100
	// PresenceExpiry is how long a person is shown without a sign of life. Streams give one every third of it.
	PresenceExpiry = 30 * time.Second
	// PollInterval is how often a stream looks without a signal.
	PollInterval = 3 * time.Second
	// Each editor may write maxBurst times at once, and maxRate times a second in the long run.
	maxRate, maxBurst = 20, 60
	maxPaced          = 4096 // editors whose rate is remembered
)

// ViewComment is the prefix of the ids of comments.
const ViewComment penstock.View = "cmt"

// Text is a text of a draft as editors name it.
type Text struct {
	ID      string `json:"id"`
	Version int64  `json:"version"` // how many updates it has had
}

// Draft is a draft with all that its editors share.
type Draft struct {
	prompt.Draft
	Shape
	Comments []Comment
	People   []Person
}

// Update is an accepted update of a text.
type Update struct {
	Revision int64 // of the draft after it
	Text     string
	Version  int64 // of the text after it
	Client   string
	Author   penstock.Author
	At       time.Time
	Changes  changeset.Set
}

// Submission is what an editor sends.
type Submission struct {
	Name    string // of the prompt
	Text    string
	Client  string // the id of the editor, which begins with the author's Tag
	Version int64  // of the text that the first update applies to
	Updates []changeset.Set
	Author  penstock.Author
	Stored  int64 // the tenant's quota of bytes, 0 for none
}

// StructureOrder replaces the structure of a draft.
type StructureOrder struct {
	prompt.NewDraft
	// Texts are the ids of the texts of the content, in their order. A text with an id keeps its text, whatever the content says. A
	// text without is new, and begins with the text of the content.
	Texts       []string
	IfStructure int64 // that the draft must have
}

// LogPage selects updates of a draft, newest first.
type LogPage struct {
	Name   string
	Text   string // "" for all
	Before int64  // a revision, 0 for the first page
	Limit  int
}

// TextKey names a text of a draft at a version.
type TextKey struct {
	Name, Text string
	Version    int64
}

// Position is how far the reader of a stream is.
type Position struct {
	Revision  int64
	Structure int64  // 0 for the structure at the revision
	Comments  int64  // 0 for none
	People    string // "" for none
}

// Delta is what a reader lacks.
type Delta struct {
	Position            // after it
	Reset    bool       // the log does not reach back to the reader: it opens the draft again
	More     bool       // there are more updates
	Updates  []Update   // of all texts, in their order
	Shape    *Shape     // nil if the structure did not change
	Comments *[]Comment // nil if they did not change, apart from their places
	People   *[]Person  // nil if they did not change
}

// Store is the storage of drafts that are edited together.
type Store interface {
	// Shared finds a draft. Codes: not_found.
	Shared(ctx context.Context, tenant penstock.TenantID, name string) (Draft, error)
	// Submit maps updates over those that were accepted since, applies them, appends them to the log and moves comments and
	// cursors. It returns the updates of the text behind the submission's version, the submitted ones included; if more than
	// MaxBehind are missing, these alone, and nothing is accepted. Codes: not_found (draft or text), gone (the log does not reach
	// back to the version), invalid_request, too_large, conflict (archived), quota_exceeded.
	Submit(ctx context.Context, tenant penstock.TenantID, s Submission) ([]Update, error)
	// PutStructure replaces the structure. Codes: not_found, conflict, invalid_request, too_large, quota_exceeded.
	PutStructure(ctx context.Context, tenant penstock.TenantID, o StructureOrder) (Draft, error)
	// Since returns what a reader lacks. Codes: not_found.
	Since(ctx context.Context, tenant penstock.TenantID, name string, p Position) (Delta, error)
}

// Log is the history of a draft.
type Log interface {
	// Updates returns a page of the log. Codes: not_found.
	Updates(ctx context.Context, tenant penstock.TenantID, p LogPage) ([]Update, error)
	// TextAt returns a text as it was at a version. Codes: not_found (draft or text, or a version that is not reached yet), gone (the
	// log does not reach back to the version).
	TextAt(ctx context.Context, tenant penstock.TenantID, k TextKey) (string, error)
}

// Deps are what a Service works with.
type Deps struct {
	Store    Store
	Log      Log
	Comments Comments
	People   People
	// Changes wakes the streams of a draft.
	Changes *signal.Topic[Key]
	Clock   func() time.Time
}

// Service serves the editors of drafts.
type Service struct {
	Deps
	ids     penstock.IDs
	pace    pace
	streams streams
}

// Key names a draft in signals between processes.
type Key string

func key(tenant penstock.TenantID, name string) Key {
	sum := sha256.Sum256([]byte(string(tenant) + "/" + name))
	return Key(hex.EncodeToString(sum[:12])) // short, because many signals travel together
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Tag tells authors apart without their ids: 12 hexadecimal digits. The ids of an author's editors begin with it, so that nobody
// can send updates in the name of another's editor.
func Tag(tenant penstock.TenantID, a penstock.Author) string {
	sum := sha256.Sum256([]byte(string(tenant) + "\x00" + a.ID))
	return hex.EncodeToString(sum[:6])
}

var clientForm = regexp.MustCompile(`^[0-9a-f]{12}-[0-9A-Za-z]{4,32}$`)

// checkClient refuses the id of an editor that is not the caller's. Codes: invalid_request.
func checkClient(caller penstock.Principal, client string) error {
	tag := Tag(caller.Tenant.ID, caller.Author())
	if !clientForm.MatchString(client) || !strings.HasPrefix(client, tag+"-") {
		return penstock.InvalidParam("client", "client must be %s- and 4 to 32 of a-z, A-Z and 0-9.", tag)
	}
	return nil
}
