package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/store"
)

// Reader reads one file, from any place. It keeps the chunk that it read last, so that a caller who reads on later, or
// begins again a few lines before, does not read the chunk from the blob a second time.
type Reader struct {
	File  store.File
	blobs blob.Store
	index *chunkIndex
	last  readChunk
	sealing
}

// readChunk is the content of a chunk. The lines that were returned are parts of it, so it is never changed.
type readChunk struct {
	n    int
	text []byte // nil before the first chunk was read
}

// ErrLost means that the content of a file is not in the blob store, though the file's row was read a moment ago: the file was
// deleted since, or its content is lost.
var ErrLost = errors.New("its content is not in the blob store, which all processes of an installation share")

// Open finds a file and reads its index. Codes: not_found.
func (k *Service) Open(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (*Reader, error) {
	f, err := k.File(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	r, err := k.open(ctx, f)
	if !errors.Is(err, ErrLost) {
		return r, err
	}
	if _, gone := k.Files.File(ctx, tenant, id); gone != nil {
		return nil, err // it was deleted meanwhile
	}
	// A caller who is told that there is no such file would look for a fault of its own.
	return nil, penstock.Internal(fmt.Errorf("%s: %w", penstock.ViewFile.Format(id), err))
}

// Reopen opens a file for a job that was accepted before the file expired: the file is kept as long as such a job needs
// it. Codes: not_found, with [ErrLost] in the chain if the row is there and the content is not.
func (k *Service) Reopen(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (*Reader, error) {
	f, err := k.Files.File(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return k.open(ctx, f)
}

// Joined is content that [Service.Write] stored in several pieces, one behind the other. Each is opened when the piece before it
// has ended. A piece whose content is lost is an internal error.
func (k *Service) Joined(ctx context.Context, pieces []store.File) io.Reader {
	var piece io.Reader
	return readerFunc(func(p []byte) (int, error) {
		for {
			if piece == nil {
				if len(pieces) == 0 {
					return 0, io.EOF
				}
				r, err := k.open(ctx, pieces[0])
				if err != nil {
					return 0, lostPiece(err)
				}
				piece, pieces = r.Content(ctx, 0), pieces[1:]
			}
			n, err := piece.Read(p)
			if errors.Is(err, io.EOF) {
				piece, err = nil, nil
			}
			if n > 0 || err != nil {
				return n, lostPiece(err)
			}
		}
	})
}

// lostPiece makes an internal error of lost content: the caller names pieces by other ids, and did nothing wrong.
func lostPiece(err error) error {
	if errors.Is(err, ErrLost) {
		return penstock.Internal(err)
	}
	return err
}

func (k *Service) open(ctx context.Context, f store.File) (*Reader, error) {
	r := &Reader{File: f, blobs: k.Blobs, sealing: sealing{k.Codec, f.Tenant, f.ID}}
	text, err := r.part(ctx, indexPart, blob.Range{Offset: f.IndexAt, Length: f.BlobBytes - f.IndexAt})
	if err != nil {
		return nil, err
	}
	if r.index, err = decodeIndex(text); err == nil && r.index.plainBytes() != f.Bytes {
		err = errBadIndex
	}
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("reading the index of %s: %w", penstock.ViewFile.Format(f.ID), err))
	}
	return r, nil
}

// part reads and opens one part of the blob.
func (r *Reader) part(ctx context.Context, name string, at blob.Range) ([]byte, error) {
	sealed, err := r.sealed(ctx, at)
	var plain []byte
	if err == nil {
		plain, err = r.codec.Open(r.owner(name), sealed)
	}
	if errors.Is(err, blob.ErrNotFound) {
		return nil, &penstock.Error{Code: penstock.CodeNotFound, Message: "There is no " + penstock.ViewFile.Format(r.file) + ".", Err: fmt.Errorf("%w: %w", ErrLost, err)}
	}
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("reading %s of %s: %w", name, penstock.ViewFile.Format(r.file), err))
	}
	return plain, nil
}

func (r *Reader) sealed(ctx context.Context, at blob.Range) ([]byte, error) {
	body, err := r.blobs.OpenRange(ctx, r.File.Blob, at)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, at.Length)
	_, err = io.ReadFull(body, sealed)
	return sealed, errors.Join(err, body.Close())
}

