package promptfile

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"penstock/internal/prompt/content"
)

const openAIPrefix = "pmpt_"

// readOpenAI reads prompt objects: one, a list of them, or responses that show the prompt that they used. Objects with the same id
// are versions of one prompt.
func (r *reader) readOpenAI(f File) {
	root, wrong := readJSON(f.Text)
	if wrong != nil {
		r.fail(wrong.line, "", "%s.", wrong.message)
		return
	}
	all := []*node{root}
	if data := root.at("data"); data.isList() {
		all = data.list
	} else if root.isList() {
		all = root.list
	}
	for _, one := range all {
		openAIReader{r}.readOpenAIPrompt(one)
	}
}

// openAIReader reads prompt objects.
type openAIReader struct{ *reader }

func (r openAIReader) readOpenAIPrompt(one *node) {
	if !one.isObject() {
		r.fail(one.place(), "", "A prompt is an object with id, version, and instructions, messages or input.")
		return
	}
	key := one // where id, version and variables are
	if of := one.at("prompt"); of.isObject() {
		key = of
	}
	id := key.at("id").string()
	name := firstText(one.at("name").string(), one.at("title").string(), id)
	if name == "" {
		name = nameOf(r.file.Path, ".json")
	}
	p := r.renamed(one.line, name)
	if p == nil {
		return
	}
	v := Version{Written: key.at("version").scalar(), Message: one.at("description").string()}
	v.Number, _ = strconv.ParseInt(v.Written, 10, 64)
	v.Content = r.openAIContent(p, one)
	if one != key || one.at("object").string() == "response" {
		r.warnValues(p, one, key)
	} else if samples := sampleOf(key.at("variables")); samples != nil {
		v.Content.InputSchema = withSamples(v.Content, []*node{samples})
	}
	r.add(p, one.line, v)
	index := len(p.Versions) - 1
	if index < 0 {
		return
	}
	r.openAIAlias(p, id, index)
	if one.at("is_default").scalar() == "true" || one.at("default").scalar() == "true" {
		p.Labels[content.LabelDefault] = index
	}
}

// openAIAlias keeps the id of a hosted prompt valid, with the version of each of its numbers.
func (r openAIReader) openAIAlias(p *Prompt, id string, index int) {
	if id == "" {
		return
	}
	i := slices.IndexFunc(p.Aliases, func(a Alias) bool { return a.Alias == id })
	if i < 0 {
		i, p.Aliases = len(p.Aliases), append(p.Aliases, Alias{Alias: id, Versions: map[string]int{}})
	}
	if written := p.Versions[index].Written; written != "" {
		p.Aliases[i].Versions[written] = index
	}
}

// warnValues tells that a response shows values where the prompt has variables.
func (r openAIReader) warnValues(p *Prompt, one, key *node) {
	if variables := key.at("variables"); variables.isObject() && len(variables.names) > 0 {
		r.report(p, Problem{Line: one.line, Construct: strings.Join(variables.names, ", "), Severity: r.severity(),
			Message: "A response shows the values of these variables, not the variables. Copy the prompt from the dashboard, or put {{name}} in the place of each value."})
	}
}

func firstText(all ...string) string {
	for _, text := range all {
		if text != "" {
			return text
		}
	}
	return ""
}

// openAINotContent are members that are no part of a prompt: they identify it, or belong to a call.
var openAINotContent = []string{
	"id", "object", "name", "title", "description", "version", "variables", "prompt", "is_default", "default", "created_at", "created_by", "updated_at", "completed_at",
	"status", "error", "incomplete_details", "output", "output_text", "usage", "metadata", "store", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
	"previous_response_id", "conversation", "background", "service_tier", "billing", "moderation", "stream",
}

// openAIConfig are members of a response with the same meaning in a chat completion, by their names there.
var openAIConfig = map[string]string{
	"model": "model", "temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_completion_tokens", "max_tokens": "max_tokens", "top_logprobs": "top_logprobs",
	"parallel_tool_calls": "parallel_tool_calls", "seed": "seed", "stop": "stop", "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty",
	"reasoning_effort": "reasoning_effort", "response_format": "response_format", "verbosity": "verbosity",
}

