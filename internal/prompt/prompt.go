// Package prompt is the registry of prompts: named templates with immutable versions, and labels that name versions.
//
// A prompt belongs to a tenant. Its name has folders, with "/" between them, and its kind never changes. It has one draft, which
// is changed by compare-and-set, and versions, which never change. A label names one version and is moved by compare-and-set, with
// a history. The label latest is automatic: it names the newest version.
//
// The package owns the rules of the registry: names, bounds, numbers of versions, references between prompts, protected labels,
// archiving, and the cache by which admission resolves names. Package content owns what a version contains and how it is rendered.
// Package promptsql stores.
//
// Invariants:
//   - A version never changes, and its number is never used again. A reference inside a version names an exact version, so what a
//     version renders never changes either, and references cannot form a cycle.
//   - A version that a label, another version or an unfinished job names cannot be deleted. Prompts are archived, never deleted.
//   - Every change of what a label names is compare-and-set, audited, and in the history.
//   - Another tenant's prompt is not_found.
//
// A Service and a Resolver are safe for concurrent use.
package prompt

import (
	"context"
	"time"

	"penstock"
	"penstock/internal/prompt/content"
)

// Bounds of the registry. Package content has those of one version.
const (
	MaxPrompts        = 10_000 // of a tenant, archived ones included
	MaxVersions       = 10_000 // of a prompt, deleted ones included
	MaxLabels         = 64     // of a prompt
	MaxOpenRequests   = 32     // of a prompt
	MaxProtections    = 64     // of a tenant
	MaxMessageBytes   = 2048   // of the message of a version, and of reasons
	MaxProtectedPaths = 64     // of a protection
	MaxListedUses     = 200
	MaxCountedUses    = 1000 // jobs, and requests
	MaxActorNameBytes = 256
	MaxDraftBytes     = 2 * content.MaxBytes // a draft may be too long to be saved, so that its author can shorten it
)

const (
	// ViewPrompt is the prefix of the ids of prompts, as OpenAI's API has it.
	ViewPrompt penstock.View = "pmpt"
	// ViewRequest is the prefix of the ids of requests to move a label.
	ViewRequest penstock.View = "lreq"
)

// The audited actions.
const (
	ActionCreate           = "prompt.create"
	ActionArchive          = "prompt.archive"
	ActionRestore          = "prompt.restore"
	ActionAddAlias         = "prompt.alias.add"
	ActionSaveVersion      = "prompt.version.create"
	ActionDeleteVersion    = "prompt.version.delete"
	ActionMoveLabel        = "prompt.label.move"
	ActionRemoveLabel      = "prompt.label.remove"
	ActionRequestLabel     = "prompt.label.request"
	ActionApproveLabel     = "prompt.label.approve"
	ActionRejectLabel      = "prompt.label.reject"
	ActionSetProtection    = "prompt.protection.set"
	ActionRemoveProtection = "prompt.protection.remove"
)

// Prompt is a prompt without its contents.
type Prompt struct {
	ID         penstock.ID
	Tenant     penstock.TenantID
	Name       string
	Kind       content.Kind
	Latest     int64 // the newest version that exists, 0 for none
	Versions   int64 // how many exist
	Draft      int64 // the revision of the draft, 0 for none
	Labels     []Label
	CreatedBy  string
	CreatedAt  time.Time
	UpdatedAt  time.Time // of the last version or the last move of a label
	ArchivedAt time.Time // zero while it is in use
}

// Version is an immutable state of a prompt.
type Version struct {
	Tenant     penstock.TenantID
	Name       string // of the prompt
	Kind       content.Kind
	N          int64
	SHA256     string
	Parent     int64 // the version that it was made from, 0 for none
	Author     penstock.Author
	Message    string
	Content    content.Content
	References []content.Resolved
	CreatedAt  time.Time
	DeletedAt  time.Time // zero unless its content was removed
}

// Draft is the working copy of a prompt. Its templates may have mistakes.
type Draft struct {
	Revision  int64
	Base      int64 // the version that it was made from, 0 for none
	Content   content.Content
	UpdatedBy string
	UpdatedAt time.Time
}

// Label names a version.
type Label struct {
	Label     string
	Version   int64
	Revision  int64 // grows with every move, for conditional changes; 0 for latest
	UpdatedBy string
	UpdatedAt time.Time
}

