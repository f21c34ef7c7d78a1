package template

import (
	"errors"
	"fmt"
	"strings"
)

// TokenKind is the kind of a token.
type TokenKind uint8

// The kinds.
const (
	TokenText TokenKind = iota
	TokenValue
	TokenIf
	TokenEach
	TokenElse
	TokenEnd // of the section that began last
	TokenPartial
	TokenComment
)

// Token is a part of a template in the order of its source: a text or a tag. Programs that translate templates read and write them.
type Token struct {
	Kind TokenKind
	// Text is a text as it is rendered, the path of a value or a section, the reference of a partial, or a comment.
	Text string
	// OwnLine is whether a tag has a line of its own, which is left out.
	OwnLine bool
}

// Tokens returns the tokens of a template. Neighbouring texts are one token. Its errors are those of [Parse].
func Tokens(text string) ([]Token, error) {
	if len(text) > MaxBytes {
		_, err := Parse(text)
		return nil, err
	}
	var all tokenList
	p := &parser{source: text, record: all.add}
	if _, err := p.parse(); err != nil {
		return nil, err
	}
	return all.done(), nil
}

// tokenList joins neighbouring texts, in linear time.
type tokenList struct {
	tokens []Token
	text   strings.Builder
}

func (l *tokenList) add(t Token) {
	if t.Kind == TokenText {
		l.text.WriteString(t.Text)
		return
	}
	l.tokens = append(l.done(), t)
}

func (l *tokenList) done() []Token {
	if l.text.Len() > 0 {
		l.tokens = append(l.tokens, Token{Kind: TokenText, Text: l.text.String()})
		l.text.Reset()
	}
	return l.tokens
}

func tokenOf(tag string, ownLine ownLine) Token {
	t := Token{Kind: TokenValue, Text: tag, OwnLine: bool(ownLine)}
	switch {
	case tag == "":
	case tag == elseWord:
		t.Kind, t.Text = TokenElse, ""
	case tag[0] == '!':
		t.Kind, t.Text = TokenComment, strings.TrimSpace(tag[1:])
	case tag[0] == '/':
		t.Kind, t.Text = TokenEnd, ""
	case tag[0] == '>':
		t.Kind, t.Text = TokenPartial, strings.TrimSpace(tag[1:])
	case tag[0] == '#':
		word, of, _ := strings.Cut(strings.TrimSpace(tag[1:]), " ")
		t.Kind, t.Text = TokenIf, strings.TrimSpace(of)
		if word == "each" {
			t.Kind = TokenEach
		}
	}
	return t
}

// ErrBrace is the error for a text that ends with { in front of a tag, which no template can say.
var ErrBrace = errors.New("a single { directly in front of a tag cannot be written; put a space between them")

// Print writes a template with the given tokens: [Tokens] returns the same ones, beside empty comments and OwnLine. Errors: ErrBrace,
// and sections that do not match.
func Print(tokens []Token) (string, error) { return ours.Print(tokens) }

// Syntax is how a language of templates writes tokens.
type Syntax struct {
	// Tag writes a token other than a text. Word is the section that an end closes: if or each.
	Tag func(t Token, word string) string
	// Escape writes a text. The texts of a template are not next to each other.
	Escape func(text string, next Follower) (string, error)
	// Lone reports whether a line with nothing but such a tag is left out; nil if no line is.
	Lone func(t Token) bool
	// Guard is a tag without effect. In front of a lone tag it keeps the line.
	Guard string
}

// Follower is what stands behind a text.
type Follower uint8

// The followers.
const (
	FollowedByNothing Follower = iota
	FollowedByTag
)

var ours = Syntax{Tag: ourTag, Escape: ourEscape, Lone: func(t Token) bool { return t.Kind != TokenValue && t.Kind != TokenPartial }, Guard: open + "!" + end}

