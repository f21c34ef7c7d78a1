package promptfile

import (
	"strings"

	"penstock/internal/prompt/template"
)

// handlebars translates a Handlebars template with the helpers of dotprompt. Line is the line of the file before its first.
func (r *reader) handlebars(p *Prompt, line int, text string) []piece {
	h := &handlebarsReader{builder{r: r, prompt: p, line: line}}
	if len(text) > MaxTextBytes {
		h.fail(1, "", "The template has more than %d bytes.", MaxTextBytes)
		return nil
	}
	tags, unclosed := scanHandlebars(text)
	if unclosed > 0 {
		h.fail(unclosed, "{{", "The tag has no end.")
		return nil
	}
	for i := range tags {
		if h.broken {
			return nil
		}
		t := &tags[i]
		switch {
		case !t.tag:
			h.add(textPiece(t.text))
		case t.comment:
			comment := tag(template.TokenComment, strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(t.text, "!"), "--")))
			comment.OwnLine = bool(t.own)
			h.add(comment)
		default:
			h.tag(t)
		}
	}
	return h.done()
}

type handlebarsReader struct{ builder }

func (h *handlebarsReader) tag(t *mustache) {
	text := t.text
	if t.triple || strings.HasPrefix(text, "&") { // without escapes for HTML, as every value of a prompt
		text = strings.TrimSpace(strings.TrimPrefix(text, "&"))
		h.value(t, text)
		return
	}
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case text == "":
		h.fail(t.line, t.source, "The tag is empty.")
	case strings.HasPrefix(text, "{"):
		h.unsupported(t.line, t.source, "Raw blocks cannot be translated.")
	case strings.HasPrefix(text, "#>"):
		h.literal(t, strings.TrimSpace(text[2:]), "Partials with a block cannot be translated.")
	case strings.HasPrefix(text, "#*"):
		h.literal(t, "inline", "Decorators cannot be translated.")
	case text[0] == '#':
		h.section(t, strings.TrimSpace(text[1:]))
	case text[0] == '/':
		h.close(strings.TrimSpace(text[1:]), t.line, t.source, t.own)
	case text[0] == '>':
		h.partial(t, strings.TrimSpace(text[1:]))
	case text == "else" || text == "^":
		h.orElse(t.line, t.source, t.own)
	case word == "else":
		h.elseSection(t, rest)
	case text[0] == '^':
		h.inverse(t, strings.TrimSpace(text[1:]))
	case rest != "" || text == "history":
		h.helper(t, word, rest)
	default:
		h.value(t, text)
	}
}

func (h *handlebarsReader) value(t *mustache, path string) {
	ours, reason := h.path(path)
	if reason != "" {
		h.unsupported(t.line, t.source, reason)
		return
	}
	h.add(tag(template.TokenValue, ours))
}

// literal opens a section that stays as text.
func (h *handlebarsReader) literal(t *mustache, word, message string) {
	word, _, _ = strings.Cut(word, " ")
	h.r.unsupported(h.prompt, h.line+t.line, t.source, message)
	h.open(&frame{kind: frameLiteral, word: word, line: t.line, source: t.source})
}

func (h *handlebarsReader) section(t *mustache, text string) {
	word, rest, _ := strings.Cut(text, " ")
	f := &frame{word: word, line: t.line, source: t.source, own: t.own}
	kinds := map[string]frameKind{"if": frameIf, "unless": frameUnless, "each": frameEach, "with": frameWith}
	kind, known := kinds[word]
	if !known {
		h.literal(t, word, "The helper "+clip(word)+" cannot be translated; the sections are if, unless, each and with.")
		return
	}
	if reason := h.fill(f, kind, strings.TrimSpace(rest)); reason != "" {
		h.literal(t, word, reason)
		return
	}
	h.open(f)
}

// fill reads the argument of a section. It returns the reason why it cannot be translated, "" for none.
func (h *handlebarsReader) fill(f *frame, kind frameKind, argument string) (reason string) {
	f.kind = kind
	argument, params, named := strings.Cut(argument, " as |")
	if f.path, reason = h.path(strings.TrimSpace(argument)); reason != "" {
		return reason
	}
	if kind == frameIf || kind == frameUnless {
		f.base, f.prefix = h.context()
		return ""
	}
	var names []string
	if named {
		names = strings.Fields(strings.TrimSuffix(strings.TrimSpace(params), "|"))
	}
	f.params = map[string]string{}
	if kind == frameWith {
		base, prefix := h.baseOf(f.path)
		f.base, f.prefix = base, prefix
		if len(names) > 0 {
			f.params[names[0]] = ""
		}
		return ""
	}
	f.base = h.depth() + 1
	for i, name := range names[:min(2, len(names))] {
		f.params[name] = []string{"", "@index"}[i]
	}
	return ""
}