// Move is an entry in the history of labels.
type Move struct {
	Seq        int64
	Label      string
	From, To   int64 // versions; 0 for none
	By         string
	ApprovedBy string // "" unless an approval moved it
	Reason     string
	At         time.Time
}

// Page selects prompts, in the order of their names.
type Page struct {
	Prefix   string // of the names, "" for all
	Folder   *string
	After    string // the name or folder behind which the page begins
	Archived bool   // also those that are archived
	Limit    int
}

// Listing is a page of prompts. With Page.Folder it has the prompts right inside the folder, and the folders inside it.
type Listing struct {
	Prompts []Prompt
	Folders []string // each ends with "/"
	Next    string   // the After of the next page, "" after the last
}

// Archival archives or restores a prompt.
type Archival struct {
	Name  string
	State ArchiveState
	Actor penstock.Author
}

// ArchiveState is whether a prompt is in use.
type ArchiveState string

// The states.
const (
	Archived ArchiveState = "archived"
	InUse    ArchiveState = "in_use"
)

// NewDraft replaces a draft.
type NewDraft struct {
	ID         penstock.ID // of the prompt, if it does not exist yet
	Name       string
	Content    content.Content
	Base       int64
	IfRevision int64 // that the draft must have, 0 for any
	IfAbsent   bool  // there must be no draft
	Actor      penstock.Author
	Stored     int64 // the tenant's quota of bytes, 0 for none
}

// DraftRemoval discards a draft.
type DraftRemoval struct {
	Name       string
	IfRevision int64
}

// NewVersion is a version to be saved.
type NewVersion struct {
	ID         penstock.ID // of the prompt, if it does not exist yet
	Name       string
	Content    content.Content
	SHA256     string
	References []content.Resolved
	Parent     int64 // 0 for the newest version
	Number     int64 // that it gets if all numbers so far are lower; 0 for the next
	Author     penstock.Author
	Message    string
	Stored     int64 // the tenant's quota of bytes, 0 for none
}

// VersionKey names a version of a prompt.
type VersionKey struct {
	Name string
	N    int64
}

// VersionPage selects versions of a prompt, newest first.
type VersionPage struct {
	Name   string
	Before int64 // 0 for the first page
	Limit  int
}

// VersionRemoval removes the content of a version.
type VersionRemoval struct {
	VersionKey
	Actor penstock.Author
}

// LabelMove moves a label, or removes it.
type LabelMove struct {
	Name       string
	Label      string
	Version    int64  // 0 removes the label
	IfRevision int64  // that the label must have, 0 for any
	Expect     *int64 // the version that the label must name, 0 for none; nil for any
	Asked      Stamp  // of the label's protection when it was asked about the move
	Reason     string
	Actor      penstock.Author
}

// HistoryPage selects moves of the labels of a prompt, newest first.
type HistoryPage struct {
	Name   string
	Label  string // "" for all
	Before int64  // 0 for the first page
	Limit  int
}

// Uses are the objects that keep versions of a prompt from being deleted.
type Uses struct {
	Labels     []Label
	Dependants []Dependant // at most MaxListedUses
	More       bool        // there are more dependants
	// Jobs and requests that name it, each counted up to MaxCountedUses. Open jobs have not finished, and keep a version from being deleted.
	OpenJobs, Jobs, Requests int64
}

// Dependant is a version that includes a version of another prompt.
type Dependant struct {
	Name    string // of the prompt that includes
	Version int64
	Of      int64 // the version that is included
}

// Prompts is the storage of prompts and their drafts.
type Prompts interface {
	// Prompt finds a prompt, with its labels. Codes: not_found.
	Prompt(ctx context.Context, tenant penstock.TenantID, name string) (Prompt, error)
	// List returns a page of prompts, with their labels.
	List(ctx context.Context, tenant penstock.TenantID, p Page) (Listing, error)
	// Archive archives or restores a prompt; archiving an archived prompt changes nothing. Codes: not_found.
	Archive(ctx context.Context, tenant penstock.TenantID, a Archival) (Prompt, error)
}

