// Package blob is the contract for objects that are too large for a database row: payloads over 32 KiB,
// uploaded files and results.
//
// It owns what a store must promise, the form of names and the readiness probe. Adapters live in
// packages of their own and pass the suite in blobtest. It does not own content: what is stored here has
// been through the payload codec, and which blobs are in use is known to the database alone.
//
// A blob is written once under a random name and never changed. It is put before the transaction that
// refers to it commits, so a crash between the two leaves an orphan, never a dangling reference; a sweep
// finds orphans with List. The contract asks for nothing that an S3-compatible store lacks: no
// directories, no renames and no appending.
package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// The errors of the contract. Adapters return them wrapped; test with errors.Is.
var (
	// ErrNotFound means that there is no blob of this name.
	ErrNotFound = errors.New("blob not found")
	// ErrExists means that the name is taken. The blob that has it is unchanged.
	ErrExists = errors.New("blob exists already")
	// ErrInvalidName means that the name was not made by [NewName].
	ErrInvalidName = errors.New("invalid blob name")
	// ErrInvalidRange means that a [Range] is out of its bounds.
	ErrInvalidRange = errors.New("invalid blob range")
	// ErrInvalidQuery means that a [Query] is out of its bounds.
	ErrInvalidQuery = errors.New("invalid blob query")
)

// MaxListLimit bounds one page of List; S3 has the same bound.
const MaxListLimit = 1000

const nameBytes = 16

// Store keeps blobs. Implementations are safe for concurrent use, by several processes too. Every method
// returns ErrInvalidName for a name that [ValidateName] refuses, and the context's error once ctx is done.
type Store interface {
	// Put stores everything r yields under name and returns how much that was. It holds a bounded part of
	// it in memory.
	//
	// When Put returns without error the blob is durable: it survives a crash of the process and of the
	// machine. Until then no reader sees it, and no reader ever sees a part of it. Names are never reused: if
	// name is taken Put returns ErrExists, and of several concurrent Puts of one name one succeeds.
	//
	// After an error of r or of ctx nothing is stored. Any other error leaves it open whether the blob
	// exists; to try again, take a new name and leave the old one to the sweep. Put does not interrupt a
	// Read of r that blocks.
	Put(ctx context.Context, name string, r io.Reader) (size int64, err error)

	// Open returns the content of a blob, or ErrNotFound. The caller closes the reader, and keeps ctx alive
	// until then: reads may fail after it is done.
	Open(ctx context.Context, name string) (io.ReadCloser, error)

	// OpenRange returns what a blob holds of a range, which is less than its length where the blob ends
	// before, or ErrNotFound. Close and ctx are as for Open.
	OpenRange(ctx context.Context, name string, r Range) (io.ReadCloser, error)

	// Delete removes a blob. Removing one that does not exist is no error. A deletion may be undone by a
	// crash of the machine; the blob is then an orphan, and the sweep finds it again.
	Delete(ctx context.Context, name string) error

	// List returns one page of blobs in ascending order of their names. A page shorter than q.Limit is the
	// last one. It returns ErrInvalidQuery for a query that [Query.Validate] refuses.
	List(ctx context.Context, q Query) ([]Info, error)

	// Check reports whether the store works, by storing a small blob, reading it back and removing it. It
	// is meant for readiness, and returns why the store is not ready.
	Check(ctx context.Context) error
}

// Range is a part of a blob.
type Range struct {
	Offset int64 // of its first byte, at least 0
	Length int64 // at least 1
}

// Validate returns ErrInvalidRange, with what is wrong, unless r is within its bounds.
func (r Range) Validate() error {
	if r.Offset < 0 || r.Length < 1 || r.Offset+r.Length < 0 {
		return fmt.Errorf("%w: %d bytes from %d", ErrInvalidRange, r.Length, r.Offset)
	}
	return nil
}

// Query selects a page of blobs.
type Query struct {
	// After is the name that the page begins behind, "" for the first page. Without it a sweep could not
	// get past a page of blobs that are all in use.
	After string
	// OlderThan leaves out every blob that was stored at this time or later. The zero time leaves out all:
	// a sweep must say how young a blob can be and still await its transaction.
	OlderThan time.Time
	// Limit bounds the page, from 1 to MaxListLimit.
	Limit int
}

// Validate returns ErrInvalidQuery, with what is wrong, unless q is within its bounds.
func (q Query) Validate() error {
	if q.Limit < 1 || q.Limit > MaxListLimit {
		return fmt.Errorf("%w: limit %d is not between 1 and %d", ErrInvalidQuery, q.Limit, MaxListLimit)
	}
	if q.After == "" {
		return nil
	}
	if err := ValidateName(q.After); err != nil {
		return fmt.Errorf("%w: after: %w", ErrInvalidQuery, err)
	}
	return nil
}

// Info describes a stored blob.
type Info struct {
	Name     string
	Size     int64 // in bytes
	StoredAt time.Time
}

// NewName returns a new random name of 128 bits. It is hexadecimal in lower case, and so safe in URLs and
// distinct on file systems that ignore case.
func NewName() string {
	var b [nameBytes]byte
	rand.Read(b[:]) // never returns an error: the program stops if the system has no randomness
	return hex.EncodeToString(b[:])
}

// ValidateName returns ErrInvalidName unless name has the form that NewName gives it. No other name exists,
// so none can point out of a store, at its internals, or at something guessable.
func ValidateName(name string) error {
	if len(name) != 2*nameBytes {
		return fmt.Errorf("%w: %d characters instead of %d", ErrInvalidName, len(name), 2*nameBytes)
	}
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%w %q: character %d is not hexadecimal in lower case", ErrInvalidName, name, i+1)
		}
	}
	return nil
}
