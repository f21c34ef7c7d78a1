package upload

import (
	"context"
	"crypto/md5" // the checksum that OpenAI's clients send; it is against transmission errors only
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"penstock"
	"penstock/internal/file"
	"penstock/internal/store"
)

// Completion makes a file of the parts of an upload.
type Completion struct {
	Upload penstock.ID
	Parts  []penstock.ID // in the order of the file
	MD5    string        // of the file, in hex; "" for no check
	Limits file.Limits
}

// Complete makes a file of an upload. A repeated call gets the same file. Codes: not_found, conflict, invalid_request, too_large,
// overloaded.
func (s *Service) Complete(ctx context.Context, tenant penstock.TenantID, c Completion) (Upload, store.File, error) {
	u, err := s.Uploads.Upload(ctx, tenant, c.Upload)
	if err != nil {
		return u, store.File{}, err
	}
	if u.Status != Pending {
		return s.ended(ctx, u, c)
	}
	parts, err := s.choose(ctx, u, c)
	if err == nil {
		err = s.Parts.Choose(ctx, tenant, u.ID, choice(c.Parts))
	}
	if err != nil {
		return s.failed(ctx, u, c, err)
	}
	f, err := s.build(ctx, u, c, parts)
	if err != nil {
		// After an internal error the file may be there, unless it was the content of a part that could not be read.
		if penstock.ErrorCode(err) != penstock.CodeInternal || errors.Is(err, file.ErrLost) {
			_ = s.Parts.Release(context.WithoutCancel(ctx), tenant, u.ID, choice(c.Parts))
		}
		return s.failed(ctx, u, c, err)
	}
	return s.end(ctx, u, c, f)
}

// end ends an upload whose file is there.
func (s *Service) end(ctx context.Context, u Upload, c Completion, f store.File) (Upload, store.File, error) {
	ended, former, err := s.Uploads.EndUpload(ctx, u.Tenant, u.ID, Completed)
	s.discard(ctx, former)
	if penstock.ErrorCode(err) != penstock.CodeConflict {
		return ended, f, err
	}
	now, file, err := s.failed(ctx, u, c, err)
	if now.Status == Cancelled { // while the file was written: the answer to the cancel said that the upload becomes no file
		_ = s.Files.Delete(context.WithoutCancel(ctx), u.Tenant, store.FileDeletion{File: f.ID, Actor: u.Key})
	}
	return now, file, err
}

// failed is the answer of a completion that failed. If another call has ended the upload meanwhile, and thereby removed the parts,
// that counts.
func (s *Service) failed(ctx context.Context, u Upload, c Completion, cause error) (Upload, store.File, error) {
	now, err := s.Uploads.Upload(ctx, u.Tenant, u.ID)
	if penstock.ErrorCode(err) == penstock.CodeNotFound { // it was purged, with its parts
		cause = err
	}
	if err != nil || now.Status == Pending {
		return u, store.File{}, cause
	}
	return s.ended(ctx, now, c)
}

// ended is the answer of a completion to an upload that has ended: the file, if it was completed with the same parts. Codes: conflict,
// not_found (the file was deleted).
func (s *Service) ended(ctx context.Context, u Upload, c Completion) (Upload, store.File, error) {
	if u.Status != Completed {
		return u, store.File{}, Ended(u)
	}
	if u.Chosen != choice(c.Parts) {
		return u, store.File{}, penstock.Errorf(penstock.CodeConflict, "%s was completed with other parts; create a new upload.", View.Format(u.ID))
	}
	f, err := s.Files.File(ctx, u.Tenant, u.File)
	return u, f, err
}

// choice is the hash of an ordered list of parts.
func choice(parts []penstock.ID) string {
	h := sha256.New()
	for _, id := range parts {
		fmt.Fprintf(h, "%s\n", id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// choose finds the parts of a completion. Codes: invalid_request.
func (s *Service) choose(ctx context.Context, u Upload, c Completion) ([]Part, error) {
	all, err := s.Parts.Parts(ctx, u.Tenant, u.ID)
	if err != nil {
		return nil, err
	}
	byID, taken := make(map[penstock.ID]Part, len(all)), make(map[penstock.ID]int, len(c.Parts))
	for _, p := range all {
		byID[p.Content.ID] = p
	}
	var chosen []Part
	size := int64(0)
	for i, id := range c.Parts {
		param := fmt.Sprintf("part_ids[%d]", i)
		p, known := byID[id]
		if !known {
			return nil, penstock.InvalidParam(param, "%s: %s is not a part of %s.", param, ViewPart.Format(id), View.Format(u.ID))
		}
		if before, twice := taken[id]; twice {
			return nil, penstock.InvalidParam(param, "%s: %s is already part_ids[%d].", param, ViewPart.Format(id), before)
		}
		taken[id] = i
		chosen, size = append(chosen, p), size+p.Content.Bytes
	}
	if size != u.Bytes {
		return nil, penstock.InvalidParam("part_ids", "The parts have %d bytes together, but %s was created with bytes %d.", size, View.Format(u.ID), u.Bytes)
	}
	return chosen, nil
}

// build writes the file, unless an earlier call has written it.
func (s *Service) build(ctx context.Context, u Upload, c Completion, parts []Part) (store.File, error) {
	f, err := s.Files.File(ctx, u.Tenant, u.File)
	if penstock.ErrorCode(err) != penstock.CodeNotFound {
		return f, err
	}
	sum := md5.New()
	stored := make([]store.File, len(parts))
	for i := range parts {
		stored[i] = parts[i].Content
	}
	content := io.TeeReader(s.Files.Joined(ctx, stored), sum)
	r, err := s.Files.Take(ctx, file.Arrival{Tenant: u.Tenant, ID: u.File, Purpose: u.Purpose, Content: content}, c.Limits)
	if err != nil {
		return f, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); c.MD5 != "" && !strings.EqualFold(got, c.MD5) {
		s.Files.Discard(ctx, r.File)
		return f, penstock.InvalidParam("md5", "The parts have the MD5 checksum %s together, not the given one; send the damaged part again.", got)
	}
	r.File.Key, r.File.Name = u.Key, u.Name
	r.File.Life = u.FileLife
	if f, err = r.For(ctx, u.Purpose); err != nil {
		return f, err
	}
	// The parts were counted towards the quota when they came, so the file is not counted once more before they go.
	kept, err := s.Files.Keep(ctx, f)
	code := penstock.ErrorCode(err)
	if err != nil && code != penstock.CodeInternal { // after an internal error the row may be there
		s.Files.Discard(ctx, f)
	}
	if code == penstock.CodeConflict { // another call with the same parts was faster
		return s.Files.File(ctx, u.Tenant, u.File)
	}
	return kept, err
}
