package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"penstock"
	"penstock/internal/blob"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
)

// part says which payload of an item is meant; it is bound into the encryption.
type part string

const (
	partInput  part = "input"
	partResult part = "result"

	partDefaults part = "defaults" // of a job over a file
)

// placed is a sealed payload: in its row, or in a blob that the row names.
type placed = itemstore.Sealed

// inputOwner is the owner of an item's sealed input.
func inputOwner(tenant penstock.TenantID, item penstock.ID) payload.Owner {
	return owner(tenant, item, partInput)
}

func owner(tenant penstock.TenantID, item penstock.ID, p part) payload.Owner {
	return payload.Owner{Tenant: string(tenant), ID: string(item), Part: string(p)}
}

// unplaced is a payload that is to be placed; without an owner there is none.
type unplaced struct {
	owner  payload.Owner
	plain  []byte
	sealed bool // plain is sealed already
}

// placing is payloads that are placed together.
type placing struct {
	count int
	at    func(i int) unplaced
	row   []byte // memory for the small ones, if it is large enough
}

// size is the most bytes that small payloads have once they are sealed.
func (p *placing) size(from, to int) (size int) {
	for i := from; i < to; i++ {
		if n := len(p.at(i).plain); n <= store.InlinePayloadBytes {
			size += n + payload.Overhead
		}
	}
	return size
}

// placeAll seals payloads, and makes those durable that are too large for a row. It places all or none. Small ones are sealed one
// behind the other, each group of items into memory of its own: they are used together, and are garbage together.
func (s *Store) placeAll(ctx context.Context, p *placing) ([]placed, error) {
	all := make([]placed, p.count)
	for i := range all {
		if i%itemstore.MaxInputGroup == 0 {
			if size := p.size(i, min(i+itemstore.MaxInputGroup, p.count)); cap(p.row)-len(p.row) < size {
				p.row = make([]byte, 0, size)
			}
		}
		var err error
		switch one := p.at(i); {
		case one.owner == payload.Owner{}:
		case len(one.plain) > store.InlinePayloadBytes:
			all[i], _, err = s.place(ctx, nil, &one)
		default:
			all[i], p.row, err = s.place(ctx, p.row, &one)
		}
		if err != nil {
			s.discard(ctx, all...)
			return nil, err
		}
	}
	return all, nil
}

// maxRow is the largest memory of sealed payloads that is used again, so that a few huge results do not keep theirs.
const maxRow = 1 << 20

func (s *Store) borrowRow() *[]byte {
	if row, ok := s.rows.Get().(*[]byte); ok {
		return row
	}
	return new([]byte)
}

func (s *Store) giveBackRow(row *[]byte) {
	if cap(*row) <= maxRow {
		s.rows.Put(row)
	}
}

// place seals a payload behind others, and makes it durable if it is too large for a row. Nobody appends to a placed payload: the next
// one lies behind it.
func (s *Store) place(ctx context.Context, row []byte, p *unplaced) (placed, []byte, error) {
	o, at := p.owner, len(row)
	if p.sealed {
		row = append(row, p.plain...)
	} else {
		var err error
		if row, err = s.codec.AppendSealed(row, o, p.plain); err != nil {
			return placed{}, nil, fmt.Errorf("sealing %s: %w", o.Part, err)
		}
	}
	sealed := row[at:]
	if len(sealed) <= store.InlinePayloadBytes {
		return placed{Inline: sealed}, row, nil
	}
	name := blob.NewName()
	if _, err := s.blobs.Put(ctx, name, bytes.NewReader(sealed)); err != nil {
		return placed{}, nil, fmt.Errorf("%w: storing %s: %w", penstock.ErrUnreachable, o.Part, err)
	}
	return placed{Blob: name}, row, nil
}

// open is the way back of place.
func (s *Store) open(ctx context.Context, o payload.Owner, p placed) ([]byte, error) {
	sealed, err := s.sealed(ctx, o, p)
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	plain, err := s.codec.Open(o, sealed)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", o.Part, err)
	}
	return plain, nil
}

// Payloads up to openedTogether bytes are opened into chunks of openedChunk bytes. A payload keeps its chunk in memory, so chunks are small.
const (
	openedTogether = 1 << 10
	openedChunk    = 4 << 10
)

// openBehind is open for one of several payloads: small ones are opened one behind the other. It returns the chunk for the next one.
func (s *Store) openBehind(ctx context.Context, chunk []byte, o payload.Owner, p placed) (plain, next []byte, err error) {
	if p.Blob != "" || len(p.Inline) == 0 || len(p.Inline) > openedTogether {
		plain, err = s.open(ctx, o, p)
		return plain, chunk, err
	}
	if cap(chunk)-len(chunk) < len(p.Inline) {
		chunk = make([]byte, 0, openedChunk)
	}
	opened, err := s.codec.AppendOpened(chunk, o, p.Inline)
	if err != nil {
		return nil, chunk, fmt.Errorf("opening %s: %w", o.Part, err)
	}
	plain = opened[len(chunk):len(opened):len(opened)]
	if len(opened) > cap(chunk) { // it was compressed, and has memory of its own
		return plain, chunk, nil
	}
	return plain, opened, nil
}

// sealed is a payload as it is stored.
func (s *Store) sealed(ctx context.Context, o payload.Owner, p placed) ([]byte, error) {
	if p.Blob == "" {
		return p.Inline, nil
	}
	sealed, err := s.fetch(ctx, p.Blob)
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return nil, fmt.Errorf("opening %s: %w", o.Part, err)
	case err != nil:
		return nil, fmt.Errorf("%w: reading %s: %w", penstock.ErrUnreachable, o.Part, err)
	}
	return sealed, nil
}

func (s *Store) fetch(ctx context.Context, name string) ([]byte, error) {
	r, err := s.blobs.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// discard removes blobs that no row names. What it misses, after a crash for example, stays
// behind as an orphan, which costs space until PurgeBlobs finds it.
func (s *Store) discard(ctx context.Context, ps ...placed) {
	for _, p := range ps {
		if p.Blob != "" {
			_ = s.blobs.Delete(context.WithoutCancel(ctx), p.Blob)
		}
	}
}
