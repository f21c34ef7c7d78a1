// Package upload receives files in parts: an upload is created, gets parts, and is completed to a file.
//
// It owns the bounds and the states of uploads. Package file stores the content of parts and of the file, and checks the file; the
// tables are package uploadsql's.
//
// Invariants:
//   - A part is durable before its id is returned, and counts towards the tenant's quota until the upload ends.
//   - An upload becomes at most one file. The id of the file is chosen when the upload is created, so a completion that is repeated
//     after a crash finds the file of the first.
//   - An upload ends: it is completed or cancelled, or it expires after [Life]. The sweep then removes its parts.
//
// A Service is safe for concurrent use.
package upload

import (
	"context"
	"errors"
	"io"
	"time"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/store"
)

const (
	// Life is how long an upload can be completed.
	Life = time.Hour
	// MaxPartBytes and MaxParts bound the parts of an upload.
	MaxPartBytes, MaxParts = 64 << 20, 10_000
	// MaxPending is how many uploads of a tenant may be pending.
	MaxPending = 100

	// View and ViewPart are the prefixes of the ids.
	View     penstock.View = "upload"
	ViewPart penstock.View = "part"
)

// Status is the state of an upload.
type Status string

// The states. An upload that was neither completed nor cancelled in time is expired.
const (
	Pending   Status = "pending"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Expired   Status = "expired"
)

// Upload is a file that is uploaded in parts.
type Upload struct {
	ID        penstock.ID
	Tenant    penstock.TenantID
	Key       string
	File      penstock.ID // that it becomes
	Name      string
	Purpose   store.Purpose
	Bytes     int64         // of the file
	FileLife  time.Duration // how long the file is kept, 0 for as long as files are
	Status    Status
	Chosen    string // names the parts that a completion has begun with, "" before the first
	Parts     int64
	PartBytes int64 // of all parts, those that are not used included
	CreatedAt time.Time
	ExpiresAt time.Time
}

// MaxBytes bounds the bytes of all parts of an upload together. The bound is above the size of the file, because a client that gets
// no answer sends a part again. A client that tries each part three times stays within it.
func (u Upload) MaxBytes() int64 { return 3 * u.Bytes }

// Part is a part of an upload. Its content has the form of a file's.
type Part struct {
	Upload    penstock.ID
	Content   store.File // ID, Tenant, Bytes, Blob, BlobBytes and IndexAt
	CreatedAt time.Time
	// StoredLimit is the tenant's quota, 0 for none. It is not kept.
	StoredLimit int64
}

// Uploads is the storage of uploads.
type Uploads interface {
	// CreateUpload adds an upload. Codes: rate_limited (too many are pending).
	CreateUpload(ctx context.Context, u Upload) (Upload, error)
	// Upload finds an upload. Codes: not_found.
	Upload(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Upload, error)
	// EndUpload completes or cancels a pending upload, and returns its former parts, for their content to be removed. A completion
	// that began in time may end when the upload has expired. Codes: not_found, conflict (it has ended).
	EndUpload(ctx context.Context, tenant penstock.TenantID, id penstock.ID, as Status) (Upload, []Part, error)
	// PurgeUploads removes the parts of uploads that have expired, and the uploads that expired longer than p.Kept ago. It returns
	// the removed parts, for their content to be removed.
	PurgeUploads(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, []Part, error)
}

// Parts is the storage of the parts of uploads.
type Parts interface {
	// AddPart adds a part to a pending upload. Codes: not_found, conflict (it has ended), too_large, quota_exceeded.
	AddPart(ctx context.Context, tenant penstock.TenantID, p Part) (Part, error)
	// Parts are the parts of an upload, in the order in which they were added.
	Parts(ctx context.Context, tenant penstock.TenantID, id penstock.ID) ([]Part, error)
	// Choose notes which parts a completion begins with. Codes: not_found, conflict (it has ended, or another choice was made).
	Choose(ctx context.Context, tenant penstock.TenantID, id penstock.ID, choice string) error
	// Release takes a choice back, unless several completions made it: one of them may still write the file.
	Release(ctx context.Context, tenant penstock.TenantID, id penstock.ID, choice string) error
}

