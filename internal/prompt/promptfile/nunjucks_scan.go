package promptfile

import "strings"

// njTag is a tag of Nunjucks, or the text between tags.
type njTag struct {
	text        string // of a text; otherwise the tag's content
	source      string
	line        int
	kind        byte // { % # for tags, 0 for a text
	left, right bool // - on this side
}

// scanNunjucks divides a template into texts and tags. White space that - removes is gone from the texts. The second result is the
// line of a tag that does not end, 0 for none.
func scanNunjucks(text string) ([]njTag, int) {
	s := &nunjucksScanner{text: text, line: 1}
	for s.at < len(text) {
		if !s.step() {
			return s.out, s.line
		}
	}
	for i := range s.out {
		t := &s.out[i]
		if t.kind != 0 {
			continue
		}
		if i > 0 && s.out[i-1].right {
			t.text = strings.TrimLeft(t.text, blank+"\n")
		}
		if i+1 < len(s.out) && s.out[i+1].left {
			t.text = strings.TrimRight(t.text, blank+"\n")
		}
	}
	return s.out, 0
}

type nunjucksScanner struct {
	text string
	at   int
	line int
	out  []njTag
}

func (s *nunjucksScanner) advance(n int) string {
	text := s.text[s.at : s.at+n]
	s.at += n
	s.line += strings.Count(text, "\n")
	return text
}

// step reads the text up to the next tag, and the tag. It reports false if the tag does not end.
func (s *nunjucksScanner) step() bool {
	rest := s.text[s.at:]
	begin := tagStart(rest)
	if begin > 0 {
		line := s.line
		s.out = append(s.out, njTag{text: s.advance(begin), line: line})
		return true
	}
	t := njTag{kind: rest[1], line: s.line}
	closing := map[byte]string{'{': "}}", '%': "%}", '#': "#}"}[t.kind]
	length := strings.Index(rest[2:], closing)
	if t.kind != '#' {
		length = njEnd(rest[2:], closing)
	}
	if length < 0 {
		return false
	}
	inner := rest[2 : 2+length]
	if strings.HasPrefix(inner, "-") {
		t.left, inner = true, inner[1:]
	}
	if strings.HasSuffix(inner, "-") {
		t.right, inner = true, inner[:len(inner)-1]
	}
	t.text, t.source = strings.TrimSpace(inner), rest[:length+4]
	s.advance(len(t.source))
	if t.kind == '%' && (t.text == "raw" || t.text == "verbatim") {
		return s.raw(t)
	}
	s.out = append(s.out, t)
	return true
}

// tagStart is where the next tag begins, the length of the text if there is none.
func tagStart(text string) int {
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '{')
		if next < 0 {
			break
		}
		i += next
		if i+1 < len(text) && (text[i+1] == '{' || text[i+1] == '%' || text[i+1] == '#') {
			return i
		}
		i++
	}
	return len(text)
}

// njEnd finds the end of a tag outside of quotes.
func njEnd(text, closing string) int {
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
		case c == closing[0] && strings.HasPrefix(text[i:], closing):
			return i
		}
	}
	return -1
}

// raw reads literal text up to the end of a raw block.
func (s *nunjucksScanner) raw(opened njTag) bool {
	const around = "- \t\r\n"
	rest, word := s.text[s.at:], "end"+opened.text
	for from := 0; ; from += len(word) {
		i := strings.Index(rest[from:], word)
		if i < 0 {
			return false
		}
		from += i
		before, behind := rest[:from], rest[from+len(word):]
		tag, closing := strings.TrimRight(before, around), strings.TrimLeft(behind, around)
		if !strings.HasSuffix(tag, "{%") || !strings.HasPrefix(closing, "%}") {
			continue
		}
		line, end := s.line, len(rest)-len(closing)
		s.out = append(s.out, njTag{kind: '#', source: opened.source, left: opened.left, right: opened.right, line: line},
			njTag{text: strings.TrimSuffix(tag, "{%"), line: line},
			njTag{kind: '#', left: strings.HasPrefix(before[len(tag):], "-"), right: end > 0 && rest[end-1] == '-', line: line})
		s.advance(end + len("%}"))
		return true
	}
}