// elseSection reads {{else if …}}.
func (h *handlebarsReader) elseSection(t *mustache, text string) {
	word, rest, _ := strings.Cut(text, " ")
	if word != "if" {
		h.fail(t.line, t.source, "After else, only if can be translated.")
		return
	}
	if top := h.top(); top != nil && top.kind != frameLiteral && !top.inElse {
		top.inElse = true // the path of the condition is that of the second branch
		f := &frame{line: t.line, source: t.source, own: t.own}
		reason := h.fill(f, frameIf, strings.TrimSpace(rest))
		top.inElse = false
		if reason != "" {
			h.r.unsupported(h.prompt, h.line+t.line, t.source, reason)
			h.literalElse(top, t)
			return
		}
		h.orElseIf(f)
		return
	}
	h.orElse(t.line, t.source, t.own)
}

// literalElse turns a section with a condition that cannot be translated into text.
func (h *handlebarsReader) literalElse(top *frame, t *mustache) {
	top.kind = frameLiteral
	h.add(textPiece(t.source))
}

// inverse reads {{^path}}, which ends with {{/path}}.
func (h *handlebarsReader) inverse(t *mustache, path string) {
	f := &frame{word: path, line: t.line, source: t.source, own: t.own}
	if reason := h.fill(f, frameUnless, path); reason != "" {
		h.literal(t, path, reason)
		return
	}
	h.open(f)
}

func (h *handlebarsReader) partial(t *mustache, text string) {
	fields := strings.Fields(text)
	base, prefix := h.context()
	if len(fields) == 2 && fields[1] == "@root" { // the variables, as a partial sees them here
		fields, base, prefix = fields[:1], baseVariables, nil
	}
	switch {
	case len(fields) != 1:
		h.unsupported(t.line, t.source, "Partials with parameters cannot be translated: a partial sees the variables of the prompt.")
		return
	case base != baseVariables || len(prefix) > 0:
		h.unsupported(t.line, t.source, "A partial inside each or with sees the element in Handlebars, and the variables here.")
		return
	}
	name := strings.Trim(fields[0], `"'`)
	if plain := plainName(name); plain != name {
		h.unsupported(t.line, t.source, "The name of the partial has characters that names of prompts cannot have.")
		return
	}
	h.add(tag(template.TokenPartial, h.r.options.Prefix+name))
}

// helper reads the helpers of dotprompt that divide messages.
func (h *handlebarsReader) helper(t *mustache, word, arguments string) {
	divides := map[string]bool{"role": true, "history": true, "media": true}
	if !divides[word] {
		h.unsupported(t.line, t.source, "The helper "+clip(word)+" cannot be translated.")
		return
	}
	if len(h.frames) > 0 {
		h.unsupported(t.line, t.source, "A message inside of a section cannot be translated: write the section inside of the message.")
		return
	}
	p := piece{helper: word, line: h.line + t.line}
	p.Text = t.source
	var reason string
	switch word {
	case "role":
		p.word, reason = roleOf(arguments)
	case "media":
		p.word, reason = h.media(arguments)
	case "history":
		if arguments != "" {
			reason = "history has no parameters."
		}
	}
	if reason != "" {
		h.unsupported(t.line, t.source, reason)
		return
	}
	h.add(p)
}

// roleOf reads the role of dotprompt's helper.
func roleOf(argument string) (role, reason string) {
	name, literal := unquote(argument)
	switch {
	case literal && (name == "model" || name == "assistant"):
		return "assistant", ""
	case literal && (name == "system" || name == "user"):
		return name, ""
	}
	return "", "The role must be \"system\", \"user\" or \"model\"."
}

// media reads url=path or url="text"; other parameters are known by the URL itself.
func (h *handlebarsReader) media(arguments string) (url, reason string) {
	const wrong = "media needs url=variable or url=\"https://…\", and may have contentType."
	for arguments != "" {
		name, rest, ok := strings.Cut(arguments, "=")
		if !ok {
			return "", wrong
		}
		value, next := firstWord(rest)
		switch strings.TrimSpace(name) {
		case "url":
			if text, literal := unquote(value); literal {
				url = template.Escape(text)
				break
			}
			path, reason := h.path(value)
			if reason != "" {
				return "", reason
			}
			url = "{{" + path + "}}"
		case "contentType":
		default:
			return "", wrong
		}
		arguments = strings.TrimSpace(next)
	}
	if url == "" {
		return "", wrong
	}
	return url, ""
}

// firstWord divides a text behind its first word, which may be in quotes.
func firstWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		if i := strings.IndexByte(text[1:], text[0]); i >= 0 {
			return text[:i+2], text[i+2:]
		}
	}
	word, rest, _ = strings.Cut(text, " ")
	return word, rest
}

// unquote removes the quotes of a literal.
func unquote(text string) (string, bool) {
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		inner := text[1 : len(text)-1]
		return inner, !strings.ContainsAny(inner, `\`+text[:1])
	}
	return text, false
}
