package promptfile

import (
	"maps"
	"slices"
	"strings"

	"penstock/internal/prompt/template"
)

// nunjucks translates a Nunjucks template. Line is the line of the file before its first.
func (r *reader) nunjucks(p *Prompt, line int, text string) []piece {
	n := &nunjucksReader{builder: builder{r: r, prompt: p, line: line}, listed: map[string]bool{}, tested: map[string]int{}}
	if len(text) > MaxTextBytes {
		n.fail(1, "", "The template has more than %d bytes.", MaxTextBytes)
		return nil
	}
	tags, unclosed := scanNunjucks(text)
	if unclosed > 0 {
		n.fail(unclosed, "{{", "The tag has no end.")
		return nil
	}
	for i := range tags {
		if n.broken {
			return nil
		}
		switch t := &tags[i]; t.kind {
		case 0:
			n.add(textPiece(t.text))
		case '#':
			if t.text != "" {
				n.add(tag(template.TokenComment, t.text))
			}
		case '{':
			n.output(t)
		case '%':
			n.statement(t)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(n.tested)) {
		if n.listed[path] {
			n.warn(n.tested[path], path, "An empty list is true in Nunjucks, and false here.")
		}
	}
	return n.done()
}

type nunjucksReader struct {
	builder
	listed map[string]bool // paths that for goes over
	tested map[string]int  // paths that if asks for, with a line
}

// output reads {{ … }}.
func (n *nunjucksReader) output(t *njTag) {
	text := t.text
	if literal, ok := unquote(text); ok {
		n.add(textPiece(literal))
		return
	}
	if before, filter, ok := strings.Cut(text, "|"); ok {
		if strings.TrimSpace(filter) != "safe" { // values are never escaped, neither here nor in promptfoo
			n.unsupported(t.line, t.source, "The filter "+clip(strings.TrimSpace(filter))+" cannot be translated.")
			return
		}
		text = strings.TrimSpace(before)
	}
	path, reason := n.path(text)
	if reason != "" {
		n.unsupported(t.line, t.source, reason)
		return
	}
	if strings.HasPrefix(path, "env.") {
		n.warn(t.line, t.source, "promptfoo reads env from the environment; here it is a variable that callers give.")
	}
	n.add(tag(template.TokenValue, path))
}

// ends are the words that close sections.
var ends = map[string]string{"endif": "if", "endfor": "for"}

// statement reads {% … %}.
func (n *nunjucksReader) statement(t *njTag) {
	word, rest, _ := strings.Cut(t.text, " ")
	rest = strings.TrimSpace(rest)
	top := n.top()
	switch {
	case word == "if":
		f := &frame{word: "if", line: t.line, source: t.source}
		if reason := n.condition(f, rest); reason != "" {
			n.literal(t, "if", reason)
			return
		}
		n.open(f)
	case (word == "elif" || word == "elseif") && top != nil && top.kind != frameLiteral && !top.inElse:
		f := &frame{line: t.line, source: t.source}
		if reason := n.condition(f, rest); reason != "" {
			n.r.unsupported(n.prompt, n.line+t.line, t.source, reason)
			top.kind = frameLiteral
			n.add(textPiece(t.source))
			return
		}
		n.orElseIf(f)
	case word == "else" || word == "elif" || word == "elseif":
		n.orElse(t.line, t.source, false)
	case word == "for":
		n.loop(t, rest)
	case ends[word] != "":
		n.close(ends[word], t.line, t.source, false)
	case top != nil && top.kind == frameLiteral && "end"+top.word == word:
		n.close(top.word, t.line, t.source, false)
	default:
		n.other(t, word)
	}
}

// blocks are statements with an end of their own.
var blocks = map[string]bool{"macro": true, "block": true, "filter": true, "call": true, "asyncEach": true, "asyncAll": true, "switch": true}

func (n *nunjucksReader) other(t *njTag, word string) {
	message := "The statement " + clip(word) + " cannot be translated; the statements are if and for."
	if blocks[word] || word == "set" && !strings.Contains(t.text, "=") {
		n.literal(t, word, message)
		return
	}
	n.unsupported(t.line, t.source, message)
}

// literal opens a section that stays as text.
func (n *nunjucksReader) literal(t *njTag, word, reason string) {
	n.r.unsupported(n.prompt, n.line+t.line, t.source, reason)
	n.open(&frame{kind: frameLiteral, word: word, line: t.line, source: t.source})
}

// condition reads a path, or not and a path.
func (n *nunjucksReader) condition(f *frame, text string) (reason string) {
	f.kind = frameIf
	if rest, negated := strings.CutPrefix(text, "not "); negated {
		f.kind, text = frameUnless, strings.TrimSpace(rest)
	}
	if f.path, reason = n.path(text); reason == "" {
		n.tested[f.path] = f.line
	}
	return reason
}

// loop reads for name in path.
func (n *nunjucksReader) loop(t *njTag, text string) {
	name, of, ok := strings.Cut(text, " in ")
	name, of = strings.TrimSpace(name), strings.TrimSpace(of)
	if !ok || !template.ValidName(name) {
		n.literal(t, "for", "Only loops over a list with one name can be translated: for name in list.")
		return
	}
	path, reason := n.path(of)
	if reason != "" {
		n.literal(t, "for", reason)
		return
	}
	n.listed[path] = true
	n.open(&frame{kind: frameEach, word: "for", path: path, line: t.line, source: t.source, base: n.depth() + 1, params: map[string]string{name: ""}})
}

// path translates an expression that is a variable or a member of one.
func (n *nunjucksReader) path(text string) (ours, reason string) {
	names, ok := njNames(text)
	if !ok {
		return "", "Only variables and their members can be translated: operators, calls and tests cannot."
	}
	all := n.contexts()
	if base, prefix, _, found := param(all, names[0]); found {
		return n.join(base, append(append([]string{}, prefix...), names[1:]...))
	}
	if names[0] == "loop" && len(all) > 1 {
		if len(names) == 2 && names[1] == "index0" {
			return "@index", ""
		}
		return "", "Of loop, only index0 can be translated."
	}
	return n.join(baseVariables, names)
}

// njNames divides a.b["c"] into names.
func njNames(text string) ([]string, bool) {
	var names []string
	for i, word := range strings.Split(text, ".") {
		name, rest, _ := strings.Cut(word, "[")
		if name != "" || i > 0 {
			names = append(names, name)
		}
		for rest != "" {
			inner, next, ok := strings.Cut(rest, "]")
			member, literal := unquote(strings.TrimSpace(inner))
			if !ok || !literal || next != "" && next[0] != '[' {
				return nil, false
			}
			names = append(names, member)
			rest = strings.TrimPrefix(next, "[")
		}
	}
	for _, name := range names {
		if !template.ValidName(name) || nunjucksWords[name] {
			return nil, false
		}
	}
	return names, len(names) > 0
}

// nunjucksWords are words of the language, which are no variables.
var nunjucksWords = map[string]bool{"true": true, "false": true, "none": true, "null": true, "not": true, "and": true, "or": true, "in": true, "is": true}
