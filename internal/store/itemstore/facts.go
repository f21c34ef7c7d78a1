package itemstore

import (
	"encoding/binary"
	"errors"
	"slices"
)

// Facts are the compact form of the items in a group. They begin with a byte that names the layout. The fixed part of an
// item follows that layout; behind it stand tagged fields (see [fields]). A new fact is a new tag and leaves the layout as
// it is, so that the release before reads the group and skips the tag.

// errBrokenFacts says that bytes are not the facts of a group.
var errBrokenFacts = errors.New("the facts of the group are broken")

// factWriter appends facts to a buffer.
type factWriter struct {
	buf   []byte
	words []string // the words so far, by their numbers: a target, a price and the like, so few that a search is faster than a map
}

// count writes a number that is never below zero.
func (w *factWriter) count(n int64) { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }

// number writes a number that may be below zero.
func (w *factWriter) number(n int64) { w.buf = binary.AppendVarint(w.buf, n) }

func (w *factWriter) text(s string) {
	w.count(int64(len(s)))
	w.buf = append(w.buf, s...)
}

// word writes a text that other items of the group repeat: its number, and the text behind the number the first time.
func (w *factWriter) word(s string) {
	if at := slices.Index(w.words, s); at >= 0 {
		w.count(int64(at))
		return
	}
	w.count(int64(len(w.words)))
	w.words = append(w.words, s)
	w.text(s)
}

// factReader reads facts. After the first broken one it returns zero values and stays broken. It moves an offset instead
// of its slice: a pointer that changes with every number costs a write barrier each time while the collector runs.
type factReader struct {
	buf    []byte
	at     int
	words  []string
	broken bool
}

func (r *factReader) fail() { r.broken, r.at = true, len(r.buf) }

// more says whether there are bytes left.
func (r *factReader) more() bool { return r.at < len(r.buf) }

func (r *factReader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.buf)-r.at) {
		r.fail()
		return nil
	}
	from := r.at
	r.at += int(n)
	return r.buf[from:r.at:r.at]
}

func (r *factReader) byte() byte {
	if !r.more() {
		r.fail()
		return 0
	}
	r.at++
	return r.buf[r.at-1]
}

func (r *factReader) count() int64 {
	n, width := binary.Uvarint(r.buf[r.at:])
	if width <= 0 || int64(n) < 0 {
		r.fail()
		return 0
	}
	r.at += width
	return int64(n)
}

func (r *factReader) number() int64 {
	n, width := binary.Varint(r.buf[r.at:])
	if width <= 0 {
		r.fail()
		return 0
	}
	r.at += width
	return n
}

func (r *factReader) text() string { return string(r.take(r.count())) }

func (r *factReader) word() string {
	at := r.count()
	if at == int64(len(r.words)) && !r.broken {
		r.words = append(r.words, r.text())
	}
	if r.broken || at >= int64(len(r.words)) {
		r.fail()
		return ""
	}
	return r.words[at]
}
