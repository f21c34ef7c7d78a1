package sse

import "bytes"

// parse reads the fields of a frame. The last of several event or id fields wins.
func (r *Reader) parse(raw []byte) Event {
	ev := Event{Raw: raw}
	r.joined = r.joined[:0]
	rest := raw
	switch {
	case !r.begun:
		rest = bytes.TrimPrefix(rest, byteOrderMark)
	case r.lines == 1 && r.size == len(raw): // a whole frame of one line, as most are: where it ends is known
		r.field(&ev, raw[:r.first])
		return ev
	}
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		r.field(&ev, line)
	}
	return ev
}

// field adds a line of a frame to the event.
func (r *Reader) field(ev *Event, line []byte) {
	name, value := cutField(line)
	switch string(name) {
	case "data":
		r.addData(ev, value)
	case "event":
		ev.Type = clipped(value)
	case "id":
		// The standard ignores ids that contain NUL.
		if bytes.IndexByte(value, 0) < 0 {
			ev.ID = clipped(value)
		}
	}
}

// cutField splits a line into its field's name and value. The name of a comment is empty; the value
// is never nil, so that an empty data field differs from none.
func cutField(line []byte) (name, value []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return line, line[len(line):]
	}
	value = line[colon+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return line[:colon], value
}

// addData appends a data line to the event. The usual single line is not copied.
func (r *Reader) addData(ev *Event, value []byte) {
	if ev.Data == nil {
		ev.Data = clipped(value)
		return
	}
	if len(r.joined) == 0 {
		r.joined = append(r.joined, ev.Data...)
	}
	r.joined = append(r.joined, '\n')
	r.joined = append(r.joined, value...)
	ev.Data = clipped(r.joined)
}

// cutLine splits b after its first line, which it returns without the line end.
func cutLine(b []byte) (line, rest []byte) {
	n := lineEnd(b)
	if n < 0 {
		return b, nil
	}
	if b[n] == '\r' && n+1 < len(b) && b[n+1] == '\n' {
		return b[:n], b[n+2:]
	}
	return b[:n], b[n+1:]
}

// scanWindow bounds how far the search for one line end byte looks past the other one, so that a
// stream of short CR lines without any LF is not searched in quadratic time.
const scanWindow = 512

// lineEnd returns the index of the first CR or LF in b, or -1.
func lineEnd(b []byte) int {
	for off := 0; off < len(b); off += scanWindow {
		window := b[off:min(off+scanWindow, len(b))]
		lf := bytes.IndexByte(window, '\n')
		if lf >= 0 {
			window = window[:lf]
		}
		if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
			return off + cr
		}
		if lf >= 0 {
			return off + lf
		}
	}
	return -1
}

// clipped keeps an append to a part of the buffer from writing over what follows it.
func clipped(b []byte) []byte { return b[:len(b):len(b)] }
