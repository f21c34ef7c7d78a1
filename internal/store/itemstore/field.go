package itemstore

import "encoding/binary"

// fields are the tagged fields of one item, encoded: for each a tag, the length of its value, and the value. They stand
// behind the fixed part of the item, with their total length in front. An item without fields costs one byte.
//
// A reader skips the tags that it does not know and keeps their bytes. If it writes the item again, they are still there:
// a release that does not know a fact does not lose it.
type fields []byte

// fieldTag names a field. A tag is never used again for something else.
type fieldTag uint64

// add appends a field.
func (f fields) add(tag fieldTag, value []byte) fields {
	f = binary.AppendUvarint(f, uint64(tag))
	f = binary.AppendUvarint(f, uint64(len(value)))
	return append(f, value...)
}

// addNumber appends a field that is a number.
func (f fields) addNumber(tag fieldTag, n int64) fields {
	var value [binary.MaxVarintLen64]byte
	return f.add(tag, binary.AppendVarint(value[:0], n))
}

// fields writes the fields of an item.
func (w *factWriter) fields(f fields) {
	w.count(int64(len(f)))
	w.buf = append(w.buf, f...)
}

// fields reads the fields of an item. Known is called with every field and reports whether the reader knows its tag; the
// other fields are returned. A value that a known tag cannot have breaks the facts.
func (r *factReader) fields(known func(tag fieldTag, value *factReader) bool) (unknown fields) {
	length := r.count()
	if length == 0 { // nearly always
		return nil
	}
	return r.someFields(length, known)
}

func (r *factReader) someFields(length int64, known func(fieldTag, *factReader) bool) (unknown fields) {
	all := factReader{buf: r.take(length)}
	for all.more() {
		tag := fieldTag(all.count())
		value := factReader{buf: all.take(all.count())}
		if all.broken {
			break
		}
		if known == nil || !known(tag, &value) {
			unknown = unknown.add(tag, value.buf)
			continue
		}
		if value.broken || value.more() {
			all.fail()
		}
	}
	if all.broken {
		r.fail()
		return nil
	}
	return unknown
}
