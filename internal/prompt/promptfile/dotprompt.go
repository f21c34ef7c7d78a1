package promptfile

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

const dotpromptExtension = ".prompt"

// readDotprompt reads a .prompt file. Its path is the name; partials begin with _, which is no part of the name.
func (r *reader) readDotprompt(f File) {
	folder, base := path.Split(nameOf(f.Path, dotpromptExtension))
	p := r.prompt(1, folder+strings.TrimPrefix(base, "_"))
	if p == nil {
		return
	}
	if len(p.Versions) > 0 {
		r.report(p, Problem{Message: "Two files have the name " + p.Name + "; rename one of them."})
		return
	}
	front, body, line := splitFront(f.Text)
	var c content.Content
	var message string
	if front != "" {
		root, wrong := r.yaml(front)
		if wrong != nil {
			r.report(p, Problem{Line: max(wrong.line, 1), Message: "The front matter is not valid: " + wrong.message + "."})
			return
		}
		dotpromptReader{r}.frontMatter(p, &c, root)
		message = root.at("description").scalar()
	}
	r.fillMessages(p, &c, r.handlebars(p, line, body))
	c.InputSchema = withHistory(c)
	r.add(p, 1, Version{Content: c, Message: message})
}

// splitFront divides a file into its front matter and its body. Empty lines and comments may stand before the front matter; they
// become empty lines, so that the lines of problems are those of the file. Line counts the lines before the body.
func splitFront(text string) (front, body string, line int) {
	text = strings.TrimPrefix(text, "\uFEFF")
	begun := false
	at := 0
	for at < len(text) && !begun {
		head, _, _ := strings.Cut(text[at:], "\n")
		at, line = min(at+len(head)+1, len(text)), line+1
		trimmed := strings.TrimSpace(head)
		if begun = trimmed == "---"; !begun && trimmed != "" && trimmed[0] != '#' {
			return "", text, 0
		}
	}
	end := frontEnd(text[at:])
	if !begun || end < 0 {
		return "", text, 0
	}
	inside := text[at : at+end]
	_, body, _ = strings.Cut(text[at+end:], "\n")
	return strings.Repeat("\n", line) + inside, body, line + strings.Count(inside, "\n") + 1
}

// frontEnd is where the line --- begins that ends the front matter, -1 for none.
func frontEnd(text string) int {
	for at := 0; at < len(text); {
		line, _, _ := strings.Cut(text[at:], "\n")
		if strings.TrimRight(line, blank) == "---" {
			return at
		}
		at += len(line) + 1
	}
	return -1
}

// configNames are members of dotprompt's config with their names in a chat completion.
var configNames = map[string]string{
	"maxOutputTokens": "max_tokens", "topK": "top_k", "topP": "top_p", "stopSequences": "stop", "presencePenalty": "presence_penalty",
	"frequencyPenalty": "frequency_penalty", "candidateCount": "n", "temperature": "temperature", "seed": "seed",
}

// frontKeys are keys of the front matter that say nothing about the content.
var frontKeys = map[string]bool{"name": true, "description": true, "variant": true, "metadata": true}

// dotpromptReader reads the front matter of a file.
type dotpromptReader struct{ *reader }

func (r dotpromptReader) frontMatter(p *Prompt, c *content.Content, root *node) {
	if !root.isObject() {
		if root.kind != kindNull {
			r.report(p, Problem{Line: root.line, Message: "The front matter must be a map."})
		}
		return
	}
	for _, name := range root.names {
		value := root.at(name)
		switch {
		case value == nil || frontKeys[name]:
		case name == "model":
			setConfig(c, "model", jsonOf(value.scalar()))
		case name == "config":
			r.dotpromptConfig(p, c, value)
		case name == "input":
			r.dotpromptInput(p, c, value)
		case name == "output":
			r.dotpromptOutput(p, c, value)
		case name == "tools" || name == "toolDefs":
			r.dotpromptTools(p, c, value)
		default:
			r.report(p, Problem{Line: value.line, Construct: name, Severity: SeverityWarning, Message: "This key has no place in a prompt here; it is not imported."})
		}
	}
}

func (r dotpromptReader) dotpromptConfig(p *Prompt, c *content.Content, config *node) {
	for _, name := range config.names {
		value, known := config.at(name), configNames[name]
		if value == nil {
			continue
		}
		if known == "" {
			known = name
			if strings.ToLower(name) != name {
				r.report(p, Problem{Line: value.line, Construct: name, Severity: SeverityWarning, Message: "This is no member of a chat completion; it is sent to the model as it is."})
			}
		}
		setConfig(c, known, value.raw())
	}
}

func (r dotpromptReader) dotpromptInput(p *Prompt, c *content.Content, input *node) {
	if schema := input.at("schema"); schema != nil {
		c.InputSchema = r.schema(p, schema)
	}
	if value := input.at("default"); value != nil {
		r.report(p, Problem{Line: value.line, Construct: "input.default", Severity: r.severity(),
			Message: "Variables have no default values here; let the callers give them, or write {{#if name}}…{{else}}…{{/if}}."})
	}
}