// Deps are the dependencies of a Service.
type Deps struct {
	Uploads Uploads
	Parts   Parts
	Files   *file.Service
	Clock   func() time.Time
}

// Service receives files in parts.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Uploads == nil || d.Parts == nil || d.Files == nil || d.Clock == nil {
		return nil, errors.New("an upload service needs uploads, parts, files and a clock")
	}
	return &Service{Deps: d}, nil
}

// Create adds an upload. The limits are those of its file. Codes: too_large, rate_limited.
func (s *Service) Create(ctx context.Context, u Upload, l file.Limits) (Upload, error) {
	most := l.MaxBytes
	if u.Purpose.InRequests() {
		most = min(most, l.MaxMediaBytes)
	}
	switch {
	case u.Bytes < 1:
		return u, penstock.InvalidParam("bytes", "bytes must be the size of the file, at least 1.")
	case u.Bytes > most:
		return u, penstock.Errorf(penstock.CodeTooLarge, "bytes is %d; a file with the purpose %s has at most %d bytes.", u.Bytes, u.Purpose, most)
	}
	now := s.Clock()
	u.ID, u.File, u.Status = s.ids.New(now), s.ids.New(now), Pending
	return s.Uploads.CreateUpload(ctx, u)
}

// Upload finds an upload. Codes: not_found.
func (s *Service) Upload(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Upload, error) {
	return s.Uploads.Upload(ctx, tenant, id)
}

// Add stores a part. Codes: not_found, conflict, too_large, quota_exceeded, invalid_request.
func (s *Service) Add(ctx context.Context, u Upload, content io.Reader, limit int64) (Part, error) {
	if u.Status != Pending {
		return Part{}, Ended(u)
	}
	stored, err := s.Files.Write(ctx, u.Tenant, file.AtMost(content, MaxPartBytes))
	if err != nil {
		return Part{}, err
	}
	if stored.Bytes == 0 {
		s.Files.Discard(ctx, stored)
		return Part{}, penstock.InvalidParam("data", "data is empty; a part has from 1 to %d bytes.", MaxPartBytes)
	}
	p, err := s.Parts.AddPart(ctx, u.Tenant, Part{Upload: u.ID, Content: stored, StoredLimit: limit})
	if err != nil && penstock.ErrorCode(err) != penstock.CodeInternal { // after an internal error the row may be there
		s.Files.Discard(ctx, stored)
	}
	return p, err
}

// Cancel ends an upload without a file. A repeated call gets the same answer. Codes: not_found, conflict (it is completed, or has
// expired).
func (s *Service) Cancel(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Upload, error) {
	u, parts, err := s.Uploads.EndUpload(ctx, tenant, id, Cancelled)
	s.discard(ctx, parts)
	if penstock.ErrorCode(err) == penstock.CodeConflict {
		if now, readErr := s.Uploads.Upload(ctx, tenant, id); readErr == nil && now.Status == Cancelled {
			return now, nil
		}
	}
	return u, err
}

// Purge ends uploads that have expired, and forgets those that ended long ago.
func (s *Service) Purge(ctx context.Context, tenant penstock.TenantID, p store.Purge) (store.Purged, error) {
	done, parts, err := s.Uploads.PurgeUploads(ctx, tenant, p)
	s.discard(ctx, parts)
	return done, err
}

// discard removes the content of parts whose rows are gone. The sweep of blobs removes content that a crash leaves.
func (s *Service) discard(ctx context.Context, parts []Part) {
	for _, p := range parts {
		s.Files.Discard(ctx, p.Content)
	}
}

// Ended is the error for a call that needs a pending upload.
func Ended(u Upload) error {
	return penstock.Errorf(penstock.CodeConflict, "%s is %s; create a new upload.", View.Format(u.ID), u.Status)
}