func ourTag(t Token, word string) string {
	text := t.Text
	switch t.Kind {
	case TokenPartial:
		text = "> " + t.Text
	case TokenIf:
		text = "#if " + t.Text
	case TokenEach:
		text = "#each " + t.Text
	case TokenElse:
		text = elseWord
	case TokenEnd:
		text = "/" + word
	case TokenComment:
		text = strings.TrimSpace("! " + strings.ReplaceAll(t.Text, end, "} }"))
	}
	return open + text + end
}

func ourEscape(text string, next Follower) (string, error) {
	out := Escape(text)
	if next == FollowedByNothing {
		return out, nil
	}
	if strings.HasSuffix(text, "{") && !strings.HasSuffix(out, `\{{`) {
		return "", ErrBrace
	}
	return out + strings.Repeat(`\`, backslashes(text)), nil // each pair is one
}

// Print writes a template with the given tokens. Errors: those of Escape, and sections that do not match.
func (s Syntax) Print(tokens []Token) (string, error) {
	var joined tokenList
	for _, t := range tokens {
		joined.add(t)
	}
	p := printer{Syntax: s, tokens: joined.done()}
	for i := range p.tokens {
		if err := p.print(i); err != nil {
			return "", err
		}
	}
	if len(p.open) > 0 {
		return "", fmt.Errorf("printing a template: %d sections are open at the end", len(p.open))
	}
	return p.out.String(), nil
}

type printer struct {
	Syntax
	tokens []Token
	out    strings.Builder
	line   lineState
	open   []string // words of the sections
}

// lineState is what the current line has so far.
type lineState uint8

const (
	lineEmpty lineState = iota
	lineBlank           // white space
	lineUsed
)

const blanks = " \t\r"

// write adds to the output and keeps the state of the line.
func (p *printer) write(text string) {
	p.out.WriteString(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		p.line, text = lineEmpty, text[i+1:]
	}
	switch {
	case text == "":
	case strings.Trim(text, blanks) != "":
		p.line = lineUsed
	case p.line == lineEmpty:
		p.line = lineBlank
	}
}

func (p *printer) print(i int) error {
	t, word := p.tokens[i], ""
	switch t.Kind {
	case TokenText:
		next := FollowedByTag
		if i+1 == len(p.tokens) {
			next = FollowedByNothing
		}
		text, err := p.Escape(t.Text, next)
		p.write(text)
		return err
	case TokenIf:
		p.open = append(p.open, "if")
	case TokenEach:
		p.open = append(p.open, "each")
	case TokenEnd:
		last := len(p.open) - 1
		if last < 0 {
			return errors.New("printing a template: a section ends that did not begin")
		}
		word, p.open = p.open[last], p.open[:last]
	}
	tag := p.Tag(t, word)
	if p.Lone != nil && p.Lone(t) {
		p.lone(i, tag)
	} else {
		p.write(tag)
	}
	return nil
}

// ownLine is whether a tag has a line of its own.
type ownLine bool

// lone writes a tag whose line is left out if it has nothing else. So a line end that must stay needs a second one, and white space
// that must stay needs another tag.
func (p *printer) lone(i int, tag string) {
	ends, last := p.lineEndsBehind(i)
	switch {
	case p.line == lineBlank && ends:
		p.write(p.Guard + tag)
	case p.line == lineEmpty && !last && (ends || p.tokens[i].OwnLine):
		p.write(tag + "\n")
	default:
		p.write(tag)
	}
}

// lineEndsBehind reports whether nothing but white space follows a token in its line, and whether it is the last token.
func (p *printer) lineEndsBehind(i int) (ends, last bool) {
	if i+1 == len(p.tokens) {
		return true, true
	}
	next := p.tokens[i+1]
	if next.Kind != TokenText {
		return false, false
	}
	rest := strings.TrimLeft(next.Text, blanks)
	return strings.HasPrefix(rest, "\n") || rest == "" && i+2 == len(p.tokens), false
}
