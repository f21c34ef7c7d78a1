// Package attachment puts the content of files into the bodies of inferences, in the place of the ids of the files.
//
// It owns the bound on files in one body, and the checks of each file: its tenant, its expiry, its purpose and its type. Package dialect/attach finds
// the ids and knows the form that each dialect has for content, and package file reads the files.
//
// The content is in the body before the call or the item is admitted. So prices, limits, filters, caches and every target see the
// request as it is, and accepted work does not need the file any more.
//
// A Service is safe for concurrent use.
package attachment

import (
	"context"
	"fmt"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/attach"
	"penstock/internal/dialect/catalog"
	"penstock/internal/file"
	"penstock/internal/store"
)

// MaxFiles bounds the parts of one body that name files.
const MaxFiles = 100

// Files opens files.
type Files interface {
	// Open opens a file. Codes: not_found.
	Open(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (*file.Reader, error)
	// Reopen opens a file of accepted work, though it may have expired meanwhile. Codes: not_found.
	Reopen(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (*file.Reader, error)
}

// Memory counts the bytes of bodies in memory.
type Memory interface {
	// Take counts bytes before they are allocated. Codes: rate_limited, overloaded.
	Take(n int64) error
}

// Service reads files for bodies.
type Service struct{ files Files }

// New returns a service.
func New(files Files) *Service { return &Service{files} }

// Order is a body that may name files.
type Order struct {
	Tenant   penstock.TenantID
	Endpoint penstock.Endpoint
	MaxBytes int64  // of the body with the files
	Memory   Memory // nil for no bounds
	Accepted bool   // the work was accepted, and its files are held for it
}

// Attach returns an inference with the content of the files that it names. An inference that names no files is returned unchanged. Codes:
// not_found, invalid_request, too_large, rate_limited, overloaded.
func (s *Service) Attach(ctx context.Context, o Order, inf dialect.Inference) (dialect.Inference, error) {
	if !inf.Object.HasFileID() {
		return inf, nil
	}
	text, files, err := s.Fill(ctx, o, inf.Body())
	if err != nil || len(files) == 0 {
		return inf, err
	}
	filled, err := catalog.Read(o.Endpoint, text)
	if err != nil {
		return inf, err
	}
	filled.Keep(&inf)
	filled.Files = files
	return filled, nil
}

// Fill returns a body with the content of the files that it names, and says which they are. The body need not be a complete request. One
// that names no files is returned unchanged. Codes: not_found, invalid_request, too_large, rate_limited, overloaded.
func (s *Service) Fill(ctx context.Context, o Order, text []byte) ([]byte, []penstock.AttachedFile, error) {
	references := attach.Find(text)
	if len(references) == 0 {
		return text, nil, nil
	}
	if len(references) > MaxFiles {
		return nil, nil, penstock.InvalidParam(references[MaxFiles].Path, "%s: a request names at most %d files.", references[MaxFiles].Path, MaxFiles)
	}
	parts, size := make([]part, len(references)), int64(len(text))
	files := make([]penstock.AttachedFile, len(references))
	for i, r := range references {
		var err error
		if parts[i], err = s.open(ctx, o, text, r); err != nil {
			return nil, nil, err
		}
		if size += parts[i].Length(); size > o.MaxBytes {
			e := penstock.Errorf(penstock.CodeTooLarge, "%s: with the files that it names, the body is larger than %d bytes, the maximum (limits.max_body_bytes).", r.Path, o.MaxBytes)
			e.Param = r.Path
			return nil, nil, e
		}
		f := parts[i].reader.File
		files[i] = penstock.AttachedFile{Path: r.Path, File: r.File, MediaType: f.MediaType, Bytes: f.Bytes, SHA256: f.SHA256}
	}
	if o.Memory != nil {
		if err := o.Memory.Take(size); err != nil {
			return nil, nil, err
		}
	}
	filled, err := fill(ctx, text, parts, size)
	return filled, files, err
}

// part is a part with the content of a file, which is not read yet.
type part struct {
	attach.Part
	reader *file.Reader
}

// open finds the file of a reference and checks it. An error names the path of the id.
func (s *Service) open(ctx context.Context, o Order, text []byte, r attach.Reference) (p part, err error) {
	open := s.files.Open
	if o.Accepted {
		open = s.files.Reopen
	}
	if p.reader, err = open(ctx, o.Tenant, r.File); err != nil {
		e := *penstock.AsError(err)
		e.Param, e.Message = r.Path, r.Path+": "+e.Message
		if e.Code == penstock.CodeNotFound {
			e.Message += advice(o.Endpoint)
		}
		return p, &e
	}
	f := p.reader.File
	if !f.Purpose.InRequests() {
		return p, penstock.InvalidParam(r.Path, "%s: %s has the purpose %s; requests name files with the purpose %s or %s.",
			r.Path, penstock.ViewFile.Format(f.ID), f.Purpose, store.PurposeUserData, store.PurposeVision)
	}
	p.Part, err = attach.New(text, r, attach.Content{MediaType: f.MediaType, Name: f.Name, Bytes: f.Bytes})
	return p, err
}

// advice is what to do about a file that is not there. The body of a response has the turns before it, which keep the ids of files.
func advice(e penstock.Endpoint) string {
	const again = " It may have been deleted, or have expired: upload it again, and name the new id."
	if e == penstock.EndpointResponses {
		return again + " If an earlier turn names it, begin a new conversation with the new id."
	}
	return again
}

// fill writes a body with the content of its files. All of it is allocated at once.
func fill(ctx context.Context, text []byte, parts []part, size int64) ([]byte, error) {
	filled, done := make([]byte, 0, size), 0
	for _, p := range parts {
		filled = append(filled, text[done:p.At.Start]...)
		var err error
		if filled, err = p.Append(filled, p.reader.Content(ctx, 0)); err != nil {
			return nil, fmt.Errorf("reading a file for a request: %w", err)
		}
		done = p.At.End
	}
	return append(filled, text[done:]...), nil
}
