// Package itemstore owns how items are stored. An item has one of several forms: a place in an input group while it waits
// and runs, a row of its own once something sets it apart, or a place in a result group if it succeeds at its first try.
// docs/items.md has a picture.
//
// A [Reader] finds the input, the state and the result of an item by job and index; the caller need not know the form. A
// [Writer] decides the form. Only this package knows the bytes of a group, its "facts". A new fact is a tagged field, which
// the release before skips.
//
// The package does not own the order in which items start, claims, or money: its callers say which items run, and update
// the counters. It never opens a payload.
//
// Invariants: a group is written once and never changed. An item has at most one of a row and a place in a result group.
// The place in an input group stays as long as the job. A Reader and the functions are safe for concurrent use; a Writer
// belongs to one transaction.
package itemstore

import (
	"penstock"
)

// ClaimPlaces is how many items without a row the row of a claim holds: each has a bit in a number, without its sign.
const ClaimPlaces = 63

// Sealed is a payload as it is stored: in the database, or in a blob that the database names. The zero value is none.
type Sealed struct {
	Inline []byte
	Blob   string
}

// Empty says that there is no payload.
func (s Sealed) Empty() bool { return s.Inline == nil && s.Blob == "" }

// Row is an item as a row has it. An item in another form is read as if it had one.
type Row struct {
	penstock.Item // its Result is not set: see Sealed

	Reserved    penstock.NanoUSD
	Estimate    int64 // tokens
	InputBytes  int64
	NotBefore   int64 // microseconds
	Parked      bool  // the item is queued and waits until NotBefore
	Claim       penstock.ID
	Tries       int
	Crashes     int
	ChildDeaths int
	// Sealed is the result. Reader.Find leaves it out: most callers do not need it, and it can be large.
	Sealed       Sealed
	PriceVersion string

	// Rowless says that the item has no row: its first write adds one, and fails if there is one by then.
	Rowless bool
	// Place is the place in its claim of a running item without a row, from 1.
	Place int
	// Last is the attempt that decided the item. Of an item with a row it is known only to the transaction that ends it.
	Last *penstock.Attempt

	group   groupPlace
	unknown fields // of the facts, for a later release
}

// resultGroupKey names a result group.
type resultGroupKey struct {
	job  penstock.ID
	last int64 // event number of its last item
}

// groupPlace is where the result of an item lies in a result group. The zero value is nowhere.
type groupPlace struct {
	resultGroupKey
	result span
}
