package template

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	open, end   = "{{", "}}"
	elementWord = "this"
	indexWord   = "@index"
	elseWord    = "else"
)

// Parse reads a template. Its errors are of type *Error.
func Parse(text string) (*Template, error) {
	if len(text) > MaxBytes {
		return nil, &Error{Line: 1, Column: 1, Reason: fmt.Sprintf("the template has %d bytes; %d are the most", len(text), MaxBytes)}
	}
	return (&parser{source: text}).parse()
}

func (p *parser) parse() (*Template, error) {
	text := p.source
	if !utf8.ValidString(text) {
		return nil, p.fail(invalidAt(text), "the template is not valid UTF-8")
	}
	p.levels = []level{{}}
	for p.at < len(text) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	if last := p.levels[len(p.levels)-1]; len(p.levels) > 1 {
		return nil, p.fail(last.began, "{{#%s}} has no {{/%s}}", last.word, last.word)
	}
	return &Template{nodes: p.levels[0].node.body, partials: p.partials, linked: len(p.partials) == 0}, nil
}

// level is a section that is open, or the template itself.
type level struct {
	node  node
	word  string // if or each, "" for the template
	began int
	inOr  bool // behind its else
}

type parser struct {
	source   string
	at       int
	count    int
	levels   []level
	partials []string
	record   func(Token) // nil unless somebody wants the tokens
}

func (p *parser) fail(at int, format string, args ...any) error {
	before := p.source[:min(at, len(p.source))]
	line := strings.LastIndexByte(before, '\n') + 1
	return &Error{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1, Reason: fmt.Sprintf(format, args...)}
}

