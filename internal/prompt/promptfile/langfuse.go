package promptfile

import (
	"slices"
	"strconv"
	"strings"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// readLangfuse reads prompt objects of Langfuse's API: one, a list, or a page of them. Objects with the same name are versions.
func (r *reader) readLangfuse(f File) {
	root, wrong := readJSON(f.Text)
	if wrong != nil {
		r.fail(wrong.line, "", "%s.", wrong.message)
		return
	}
	all := []*node{root}
	for _, list := range []*node{root, root.at("data"), root.at("prompts")} {
		if list.isList() {
			all = list.list
		}
	}
	for _, one := range all {
		r.readLangfusePrompt(one)
	}
}

// langfuseNotContent are members that identify a version, or say where it came from.
var langfuseNotContent = []string{
	"id", "projectId", "name", "version", "type", "prompt", "config", "labels", "tags", "commitMessage", "isActive", "createdAt", "updatedAt", "createdBy", "resolutionGraph", "lastUpdatedAt",
}

func (r *reader) readLangfusePrompt(one *node) {
	body := one.at("prompt")
	if !one.isObject() || body == nil {
		r.fail(one.place(), "", "A prompt of Langfuse is an object with name, version and prompt.")
		return
	}
	p := r.renamed(one.line, one.at("name").string())
	if p == nil {
		return
	}
	v := Version{Written: one.at("version").scalar(), Message: one.at("commitMessage").string()}
	v.Number, _ = strconv.ParseInt(v.Written, 10, 64)
	v.Content = r.langfuseContent(p, one, body)
	for _, name := range one.names {
		if !slices.Contains(langfuseNotContent, name) {
			r.report(p, Problem{Line: one.members[name].line, Construct: name, Severity: SeverityWarning, Message: "This member has no place in a prompt here; it is not imported."})
		}
	}
	if tags := one.at("tags"); len(tags.elements()) > 0 {
		r.report(p, Problem{Line: tags.line, Construct: "tags", Severity: SeverityWarning, Message: "Prompts have no tags here; use folders in names."})
	}
	r.add(p, one.line, v)
	r.langfuseLabels(p, one)
}

func (r *reader) langfuseLabels(p *Prompt, one *node) {
	labels := one.at("labels").elements()
	if one.at("isActive").scalar() == "true" && !one.has("labels") {
		labels = []*node{stringNode(content.LabelDefault)}
	}
	for _, label := range labels {
		name := plainName(label.string())
		switch {
		case label.string() == content.LabelLatest:
		case name != label.string() || content.CheckLabel(name) != nil:
			r.report(p, Problem{Line: label.line, Construct: label.string(), Severity: SeverityWarning, Message: "This cannot be a label here; it is not imported."})
		default:
			p.Labels[name] = len(p.Versions) - 1
		}
	}
}

func (r *reader) langfuseContent(p *Prompt, one, body *node) (c content.Content) {
	if body.isString() {
		c.Kind, c.Text = content.KindText, r.values(p, body.line-1, body.text, langfuseReferences)
	} else {
		c.Kind = content.KindChat
		for _, m := range body.elements() {
			r.langfuseMessage(p, &c, m)
		}
	}
	config := one.at("config")
	if !config.isObject() {
		return c
	}
	for _, name := range config.names {
		value := config.at(name)
		switch {
		case value == nil:
		case openAIConfig[name] == name || slices.Contains(chatMembers, name):
			setConfig(&c, name, value.raw())
		default:
			r.report(p, Problem{Line: value.line, Construct: "config." + name, Severity: SeverityWarning, Message: "This is no member of a chat completion; it is not imported."})
		}
	}
	return c
}

// chatMembers are further members of a chat completion's body.
var chatMembers = []string{"tools", "tool_choice", "max_completion_tokens", "top_k", "n", "logit_bias", "logprobs", "reasoning"}

func (r *reader) langfuseMessage(p *Prompt, c *content.Content, m *node) {
	switch {
	case m.at("type").string() == "placeholder":
		name := m.at("name").string()
		if !template.ValidName(name) {
			r.report(p, Problem{Line: m.line, Construct: name, Message: "This cannot be the name of a variable; rename the placeholder."})
			return
		}
		c.Messages = append(c.Messages, content.Message{Placeholder: name})
	case m.at("content").isString():
		body := m.at("content")
		c.Messages = append(c.Messages, content.Message{Role: m.at("role").string(), Content: content.Body{Text: r.values(p, body.line-1, body.text, langfuseReferences)}})
	default:
		r.report(p, Problem{Line: m.place(), Severity: r.severity(), Message: "Of the messages, those with a text can be imported."})
	}
}

const (
	referenceOpen = "@@@langfusePrompt:"
	referenceEnd  = "@@@"
)

// langfuseReferences finds references to other prompts between tags.
func langfuseReferences(b *builder, line int, text string) {
	for {
		before, rest, found := strings.Cut(text, referenceOpen)
		inner, behind, closed := strings.Cut(rest, referenceEnd)
		if !found || !closed {
			b.add(textPiece(text))
			return
		}
		b.add(textPiece(before))
		line += strings.Count(before, "\n")
		source := referenceOpen + inner + referenceEnd
		if reference := langfuseReference(inner); reference == "" {
			b.unsupported(line, source, "A reference has a name, and a version or a label.")
		} else {
			b.add(tag(template.TokenPartial, b.r.options.Prefix+reference))
		}
		text = behind
	}
}

// langfuseReference reads name=X|version=1 or name=X|label=Y; "" if it is neither.
func langfuseReference(text string) string {
	var name, selector string
	for field := range strings.SplitSeq(text, "|") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "name":
			name = plainName(value)
		case "version", "label":
			selector = value
		}
	}
	if name == "" || selector == "" || content.CheckName(name) != nil {
		return ""
	}
	if _, err := content.ParseReference(name + "@" + selector); err != nil {
		return ""
	}
	return name + "@" + selector
}
