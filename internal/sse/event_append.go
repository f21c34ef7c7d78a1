package sse

// AppendEvent appends a frame with the event's type, id and data to dst; Raw is not looked at. An
// event whose Data is nil has no data field. The format cannot carry every byte: each line break in
// the data, CR or CRLF included, arrives as a line feed, and those in type and id are left out, so
// that no value can smuggle in another field.
func AppendEvent(dst []byte, ev Event) []byte {
	if len(ev.Type) > 0 {
		dst = appendField(dst, "event: ", ev.Type)
	}
	if len(ev.ID) > 0 {
		dst = appendField(dst, "id: ", ev.ID)
	}
	if ev.Data != nil {
		dst = appendLines(dst, "data: ", ev.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends a frame that holds nothing but a comment, which keeps a quiet connection
// open and is ignored by every client.
func AppendComment(dst []byte, text string) []byte {
	dst = appendLines(dst, ": ", []byte(text))
	return append(dst, '\n')
}

func appendField(dst []byte, prefix string, value []byte) []byte {
	dst = append(dst, prefix...)
	for _, c := range value {
		if c != '\r' && c != '\n' {
			dst = append(dst, c)
		}
	}
	return append(dst, '\n')
}

// appendLines writes each line of value behind the prefix. Text after the last line break is a line
// too, even when it is empty.
func appendLines(dst []byte, prefix string, value []byte) []byte {
	for {
		line, rest := cutLine(value)
		dst = append(dst, prefix...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if len(line) == len(value) {
			return dst
		}
		value = rest
	}
}