// step reads the text up to the next tag, and the tag.
func (p *parser) step() error {
	from, rest := p.at, p.source[p.at:]
	i := strings.Index(rest, open)
	if i < 0 {
		p.at = len(p.source)
		return p.text(rest)
	}
	start := from + i
	slashes := backslashes(rest[:i])
	said := rest[:i-slashes] + strings.Repeat(`\`, slashes/2)
	if slashes%2 == 1 {
		p.at = start + len(open)
		return p.text(said + open)
	}
	length := strings.Index(p.source[start:], end)
	if length < 0 {
		return p.fail(start, `{{ has no }}; write \{{ for two literal braces`)
	}
	p.at = start + length + len(end)
	tag := strings.TrimSpace(p.source[start+len(open) : start+length])
	own := ownLine(false)
	if slashes == 0 && sectionTag(tag) {
		if line, next, alone := p.alone(from, start); alone {
			said, p.at, own = p.source[from:line], next, true
		}
	}
	if err := p.text(said); err != nil {
		return err
	}
	if p.record != nil {
		p.record(tokenOf(tag, own))
	}
	return p.tag(tag, start)
}

// sectionTag reports whether a tag prints nothing itself.
func sectionTag(tag string) bool {
	return tag == elseWord || strings.HasPrefix(tag, "#") || strings.HasPrefix(tag, "/") || strings.HasPrefix(tag, "!")
}

// alone reports whether the tag that was read is the only one on its line, beside white space. Between from and start is the text
// before the tag. It returns where the line begins, and where the next line begins. It looks at no byte of other tags, so that a
// long line with many tags does not cost the square of its length.
func (p *parser) alone(from, start int) (line, next int, alone bool) {
	const space = " \t\r"
	line = from + strings.LastIndexByte(p.source[from:start], '\n') + 1
	begins := line > from || from == 0 || p.source[from-1] == '\n'
	rest := strings.TrimLeft(p.source[p.at:], space)
	next = len(p.source) - len(rest)
	if strings.HasPrefix(rest, "\n") {
		next++
	} else if rest != "" {
		return line, next, false
	}
	return line, next, begins && strings.Trim(p.source[line:start], space) == ""
}

func (p *parser) text(text string) error {
	if text == "" {
		return nil
	}
	if p.record != nil {
		p.record(Token{Kind: TokenText, Text: text})
	}
	return p.add(node{kind: nodeText, text: text})
}

func (p *parser) add(n node) error {
	if p.count++; p.count > MaxNodes {
		return p.fail(p.at, "the template has more than %d parts", MaxNodes)
	}
	top := &p.levels[len(p.levels)-1]
	if top.inOr {
		top.node.otherwise = append(top.node.otherwise, n)
	} else {
		top.node.body = append(top.node.body, n)
	}
	return nil
}

func (p *parser) tag(tag string, at int) error {
	switch {
	case tag == "":
		return p.fail(at, `{{}} names no variable; write \{{ for two literal braces`)
	case tag[0] == '!':
		return nil
	case tag[0] == '#':
		return p.section(strings.TrimSpace(tag[1:]), at)
	case tag[0] == '/':
		return p.closing(strings.TrimSpace(tag[1:]), at)
	case tag[0] == '>':
		return p.partial(strings.TrimSpace(tag[1:]), at)
	case tag == elseWord:
		return p.orElse(at)
	}
	path, err := p.path(tag, at)
	if err != nil {
		return err
	}
	return p.add(node{kind: nodeValue, path: path})
}

func (p *parser) section(tag string, at int) error {
	word, of, _ := strings.Cut(tag, " ")
	kinds := map[string]nodeKind{"if": nodeIf, "each": nodeEach}
	kind, known := kinds[word]
	if !known {
		return p.fail(at, "there is no section {{#%s}}; the sections are {{#if}} and {{#each}}", clip(word))
	}
	if len(p.levels) > MaxDepth {
		return p.fail(at, "sections are nested more than %d deep", MaxDepth)
	}
	path, err := p.path(strings.TrimSpace(of), at)
	if err != nil {
		return err
	}
	if kind == nodeEach && path.origin == atIndex {
		return p.fail(at, "%s is a number, not a list", indexWord)
	}
	p.levels = append(p.levels, level{node: node{kind: kind, path: path}, word: word, began: at})
	return nil
}

func (p *parser) closing(word string, at int) error {
	last := len(p.levels) - 1
	top := p.levels[last]
	switch {
	case last == 0:
		return p.fail(at, "{{/%s}} closes no section", clip(word))
	case top.word != word:
		return p.fail(at, "{{/%s}} stands where {{/%s}} must be", clip(word), top.word)
	}
	p.levels = p.levels[:last]
	return p.add(top.node)
}

func (p *parser) orElse(at int) error {
	top := &p.levels[len(p.levels)-1]
	switch {
	case top.word == "":
		return p.fail(at, "{{else}} is outside of a section")
	case top.inOr:
		return p.fail(at, "{{#%s}} has two {{else}}", top.word)
	}
	top.inOr = true
	return nil
}

func (p *parser) partial(reference string, at int) error {
	if reference == "" || len(reference) > MaxPartialText || strings.ContainsFunc(reference, func(r rune) bool { return !referenceRune(r) }) {
		return p.fail(at, "a partial is written {{> folder/name@label}} or {{> folder/name@7}}, not {{> %s}}", clip(reference))
	}
	if !slices.Contains(p.partials, reference) {
		if len(p.partials) == MaxPartials {
			return p.fail(at, "the template has more than %d partials", MaxPartials)
		}
		p.partials = append(p.partials, reference)
	}
	return p.add(node{kind: nodePartial, text: reference})
}

func referenceRune(r rune) bool {
	return r == '/' || r == '@' || r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func (p *parser) path(text string, at int) (path, error) {
	if text == indexWord {
		return path{origin: atIndex}, p.inside(text, at)
	}
	names := strings.Split(text, ".")
	if len(names) > MaxPathNames {
		return path{}, p.fail(at, "{{%s}} has more than %d names", clip(text), MaxPathNames)
	}
	out := path{names: names}
	if names[0] == elementWord {
		out = path{origin: atElement, names: names[1:]}
		if err := p.inside(elementWord, at); err != nil {
			return out, err
		}
	}
	for _, name := range out.names {
		if !ValidName(name) {
			return out, p.fail(at, `{{%s}} is not a path: names have a-z, A-Z, 0-9, _ and -, begin with neither a digit nor -, and are joined by dots; write \{{ for two literal braces`, clip(text))
		}
	}
	return out, nil
}

// inside refuses the words of elements outside of each.
func (p *parser) inside(word string, at int) error {
	for _, l := range p.levels {
		if l.node.kind == nodeEach && l.word != "" && !l.inOr {
			return nil
		}
	}
	return p.fail(at, "{{%s}} is outside of {{#each}}", word)
}

// ValidName reports whether a text can be the name of a variable. The words of the grammar cannot.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxNameBytes || name == elseWord || name == elementWord {
		return false
	}
	for i := range len(name) {
		c := name[i]
		begins := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !begins && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// invalidAt is where a text stops being UTF-8.
func invalidAt(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return len(text)
}

// clip shortens a text before an error quotes it.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