// chunk returns the content of the n-th chunk.
func (r *Reader) chunk(ctx context.Context, n int) ([]byte, error) {
	if r.last.text != nil && r.last.n == n {
		return r.last.text, nil
	}
	text, err := r.part(ctx, chunkPart(n), blob.Range{Offset: r.index.starts[n].sealed, Length: int64(r.index.chunks[n].sealed)})
	if err != nil {
		return nil, err
	}
	r.last = readChunk{n, text}
	return text, nil
}

// Texts yields the lines from the n-th on, unparsed and without their line ends. A line stays valid after the next one is
// read. An error ends the sequence.
func (r *Reader) Texts(ctx context.Context, n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var begun []byte // the start of a line that continues in the next chunk
		next := n        // index of the next line
		for i := r.index.withLine(n); i < len(r.index.chunks); i++ {
			text, err := r.chunk(ctx, i)
			if err != nil {
				yield(nil, err)
				return
			}
			last := i == len(r.index.chunks)-1
			if begun == nil {
				text = skipLines(text, next-r.index.starts[i].lines, r.index.chunks[i])
			}
			for len(text) > 0 {
				line, rest, ended := bytes.Cut(text, []byte{'\n'})
				text = rest
				if !ended && !last {
					begun = append(begun, line...)
					break
				}
				if begun != nil {
					line, begun = append(begun, line...), nil
				}
				if !yield(trimLine(line, next), nil) {
					return
				}
				next++
			}
		}
		if begun != nil {
			yield(trimLine(begun, next), nil) // the content ended with the chunk
		}
	}
}

// skipLines removes the text before the n-th line that begins in a chunk.
func skipLines(text []byte, n int, c chunk) []byte {
	if c.continues {
		n++ // the end of a line that began before
	}
	for range n {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text
}

// byteOrderMark is written by some editors in front of a text.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// trimLine removes the bytes around a line's JSON, and the capacity behind it: an append must not reach the next line.
func trimLine(line []byte, n int) []byte {
	if n == 0 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return slices.Clip(bytes.TrimSuffix(line, []byte{'\r'}))
}

// Lines yields the requests of a batch file from the n-th line on. An error ends the sequence: an invalid line can only be
// in a file that was refused.
func (r *Reader) Lines(ctx context.Context, n int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for text, err := range r.Texts(ctx, n) {
			if err != nil {
				yield(Line{}, err)
				return
			}
			if n >= r.File.Lines {
				return // the rest is blank
			}
			line, bad := parseLine(text)
			if bad != nil {
				bad.Line = n + 1
				yield(Line{}, penstock.InvalidParam(bad.Param, "Line %d: %s", bad.Line, bad.Message))
				return
			}
			line.Index = n
			n++
			if !yield(line, nil) {
				return
			}
		}
	}
}

// Content returns the content from an offset on, exactly as it was written. It reads chunk by chunk until ctx ends.
func (r *Reader) Content(ctx context.Context, offset int64) io.Reader {
	i := r.index.withByte(offset)
	var left []byte
	return readerFunc(func(p []byte) (int, error) {
		for len(left) == 0 {
			if i == len(r.index.chunks) {
				return 0, io.EOF
			}
			text, err := r.chunk(ctx, i)
			if err != nil {
				return 0, err
			}
			left = text[max(0, offset-r.index.starts[i].plain):]
			i++
		}
		n := copy(p, left)
		left = left[n:]
		return n, nil
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Seekable returns the content for callers that seek, such as range requests.
func (r *Reader) Seekable(ctx context.Context) io.ReadSeeker {
	return &seekable{open: func(offset int64) io.Reader { return r.Content(ctx, offset) }, size: r.File.Bytes}
}

type seekable struct {
	open     func(offset int64) io.Reader
	at, size int64
	content  io.Reader // from at on; nil until it is needed
}

func (s *seekable) Read(p []byte) (int, error) {
	if s.content == nil {
		s.content = s.open(s.at)
	}
	n, err := s.content.Read(p)
	s.at += int64(n)
	return n, err
}

func (s *seekable) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the content begins")
	}
	if offset != s.at {
		s.content = nil
	}
	s.at = offset
	return offset, nil
}