// Drafts is the storage of drafts.
type Drafts interface {
	// Draft finds the draft of a prompt. Codes: not_found.
	Draft(ctx context.Context, tenant penstock.TenantID, name string) (Draft, error)
	// PutDraft replaces the draft. It creates the prompt if no prompt has this name. Codes: conflict (another revision, another
	// kind, archived, too many prompts), quota_exceeded.
	PutDraft(ctx context.Context, tenant penstock.TenantID, d NewDraft) (Draft, error)
	// DeleteDraft discards the draft. Codes: not_found, conflict.
	DeleteDraft(ctx context.Context, tenant penstock.TenantID, r DraftRemoval) error
}

// Versions is the storage of versions.
type Versions interface {
	// SaveVersion adds a version with the next number, or returns the version with the same hash and false. It creates the prompt
	// if no prompt has this name. Codes: conflict (another kind, archived, too many), invalid_request (parent or a reference
	// does not exist), quota_exceeded.
	SaveVersion(ctx context.Context, tenant penstock.TenantID, v NewVersion) (Version, bool, error)
	// Version finds a version. Codes: not_found, gone (its content was removed).
	Version(ctx context.Context, tenant penstock.TenantID, k VersionKey) (Version, error)
	// ListVersions returns versions without contents, deleted ones included. Codes: not_found.
	ListVersions(ctx context.Context, tenant penstock.TenantID, p VersionPage) ([]Version, error)
	// DeleteVersion removes the content of a version. Its number, hash and author stay. Codes: not_found, gone, conflict (a label, a
	// version or an unfinished job names it).
	DeleteVersion(ctx context.Context, tenant penstock.TenantID, r VersionRemoval) error
	// Uses finds what names a version; with N 0, any version of the prompt. Codes: not_found.
	Uses(ctx context.Context, tenant penstock.TenantID, k VersionKey) (Uses, error)
}

// Labels is the storage of labels.
type Labels interface {
	// MoveLabel moves or removes a label and adds to the history. A move to the version that the label names changes nothing.
	// Codes: not_found (prompt, version, or a label to remove), gone, conflict (another version or revision, another protection than the
	// one that was asked, archived, too many).
	MoveLabel(ctx context.Context, tenant penstock.TenantID, m LabelMove) (Label, error)
	// History returns moves. Codes: not_found.
	History(ctx context.Context, tenant penstock.TenantID, p HistoryPage) ([]Move, error)
}

// Deps are what a Service works with.
type Deps struct {
	Prompts     Prompts
	Drafts      Drafts
	Versions    Versions
	Labels      Labels
	Requests    Requests
	Protections Protections
	Imports     Imports
	Resolver    *Resolver
	// Gate decides about moves of protected labels; nil for no gate.
	Gate Gate
	// Published is called after a change whose events may have receivers.
	Published func()
	// DraftChanged is called after a draft was replaced or discarded; nil for nobody who edits drafts together.
	DraftChanged func(tenant penstock.TenantID, name string)
	Clock        func() time.Time
}

// Service is the registry.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) *Service { return &Service{Deps: d} }

// Prompt finds a prompt. Codes: not_found.
func (s *Service) Prompt(ctx context.Context, tenant penstock.TenantID, name string) (Prompt, error) {
	return s.Prompts.Prompt(ctx, tenant, name)
}

// List returns a page of prompts.
func (s *Service) List(ctx context.Context, tenant penstock.TenantID, p Page) (Listing, error) {
	return s.Prompts.List(ctx, tenant, p)
}

// Archive takes a prompt out of use: its labels resolve no longer, and it cannot be changed. Its versions stay for those that
// named them. Codes: not_found.
func (s *Service) Archive(ctx context.Context, caller penstock.Principal, name string) (Prompt, error) {
	return s.archive(ctx, caller, Archival{Name: name, State: Archived})
}

// Restore undoes Archive. Codes: not_found.
func (s *Service) Restore(ctx context.Context, caller penstock.Principal, name string) (Prompt, error) {
	return s.archive(ctx, caller, Archival{Name: name, State: InUse})
}

func (s *Service) archive(ctx context.Context, caller penstock.Principal, a Archival) (Prompt, error) {
	a.Actor = caller.Author()
	p, err := s.Prompts.Archive(ctx, caller.Tenant.ID, a)
	if err != nil {
		return p, err
	}
	return p, s.changed(ctx, caller.Tenant.ID, a.Name)
}

// changed makes every process read the prompt again, this one before it returns.
func (s *Service) changed(ctx context.Context, tenant penstock.TenantID, name string) error {
	s.Published()
	return s.Resolver.changed(ctx, tenant, name)
}
