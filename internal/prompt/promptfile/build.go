package promptfile

import (
	"fmt"
	"strings"

	"penstock/internal/prompt/template"
)

// piece is a part of a translated template: a token, or a helper that divides the text into messages.
type piece struct {
	template.Token
	helper string // role, history or media; "" for a token
	word   string // the role, or the URL of the media as a template
	line   int
}

func textPiece(text string) piece { return piece{Token: template.Token{Text: text}} }

func tag(kind template.TokenKind, text string) piece {
	return piece{Token: template.Token{Kind: kind, Text: text}}
}

type frameKind uint8

const (
	frameIf frameKind = iota
	frameUnless
	frameEach
	frameWith    // its paths are written out, so that only the condition stays
	frameLiteral // a section that cannot be translated, which stays as text
)

// frame is a section that is open.
type frame struct {
	kind    frameKind
	word    string // that closes it
	path    string
	line    int
	source  string // of the tag
	base    pathBase
	prefix  []string          // of paths inside, behind base
	params  map[string]string // names for the element and its index
	chained bool              // it began with else if, and ends with the section before it
	inElse  bool
	own     ownLine // of the tag that opened it
	elseOwn ownLine
	body    []piece
	other   []piece
}

// maxFrames bounds the sections in each other: those of a template, and some for conditions in a chain.
const maxFrames = template.MaxDepth * 4

// builder makes the tokens of a template from the tags of another language.
type builder struct {
	r      *reader
	prompt *Prompt
	line   int // the line of the file before the template's first
	frames []*frame
	out    []piece
	broken bool // an error made the rest meaningless
}

// unsupported reports a construct and adds its source as text.
func (b *builder) unsupported(line int, source, message string) {
	b.r.unsupported(b.prompt, b.line+line, source, message)
	b.add(textPiece(source))
}

// fail reports a mistake in the template itself, which no option accepts.
func (b *builder) fail(line int, source, format string, args ...any) {
	b.r.report(b.prompt, Problem{Line: b.line + line, Construct: source, Message: fmt.Sprintf(format, args...)})
	b.broken = true
}

func (b *builder) warn(line int, source, message string) {
	b.r.report(b.prompt, Problem{Line: b.line + line, Construct: source, Message: message, Severity: SeverityWarning})
}

func (b *builder) top() *frame {
	if len(b.frames) == 0 {
		return nil
	}
	return b.frames[len(b.frames)-1]
}

// add adds a piece to the section that is open.
func (b *builder) add(p ...piece) {
	switch top := b.top(); {
	case top == nil:
		b.out = append(b.out, p...)
	case top.inElse:
		top.other = append(top.other, p...)
	default:
		top.body = append(top.body, p...)
	}
}

func (b *builder) open(f *frame) {
	if len(b.frames) == maxFrames {
		b.fail(f.line, f.source, "Sections are nested more than %d deep.", template.MaxDepth)
		return
	}
	b.frames = append(b.frames, f)
}

// orElse begins the second branch of the open section.
func (b *builder) orElse(line int, source string, own ownLine) {
	top := b.top()
	switch {
	case top == nil:
		b.fail(line, source, "This stands outside of a section.")
	case top.kind == frameLiteral:
		b.add(textPiece(source))
	case top.inElse:
		b.fail(line, source, "The section has two else branches.")
	default:
		top.inElse, top.elseOwn = true, own
	}
}

// orElseIf begins another condition in the second branch.
func (b *builder) orElseIf(f *frame) {
	f.chained = true
	b.orElse(f.line, f.source, f.own)
	if top := b.top(); !b.broken && top.kind != frameLiteral {
		b.open(f)
	}
}

// close ends the open section and those that were chained to it.
func (b *builder) close(word string, line int, source string, own ownLine) {
	for !b.broken {
		top := b.top()
		switch {
		case top == nil:
			b.fail(line, source, "This closes no section.")
			return
		case !top.chained && top.word != word:
			b.fail(line, source, "This stands where the end of %s must be.", clip(top.source))
			return
		}
		b.frames = b.frames[:len(b.frames)-1]
		b.add(top.pieces(source, own)...)
		if !top.chained {
			return
		}
	}
}

// pieces are the tokens of a section that is complete.
func (f *frame) pieces(end string, own ownLine) []piece {
	mark := func(p piece, own ownLine) piece {
		p.OwnLine = bool(own)
		return p
	}
	last := mark(tag(template.TokenEnd, ""), own)
	var out []piece
	switch f.kind {
	case frameLiteral:
		out = append(append(append(out, textPiece(f.source)), f.body...), f.other...)
		if f.chained { // the section before it writes the end
			return out
		}
		return append(out, textPiece(end))
	case frameUnless:
		out = append(append(out, mark(tag(template.TokenIf, f.path), f.own)), f.other...)
		out = append(append(out, mark(tag(template.TokenElse, ""), f.elseOwn || f.own && own)), f.body...)
		return append(out, last)
	case frameEach:
		out = append(out, mark(tag(template.TokenEach, f.path), f.own))
	default:
		out = append(out, mark(tag(template.TokenIf, f.path), f.own))
	}
	out = append(out, f.body...)
	if len(f.other) > 0 {
		out = append(append(out, mark(tag(template.TokenElse, ""), f.elseOwn)), f.other...)
	}
	return append(out, last)
}

// done returns the tokens after the last tag.
func (b *builder) done() []piece {
	if top := b.top(); top != nil && !b.broken {
		b.fail(top.line, top.source, "This section has no end.")
	}
	if b.broken {
		return nil
	}
	return b.out
}

// print writes tokens as a template of ours, and reports what cannot be written.
func (r *reader) print(p *Prompt, line int, pieces []piece) string {
	tokens := make([]template.Token, len(pieces))
	for i, one := range pieces {
		tokens[i] = one.Token
	}
	text, err := template.Print(tokens)
	if err != nil {
		r.report(p, Problem{Line: line, Construct: "{{{", Message: strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."})
	}
	return text
}

// ownLine is whether a tag had a line of its own.
type ownLine bool

// pathBase is where the paths of a section begin.
type pathBase int

// baseVariables are the variables; a positive number is the element of the each of this depth.
const baseVariables pathBase = 0
