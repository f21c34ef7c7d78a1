package penstock

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ID is a ULID in its canonical 26-character form, without a prefix. The same row has several views (a job is also an
// OpenAI batch). The prefix belongs to the view: the API adds and removes it, by [View.Format] and [View.Parse].
//
// IDs sort by creation time. The IDs of one process never repeat and never go back.
type ID string

// View names the kind of object that an ID is shown as.
type View string

// The views of the public API. Each is the prefix of its IDs.
const (
	ViewJob     View = "job"
	ViewItem    View = "item"
	ViewRequest View = "req"
	ViewAttempt View = "att"
	ViewEvent   View = "evt"
	ViewKey     View = "key"
	ViewFile    View = "file"
	ViewBatch   View = "batch"

	ViewMessageBatch View = "msgbatch"
	// ViewResponse is a job that a stored response runs as.
	ViewResponse View = "resp"

	ViewWebhook  View = "whk"
	ViewDelivery View = "dlv"

	ViewPerson  View = "per"
	ViewMember  View = "mem"
	ViewSession View = "ses"
)

// Format renders an ID as callers see it, such as job_01JQ….
func (v View) Format(id ID) string { return string(v) + "_" + string(id) }

// noun is the word for the object in messages.
func (v View) noun() string {
	switch v {
	case ViewRequest:
		return "request"
	case ViewAttempt:
		return "attempt"
	case ViewEvent:
		return "event"
	case ViewMessageBatch:
		return "message batch"
	case ViewResponse:
		return "response"
	case ViewWebhook:
		return "webhook"
	case ViewDelivery:
		return "delivery"
	case ViewPerson:
		return "person"
	case ViewMember:
		return "member"
	case ViewSession:
		return "session"
	}
	return string(v)
}

// Parse undoes Format. It rejects IDs of other views, so that an item ID in the place of a job ID is an error, not an
// unknown job.
func (v View) Parse(s string) (ID, error) {
	bare, ok := strings.CutPrefix(s, string(v)+"_")
	if !ok {
		return "", fmt.Errorf("%q is not a valid %s id: it must start with %q", clip(s, 40), v.noun(), string(v)+"_")
	}
	id := ID(bare)
	if _, err := id.number(); err != nil {
		return "", fmt.Errorf("%q is not a valid %s id: %w", clip(s, 40), v.noun(), err)
	}
	return id, nil
}

const (
	idLen     = 26
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// crockfordDigits are the values of the characters; notDigit for characters that are not digits.
var crockfordDigits = func() (values [256]byte) {
	for i := range values {
		values[i] = notDigit
	}
	for i := range len(crockford) {
		values[crockford[i]] = byte(i)
	}
	return values
}()

const notDigit = 0xff

var errMalformedID = errors.New("after the prefix it must have 26 characters of Crockford base 32")

// u128 is the number behind an ID: 48 bits of milliseconds, then 80 random bits.
type u128 struct{ hi, lo uint64 }

func (n u128) plus(d uint64) u128 {
	lo := n.lo + d
	if lo < n.lo {
		return u128{n.hi + 1, lo}
	}
	return u128{n.hi, lo}
}

// minus is n - m; m must not be larger than n.
func (n u128) minus(m u128) u128 {
	d := u128{n.hi - m.hi, n.lo - m.lo}
	if m.lo > n.lo {
		d.hi--
	}
	return d
}

func (n u128) less(m u128) bool { return n.hi < m.hi || (n.hi == m.hi && n.lo < m.lo) }

func (n u128) id() ID {
	digits := n.digits()
	return ID(digits[:])
}

func (n u128) digits() (buf [idLen]byte) {
	for i := idLen - 1; i >= 0; i-- {
		buf[i] = crockford[n.lo&31]
		n = u128{n.hi >> 5, n.lo>>5 | n.hi<<59}
	}
	return buf
}

func (id ID) number() (u128, error) {
	// The first character carries only three of 130 bits: above '7' the number overflows.
	if len(id) != idLen || id[0] > '7' {
		return u128{}, errMalformedID
	}
	var n u128
	for i := range idLen {
		d := crockfordDigits[id[i]]
		if d == notDigit {
			return u128{}, errMalformedID
		}
		n.hi = n.hi<<5 | n.lo>>59
		n.lo = n.lo<<5 | uint64(d)
	}
	return n, nil
}

// Valid reports whether id is a well-formed ULID.
func (id ID) Valid() bool { _, err := id.number(); return err == nil }

// Time is the moment in the ID, to the millisecond; zero for a malformed one.
func (id ID) Time() time.Time {
	n, err := id.number()
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n.hi >> 16)).UTC()
}

// FirstID is the smallest ID of a moment: all IDs of earlier moments are smaller.
func FirstID(t time.Time) ID { return u128{hi: uint64(t.UnixMilli()) << 16}.id() }

// ItemID is the ID of a job's n-th item: the job's own number plus n+1. A job's items therefore
// form one contiguous range of IDs that nothing else has to store or index.
func ItemID(job ID, n int) ID { return firstItem(job).plus(uint64(n)).id() }

// ItemIDs are the IDs of a job's items with the indexes from first on. They share one string: it stays in memory as long as one
// of them does.
func ItemIDs(job ID, first, count int) []ID {
	num := firstItem(job).plus(uint64(first))
	var all strings.Builder
	all.Grow(count * idLen)
	for n := range count {
		digits := num.plus(uint64(n)).digits()
		all.Write(digits[:])
	}
	ids, text := make([]ID, count), all.String()
	for n := range ids {
		ids[n] = ID(text[n*idLen : (n+1)*idLen])
	}
	return ids
}

// firstItem is the number of a job's first item.
func firstItem(job ID) u128 {
	num, err := job.number()
	if err != nil {
		panic("penstock: item of a malformed job id " + string(job))
	}
	return num.plus(1)
}

// indexIn is the index of an item in a job. It is valid only for the ID of an item of that job.
func (id ID) indexIn(job ID) (n uint64, ok bool) {
	a, errA := job.number()
	b, errB := id.number()
	if errA != nil || errB != nil || !a.less(b) || b.minus(a).hi != 0 {
		return 0, false
	}
	return b.minus(a).lo - 1, true
}

// idSpacing keeps generated IDs apart, so that the items of a job (fewer than 2^32) cannot
// run into the IDs generated after it in the same millisecond.
const idSpacing = 1 << 32

// IDs generates IDs. The zero value is ready to use and safe for concurrent use.
type IDs struct {
	mu     sync.Mutex
	last   u128
	random [32 * randomLen]byte // for the next IDs: reading few bytes takes as long as reading many
	left   int                  // bytes of it that no ID has
}

// randomLen is how many random bytes an ID has.
const randomLen = 10

// New returns an ID for the given moment, later than any it returned before.
func (g *IDs) New(now time.Time) ID {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == 0 {
		rand.Read(g.random[:]) // never fails: crypto/rand aborts the process instead
		g.left = len(g.random)
	}
	random := g.random[len(g.random)-g.left:][:randomLen]
	g.left -= randomLen
	// The top random bit stays clear so that adding item numbers never reaches the clock bits.
	random[0] &= 0x7f
	n := u128{
		hi: uint64(now.UnixMilli())<<16 | uint64(binary.BigEndian.Uint16(random[:2])),
		lo: binary.BigEndian.Uint64(random[2:]),
	}
	if floor := g.last.plus(idSpacing); n.less(floor) && g.last != (u128{}) {
		n = floor
	}
	g.last = n
	return n.id()
}

// clip shortens untrusted text before it is quoted in a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
