package openai

import (
	"strings"

	"penstock/internal/body"
	"penstock/internal/provider/wire"
)

// contents reads the contents of messages: strings, and lists of parts of which some are text.
type contents struct {
	read int       // contents so far, those within others included
	last wire.Span // where the string lies that was read last; zero for none
}

// next reads the text of a content. Anything but a string or a list, null above all, is no text.
func (c *contents) next(in *body.Cursor) string {
	c.read++
	switch in.Kind() {
	case '"':
		start := in.Offset()
		text := in.String()
		c.last = wire.Span{Start: start, End: in.Offset()}
		return text
	case '[':
		var all strings.Builder
		for range in.Elements {
			c.part(in, &all)
		}
		return all.String()
	default:
		in.Skip()
		return ""
	}
}

func (c *contents) part(in *body.Cursor, to *strings.Builder) {
	if in.Kind() == 'n' {
		in.Skip()
		return
	}
	for name := range in.Members {
		if string(name) == "text" {
			to.WriteString(c.next(in))
		} else {
			in.Skip()
		}
	}
}
