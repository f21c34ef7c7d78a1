package coedit

import (
	"context"
	"strings"
	"time"

	"penstock"
)

// Comment is a comment on a range of a text, or a reply to one.
type Comment struct {
	ID penstock.ID
	Mark
	Version    int64  // of the text that the mark applies to, 0 if the text was removed
	Quote      string // the text that it was made on
	Parent     penstock.ID
	Body       string
	Author     penstock.Author
	CreatedAt  time.Time
	EditedAt   time.Time // zero if it never was
	ResolvedBy string    // "" while it is open
	ResolvedAt time.Time
}

// NewComment is a comment to be stored.
type NewComment struct {
	ID   penstock.ID
	Name string // of the prompt
	Mark
	Version int64       // of the text that the mark applies to
	Parent  penstock.ID // "" unless it is a reply, which has no mark
	Body    string
	Author  penstock.Author
	Stored  int64 // the tenant's quota of bytes, 0 for none
}

// CommentState is whether the subject of a comment is settled.
type CommentState string

// The states.
const (
	CommentOpen     CommentState = "open"
	CommentResolved CommentState = "resolved"
)

// CommentStates lists every state.
var CommentStates = []CommentState{CommentOpen, CommentResolved}

// CommentChange changes a comment.
type CommentChange struct {
	Name  string
	ID    penstock.ID
	Body  *string      // nil to keep it; only the author changes it
	State CommentState // "" to keep it
	Actor penstock.Author
}

// CommentRemoval removes a comment, with its replies.
type CommentRemoval struct {
	Name  string
	ID    penstock.ID
	Actor penstock.Author
}

// Comments is the storage of comments.
type Comments interface {
	// AddComment stores a comment. Codes: not_found (draft, text or parent), gone (the log does not reach back to the version),
	// invalid_request (the range), conflict (archived, too many), quota_exceeded.
	AddComment(ctx context.Context, tenant penstock.TenantID, n NewComment) (Comment, error)
	// ChangeComment changes a comment. Codes: not_found, conflict (another's body, archived).
	ChangeComment(ctx context.Context, tenant penstock.TenantID, c CommentChange) (Comment, error)
	// RemoveComment removes a comment of the actor. Codes: not_found, conflict (another's).
	RemoveComment(ctx context.Context, tenant penstock.TenantID, r CommentRemoval) error
}

func checkBody(text string) error {
	if strings.TrimSpace(text) == "" || len(text) > MaxCommentBytes {
		return penstock.InvalidParam("body", "body must have 1 to %d bytes.", MaxCommentBytes)
	}
	return nil
}

// AddComment comments on a range of a text, or replies to a comment. Codes: invalid_request, not_found, gone, conflict, quota_exceeded.
func (s *Service) AddComment(ctx context.Context, caller penstock.Principal, n NewComment) (Comment, error) {
	if err := checkBody(n.Body); err != nil {
		return Comment{}, err
	}
	if n.Parent == "" && (n.From < 0 || n.To < n.From || n.Version < 0) {
		return Comment{}, penstock.InvalidParam("from", "from and to must be positions in the text, in this order.")
	}
	n.ID, n.Author, n.Stored = s.ids.New(s.Clock()), caller.Author(), caller.Tenant.StoredBytes
	c, err := s.Comments.AddComment(ctx, caller.Tenant.ID, n)
	if err != nil {
		return c, err
	}
	s.Changed(caller.Tenant.ID, n.Name)
	return c, nil
}

// ChangeComment changes the body of an own comment, or resolves or reopens any comment. Codes: invalid_request, not_found, conflict.
func (s *Service) ChangeComment(ctx context.Context, caller penstock.Principal, change CommentChange) (Comment, error) {
	if change.Body != nil {
		if err := checkBody(*change.Body); err != nil {
			return Comment{}, err
		}
	}
	if change.State != "" && change.State != CommentOpen && change.State != CommentResolved {
		return Comment{}, penstock.InvalidParam("state", "state must be open or resolved.")
	}
	change.Actor = caller.Author()
	c, err := s.Comments.ChangeComment(ctx, caller.Tenant.ID, change)
	if err != nil {
		return c, err
	}
	s.Changed(caller.Tenant.ID, change.Name)
	return c, nil
}

// RemoveComment removes an own comment, with its replies. Codes: not_found, conflict.
func (s *Service) RemoveComment(ctx context.Context, caller penstock.Principal, r CommentRemoval) error {
	r.Actor = caller.Author()
	if err := s.Comments.RemoveComment(ctx, caller.Tenant.ID, r); err != nil {
		return err
	}
	s.Changed(caller.Tenant.ID, r.Name)
	return nil
}
