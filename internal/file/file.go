// Package file stores content that is too large for memory: files that callers upload, and result files that Penstock
// writes for them.
//
// It owns the format of content in a blob, the checks of a batch's lines, and how content is written and read. It
// does not own rows ([store.Files]) or blobs, and knows nothing of HTTP. Content is read once from front to back, in
// constant memory except for the table of custom ids (see [MaxLines]).
//
// # Format
//
// A blob is a sequence of chunks and an index, each sealed by the payload codec on its own:
//
//	chunk 0 | chunk 1 | … | chunk n−1 | index
//
// A chunk holds the next bytes of the content. It ends with every 500th line of the content, and when it has 1 MiB; a
// line may continue in the next chunk. The index has, for every chunk, its sealed length, its plain length, and how many
// lines begin in it. So a reader finds any line, or any byte, with the index and one chunk.
//
// Each part is sealed for its file and its place ("chunk 7", "index"): chunks that were altered, exchanged,
// repeated or taken from another file or tenant do not open. The index is written last and has the number of chunks,
// and the row has the offset of the index: content that was cut off does not open at all.
//
// # Life
//
// A blob is durable before the row that names it is written. A crash in between leaves an orphan, which the
// sweep removes; no reader ever sees a part of a file.
//
// A [Service] is safe for concurrent use; a [Reader] belongs to one goroutine at a time.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/payload"
	"penstock/internal/store"
)

const (
	// ChunkBytes is the content that ends a chunk.
	ChunkBytes = 1 << 20
	// ChunkLines is the number of lines whose multiples end a chunk.
	ChunkLines = 500
	// MaxLines bounds the lines of a batch file, and with them memory: eight bytes for each line, sixteen while the
	// table is half full.
	MaxLines = 5_000_000
	// MaxLineErrors is how many invalid lines are reported.
	MaxLineErrors = 100
)

// Codec seals and opens parts of content.
type Codec interface {
	Seal(owner payload.Owner, plain []byte) ([]byte, error)
	Open(owner payload.Owner, sealed []byte) ([]byte, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	Files store.Files
	Blobs blob.Store
	Codec Codec
	// Windows returns how long a tenant's files are kept, as configured now.
	Windows func(penstock.TenantID) penstock.Retention
	Clock   func() time.Time
}

// Service stores files.
type Service struct {
	Deps
	ids penstock.IDs
}

// New returns a service.
func New(d Deps) (*Service, error) {
	if d.Files == nil || d.Blobs == nil || d.Codec == nil || d.Windows == nil || d.Clock == nil {
		return nil, errors.New("a file service needs rows, blobs, a codec, windows and a clock")
	}
	return &Service{Deps: d}, nil
}

// Write stores content whose lines need no check: an artifact. As after Receive, Keep makes it a file.
func (k *Service) Write(ctx context.Context, tenant penstock.TenantID, content io.Reader) (store.File, error) {
	count := &lineCount{}
	f, err := k.write(ctx, tenant, content, count)
	f.Lines = count.lines
	return f, err
}

// lineSink takes every line as it passes: part is the next bytes of the line, and ends says whether they are the last.
type lineSink interface {
	line(part []byte, ends lineEnd) error
}

// lineEnd says whether a line ends.
type lineEnd bool

func (k *Service) write(ctx context.Context, tenant penstock.TenantID, content io.Reader, lines lineSink) (store.File, error) {
	return k.writeAs(ctx, store.File{ID: k.ids.New(k.Clock()), Tenant: tenant}, content, lines)
}

// writeAs writes the content of a file whose id is given.
func (k *Service) writeAs(ctx context.Context, f store.File, content io.Reader, lines lineSink) (store.File, error) {
	f.Blob = blob.NewName()
	s := newSealer(content, lines, sealing{k.Codec, f.Tenant, f.ID})
	size, err := k.Blobs.Put(ctx, f.Blob, s)
	if err != nil {
		if _, ours := errors.AsType[*penstock.Error](err); ours || ctx.Err() != nil {
			return store.File{}, err
		}
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return store.File{}, &penstock.Error{
				Code: penstock.CodeOverloaded, Message: "The server's disk is full and the file was not stored; try again when the operator has freed space.",
				RetryAfter: fullRetry, Err: fmt.Errorf("%w: %w", penstock.ErrDiskFull, err),
			}
		}
		return store.File{}, fmt.Errorf("storing a file: %w", err)
	}
	f.Bytes, f.BlobBytes, f.IndexAt = s.index.plainBytes(), size, s.index.sealedBytes()
	return f, nil
}

// fullRetry is the Retry-After while the disk is full.
const fullRetry = 30 * time.Second

// Keep makes received content a file. When Keep returns, the row is on stable storage.
func (k *Service) Keep(ctx context.Context, f store.File) (store.File, error) {
	kept, err := k.Files.CreateFile(ctx, f.Tenant, f)
	if err != nil {
		return kept, fmt.Errorf("keeping a file: %w", err)
	}
	kept.ExpiresAt = k.expiry(kept)
	return kept, nil
}

// File returns the metadata of a file. A file that has expired is not found, whether it was removed yet or not. Codes:
// not_found.
func (k *Service) File(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (store.File, error) {
	f, err := k.Files.File(ctx, tenant, id)
	if err != nil {
		return f, err
	}
	if f.ExpiresAt = k.expiry(f); k.Clock().After(f.ExpiresAt) {
		return store.File{}, penstock.Errorf(penstock.CodeNotFound, "%s has expired.", penstock.ViewFile.Format(id))
	}
	return f, nil
}

// List returns files that have not expired, and whether more follow.
func (k *Service) List(ctx context.Context, tenant penstock.TenantID, p store.FilePage) (files []store.File, more bool, err error) {
	limit := p.Limit
	p.Limit++
	found, err := k.Files.ListFiles(ctx, tenant, p)
	if err != nil {
		return nil, false, err
	}
	now := k.Clock()
	for _, f := range found[:min(limit, len(found))] {
		if f.ExpiresAt = k.expiry(f); !now.After(f.ExpiresAt) {
			files = append(files, f)
		}
	}
	return files, len(found) > limit, nil
}

// Delete removes a file. Codes: not_found.
func (k *Service) Delete(ctx context.Context, tenant penstock.TenantID, d store.FileDeletion) error {
	return k.Files.DeleteFile(ctx, tenant, d)
}

// expiry is the earlier of the file's own expiry and the end of the tenant's window.
func (k *Service) expiry(f store.File) time.Time {
	end := f.CreatedAt.Add(k.Windows(f.Tenant).Files)
	if !f.ExpiresAt.IsZero() && f.ExpiresAt.Before(end) {
		return f.ExpiresAt
	}
	return end
}

// Discard removes received content that became no file. If the removal fails, the sweep removes the orphan.
func (k *Service) Discard(ctx context.Context, f store.File) {
	if f.Blob != "" {
		_ = k.Blobs.Delete(context.WithoutCancel(ctx), f.Blob)
	}
}

// AtMost is content that is refused if it is longer than most. Codes: too_large.
func AtMost(content io.Reader, most int64) io.Reader { return &bounded{content, most, most} }

// bounded refuses content that is longer than allowed.
type bounded struct {
	r          io.Reader
	left, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, penstock.Errorf(penstock.CodeTooLarge, "The file is larger than %d bytes, the maximum; split it.", b.most)
	}
	return n, err
}

// lineCount only counts.
type lineCount struct{ lines int }

func (c *lineCount) line(_ []byte, ends lineEnd) error {
	if ends {
		c.lines++
	}
	return nil
}
