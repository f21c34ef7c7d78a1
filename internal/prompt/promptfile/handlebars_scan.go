package promptfile

import (
	"strings"
)

// mustache is a tag of Handlebars, or the text between tags.
type mustache struct {
	text        string // of a text; otherwise the tag's content without braces and ~
	source      string // of a tag
	line        int    // from 1
	tag         bool
	comment     bool
	triple      bool // {{{ }}}
	left, right bool // ~ on this side
	own         ownLine
}

// scanHandlebars divides a template into texts and tags. White space that ~ removes and lines that have one section tag only are
// gone from the texts, as in Handlebars. The second result is the line of a tag that does not end, 0 for none.
func scanHandlebars(text string) ([]mustache, int) {
	s := &handlebarsScanner{text: text, line: 1}
	for s.at < len(s.text) {
		if !s.step() {
			return s.out, s.line
		}
	}
	s.flush()
	s.strip()
	return s.out, 0
}

type handlebarsScanner struct {
	text string
	at   int
	line int
	out  []mustache

	pending strings.Builder
}

// say adds to the text before the next tag.
func (s *handlebarsScanner) say(text string) { s.pending.WriteString(text) }

// flush ends a text.
func (s *handlebarsScanner) flush() {
	if s.pending.Len() > 0 {
		s.out = append(s.out, mustache{text: s.pending.String(), line: s.line})
		s.pending.Reset()
	}
}

// step reads the text up to the next tag, and the tag. It reports false if the tag does not end.
func (s *handlebarsScanner) step() bool {
	rest := s.text[s.at:]
	i := strings.Index(rest, "{{")
	if i < 0 {
		s.say(rest)
		s.at = len(s.text)
		return true
	}
	before := rest[:i]
	switch {
	case strings.HasSuffix(before, `\\`): // a backslash, then a tag
		s.say(before[:len(before)-1])
	case strings.HasSuffix(before, `\`): // literal braces: the text goes on to the next tag
		next := strings.Index(rest[i+2:], "{{")
		stop := len(rest)
		if next >= 0 {
			stop = i + 2 + next
			for stop > i+2 && rest[stop-1] == '\\' { // the backslashes belong to the next tag
				stop--
			}
		}
		s.say(before[:len(before)-1] + rest[i:stop])
		s.advance(rest[:stop])
		return true
	default:
		s.say(before)
	}
	s.advance(before)
	return s.readTag(rest[i:])
}

func (s *handlebarsScanner) advance(text string) {
	s.at += len(text)
	s.line += strings.Count(text, "\n")
}

// readTag reads a tag at the beginning of rest.
func (s *handlebarsScanner) readTag(rest string) bool {
	t := mustache{tag: true, line: s.line}
	inner := rest[2:]
	if strings.HasPrefix(inner, "~") {
		t.left, inner = true, inner[1:]
	}
	length := -1
	closing := "}}"
	switch {
	case strings.HasPrefix(inner, "!--"):
		t.comment = true
		closing = "--}}"
		length = strings.Index(inner, closing)
		within := inner // the search ends with the comment: it must not read the rest of the template for each of them
		if length >= 0 {
			within = inner[:length]
		}
		if tilde := strings.Index(within, "--~}}"); tilde >= 0 {
			closing, length = "--~}}", tilde
		}
	case strings.HasPrefix(inner, "!"):
		t.comment = true
		length = strings.Index(inner, closing)
	case strings.HasPrefix(inner, "{"):
		t.triple, closing = true, "}}}"
		if length = tagEnd(inner, "}"); length >= 0 && strings.HasPrefix(inner[length:], "}~}}") {
			closing = "}~}}"
		} else if length >= 0 && !strings.HasPrefix(inner[length:], closing) {
			return false
		}
	default:
		length = tagEnd(inner, closing)
	}
	if length < 0 {
		return false
	}
	t.text = inner[:length]
	t.source = rest[:len(rest)-len(inner)+length+len(closing)]
	if strings.Contains(closing, "~") || strings.HasSuffix(t.text, "~") {
		t.right = true
		t.text = strings.TrimSuffix(t.text, "~")
	}
	s.flush()
	s.advance(t.source)
	t.text = strings.TrimSpace(strings.TrimPrefix(t.text, "{"))
	s.out = append(s.out, t)
	return true
}

// tagEnd finds the end of a tag outside of quotes.
func tagEnd(text, closing string) int {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '}' && strings.HasPrefix(text[i:], closing):
			return i
		}
	}
	return -1
}

// section reports whether a tag prints nothing, so that its line can be left out.
func (t *mustache) section() bool {
	if t.comment {
		return true
	}
	word, _, _ := strings.Cut(t.text, " ")
	return t.text == "" || strings.ContainsRune("#/^>", rune(t.text[0])) || word == "else"
}

const blank = " \t\r"

// strip removes the white space that ~ and lines of their own remove. Both look at the texts as they were written.
func (s *handlebarsScanner) strip() {
	all := s.out
	trimLeft, trimRight := make([]int, len(all)), make([]int, len(all)) // bytes to remove from texts
	for i := range all {
		if !all[i].tag {
			continue
		}
		before, after := i-1, i+1
		if all[i].section() {
			if from, to, own := ownLineOf(all, i); own {
				all[i].own = true
				if before >= 0 {
					trimRight[before] = max(trimRight[before], from)
				}
				if after < len(all) {
					trimLeft[after] = max(trimLeft[after], to)
				}
			}
		}
		if all[i].left && before >= 0 && !all[before].tag {
			trimRight[before] = len(all[before].text) - len(strings.TrimRight(all[before].text, blank+"\n"))
		}
		if all[i].right && after < len(all) && !all[after].tag {
			trimLeft[after] = len(all[after].text) - len(strings.TrimLeft(all[after].text, blank+"\n"))
		}
	}
	for i := range all {
		if !all[i].tag {
			from := min(trimLeft[i], len(all[i].text))
			all[i].text = all[i].text[from:max(from, len(all[i].text)-trimRight[i])]
		}
	}
}

// ownLineOf reports whether a tag is alone in its line, with the bytes that the line has in the text before and behind it.
func ownLineOf(all []mustache, i int) (before, behind int, own bool) {
	if i > 0 {
		if all[i-1].tag {
			return 0, 0, false
		}
		text := all[i-1].text
		line := strings.LastIndexByte(text, '\n') + 1
		if line == 0 && i > 1 || strings.Trim(text[line:], blank) != "" {
			return 0, 0, false
		}
		before = len(text) - line
	}
	if i+1 == len(all) {
		return before, 0, true
	}
	if all[i+1].tag {
		return 0, 0, false
	}
	text := all[i+1].text
	rest := strings.TrimLeft(text, blank)
	switch {
	case strings.HasPrefix(rest, "\n"):
		return before, len(text) - len(rest) + 1, true
	case rest == "" && i+2 == len(all):
		return before, len(text), true
	}
	return 0, 0, false
}