// withHistory adds the history to a schema that allows no other variables: in dotprompt it is no variable.
func withHistory(c content.Content) json.RawMessage {
	schema := jsonNode(c.InputSchema)
	uses := slices.ContainsFunc(c.Messages, func(m content.Message) bool { return m.Placeholder == historyName })
	if properties := schema.at("properties"); uses && properties.isObject() && !properties.has(historyName) && schema.at("additionalProperties").scalar() == "false" {
		properties.put(historyName, objectNode().put("type", stringNode("array")))
		return schema.raw()
	}
	return c.InputSchema
}

// historyName is the variable with the messages of dotprompt's helper.
const historyName = "history"

// severity is that of a part that is lost: an error, or a warning if such parts are accepted.
func (r *reader) severity() Severity {
	if r.options.Unsupported == Keep {
		return SeverityWarning
	}
	return SeverityError
}

func (r dotpromptReader) dotpromptOutput(p *Prompt, c *content.Content, output *node) {
	schema, form := output.at("schema"), output.at("format").scalar()
	switch {
	case schema != nil:
		setConfig(c, "response_format", jsonOf(map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": outputName, "schema": r.schema(p, schema)}}))
	case form == "json":
		setConfig(c, "response_format", json.RawMessage(`{"type":"json_object"}`))
	case form != "" && form != "text":
		r.report(p, Problem{Line: output.line, Construct: "format: " + form, Severity: r.severity(), Message: "Of the formats of answers, json and text can be imported."})
	}
}

// outputName is the name of the schema of answers, which dotprompt does not name.
const outputName = "output"

func (r dotpromptReader) dotpromptTools(p *Prompt, c *content.Content, tools *node) {
	var all []any
	for _, one := range tools.elements() {
		if !one.isObject() || one.at("name").scalar() == "" {
			r.report(p, Problem{Line: one.line, Construct: one.scalar(), Severity: r.severity(), Message: "The file names this tool and does not define it; add its definition to config.tools."})
			continue
		}
		function := map[string]any{"name": one.at("name").scalar()}
		if text := one.at("description").scalar(); text != "" {
			function["description"] = text
		}
		if schema := one.at("inputSchema"); schema != nil {
			function["parameters"] = r.schema(p, schema)
		}
		all = append(all, map[string]any{"type": "function", "function": function})
	}
	if len(all) > 0 {
		setConfig(c, "tools", jsonOf(all))
	}
}

// fillMessages divides a translated template into messages. Without helpers it is a text.
func (r *reader) fillMessages(p *Prompt, c *content.Content, pieces []piece) {
	c.Kind = content.KindText
	for _, one := range pieces {
		if one.helper != "" {
			c.Kind = content.KindChat
		}
	}
	if c.Kind == content.KindText {
		c.Text = r.print(p, 1, pieces)
		return
	}
	m := &messageMaker{r: r, p: p, c: c, role: "user"}
	for _, one := range pieces {
		switch one.helper {
		case "":
			m.text = append(m.text, one)
		case "role":
			m.flush(one.line)
			m.role = one.word
		case "history":
			m.flush(one.line)
			c.Messages = append(c.Messages, content.Message{Placeholder: historyName})
			m.role = "assistant" // what follows is the model's, as in dotprompt
		case "media":
			m.flushText(one.line)
			m.parts = append(m.parts, content.Part{Type: content.PartImage, ImageURL: &content.ImageURL{URL: one.word}})
		}
	}
	m.flush(0)
}

// messageMaker collects the parts of a message.
type messageMaker struct {
	r     *reader
	p     *Prompt
	c     *content.Content
	role  string
	text  []piece
	parts []content.Part
}

// flushText ends a part. White space around it is removed.
func (m *messageMaker) flushText(line int) {
	all := m.text
	m.text = nil
	if len(all) > 0 && all[0].Kind == template.TokenText {
		all[0].Text = strings.TrimLeft(all[0].Text, blank+"\n")
	}
	if last := len(all) - 1; last >= 0 && all[last].Kind == template.TokenText {
		all[last].Text = strings.TrimRight(all[last].Text, blank+"\n")
	}
	if text := m.r.print(m.p, line, all); text != "" {
		m.parts = append(m.parts, content.Part{Type: content.PartText, Text: text})
	}
}

// flush ends a message. Messages without content are left out, as in dotprompt.
func (m *messageMaker) flush(line int) {
	m.flushText(line)
	parts := m.parts
	m.parts = nil
	switch {
	case len(parts) == 0:
		return
	case len(parts) == 1 && parts[0].Type == content.PartText:
		m.c.Messages = append(m.c.Messages, content.Message{Role: m.role, Content: content.Body{Text: parts[0].Text}})
	default:
		m.c.Messages = append(m.c.Messages, content.Message{Role: m.role, Content: content.Body{Parts: parts}})
	}
}

// setConfig sets a member of the config.
func setConfig(c *content.Content, name string, value json.RawMessage) {
	if c.Config == nil {
		c.Config = content.Config{}
	}
	c.Config[name] = value
}

// jsonOf encodes a value that was made here.
func jsonOf(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil { // maps, lists, strings and JSON can be encoded
		return json.RawMessage("null")
	}
	return text
}