func (r openAIReader) openAIContent(p *Prompt, one *node) content.Content {
	c := content.Content{Kind: content.KindChat}
	r.openAIMessages(p, &c, "developer", one.at("instructions"))
	r.openAIMessages(p, &c, "user", one.at("messages"))
	r.openAIMessages(p, &c, "user", one.at("input"))
	for _, name := range one.names {
		value := one.at(name)
		switch {
		case value == nil || slices.Contains(openAINotContent, name) || name == "instructions" || name == "messages" || name == "input":
		case openAIConfig[name] != "":
			setConfig(&c, openAIConfig[name], value.raw())
		case name == "reasoning":
			if effort := value.at("effort"); effort != nil {
				setConfig(&c, "reasoning_effort", effort.raw())
			}
		case name == "text":
			r.openAIText(&c, value)
		case name == "tools":
			r.openAITools(p, &c, value)
		case name == "tool_choice":
			setConfig(&c, name, toolChoice(value))
		case name == "truncation" && value.scalar() == "disabled":
		default:
			r.report(p, Problem{Line: value.line, Construct: name, Severity: SeverityWarning, Message: "This member has no place in a prompt here; it is not imported."})
		}
	}
	return c
}

// openAIText reads the form of the answer.
func (r openAIReader) openAIText(c *content.Content, text *node) {
	if verbosity := text.at("verbosity"); verbosity != nil {
		setConfig(c, "verbosity", verbosity.raw())
	}
	form := text.at("format")
	switch form.at("type").string() {
	case "json_object":
		setConfig(c, "response_format", json.RawMessage(`{"type":"json_object"}`))
	case "json_schema":
		schema := objectNode()
		for _, name := range form.names {
			if name != "type" {
				schema.put(name, form.at(name))
			}
		}
		setConfig(c, "response_format", objectNode().put("type", form.at("type")).put("json_schema", schema).raw())
	}
}

func (r openAIReader) openAITools(p *Prompt, c *content.Content, tools *node) {
	var all []*node
	for _, one := range tools.elements() {
		switch {
		case one.at("type").string() == "function" && one.at("function").isObject():
			all = append(all, one)
		case one.at("type").string() == "function":
			function := objectNode()
			for _, name := range one.names {
				if name != "type" {
					function.put(name, one.at(name))
				}
			}
			all = append(all, objectNode().put("type", one.at("type")).put("function", function))
		default:
			r.report(p, Problem{Line: one.place(), Construct: one.at("type").string(), Severity: r.severity(), Message: "Of the tools, functions can be imported; tools that OpenAI runs cannot."})
		}
	}
	if len(all) > 0 {
		setConfig(c, "tools", listNode(all).raw())
	}
}

// toolChoice writes a choice as a chat completion has it.
func toolChoice(value *node) json.RawMessage {
	if name := value.at("name"); value.at("type").string() == "function" && name != nil {
		return objectNode().put("type", value.at("type")).put("function", objectNode().put("name", name)).raw()
	}
	return value.raw()
}

// openAIMessages reads a text, or a list of items.
func (r openAIReader) openAIMessages(p *Prompt, c *content.Content, role string, items *node) {
	if items.isString() {
		c.Messages = append(c.Messages, content.Message{Role: role, Content: content.Body{Text: r.values(p, items.line-1, items.text, nil)}})
		return
	}
	for _, item := range items.elements() {
		if of := item.at("type").string(); !item.isObject() || of != "" && of != "message" {
			r.report(p, Problem{Line: item.place(), Construct: of, Severity: r.severity(), Message: "Of the items of a prompt, messages can be imported."})
			continue
		}
		m := content.Message{Role: firstText(item.at("role").string(), role)}
		if body := item.at("content"); body.isString() {
			m.Content.Text = r.values(p, body.line-1, body.text, nil)
		} else {
			m.Content = r.openAIParts(p, body)
		}
		c.Messages = append(c.Messages, m)
	}
}

// openAIParts reads the parts of a message. A message with one text is a text.
func (r openAIReader) openAIParts(p *Prompt, body *node) (out content.Body) {
	for _, part := range body.elements() {
		switch of := part.at("type").string(); of {
		case "input_text", "output_text", "text":
			out.Parts = append(out.Parts, content.Part{Type: content.PartText, Text: r.values(p, part.line-1, part.at("text").string(), nil)})
		case "input_image", "image_url":
			url := part.at("image_url")
			if url.isObject() {
				url = url.at("url")
			}
			if url.string() == "" {
				r.report(p, Problem{Line: part.line, Construct: of, Severity: r.severity(), Message: "An image needs a link or a data URL; uploaded files stay with OpenAI."})
				continue
			}
			out.Parts = append(out.Parts, content.Part{Type: content.PartImage, ImageURL: &content.ImageURL{URL: r.values(p, part.line-1, url.text, nil), Detail: part.at("detail").string()}})
		default:
			r.report(p, Problem{Line: part.place(), Construct: of, Severity: r.severity(), Message: "Of the parts of messages, texts and images can be imported."})
		}
	}
	if len(out.Parts) == 1 && out.Parts[0].Type == content.PartText {
		return content.Body{Text: out.Parts[0].Text}
	}
	return out
}
