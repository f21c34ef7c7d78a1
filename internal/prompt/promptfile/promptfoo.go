package promptfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"penstock/internal/prompt/content"
)

const fileScheme = "file://"

// readPromptfoo reads a configuration of promptfoo. The other files are texts that it refers to: nothing is read from a disk.
func (r *reader) readPromptfoo(f File) {
	if ext := path.Ext(f.Path); ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return // a text that a configuration refers to
	}
	root, wrong := r.yaml(f.Text)
	if wrong != nil {
		r.fail(wrong.line, "", "%s.", wrong.message)
		return
	}
	if !root.has("prompts") {
		return
	}
	foo := &promptfooReader{reader: r, root: root}
	foo.read()
}

type promptfooReader struct {
	*reader
	root   *node
	common content.Content // its config is that of all prompts
	found  []*Prompt
}

func (r *promptfooReader) read() {
	for _, name := range r.root.names {
		if !slices.Contains([]string{"description", "prompts", "providers", "targets", "tests", "defaultTest", "$schema", "tags"}, name) {
			r.warn(r.root.members[name].line, name, "This section has no place in prompts; it is not imported.")
		}
	}
	prompts := r.root.at("prompts")
	all := prompts.elements()
	if prompts.isString() {
		all = []*node{prompts}
	}
	r.providers()
	for i, one := range all {
		r.entry(one, r.nameFor(one, i, len(all)))
	}
	r.samples()
}

// warn reports a part of the file that is not imported.
func (r *promptfooReader) warn(line int, construct, message string) {
	r.fail(line, construct, "%s", message)
	if last := len(r.set.Problems) - 1; last >= 0 {
		r.set.Problems[last].Severity = SeverityWarning
	}
}

// nameFor is the label of a prompt, or else the name of the file with a number if there are several.
func (r *promptfooReader) nameFor(one *node, i, of int) string {
	if label := firstText(one.at("label").scalar(), one.at("id").scalar()); label != "" && !strings.HasPrefix(label, fileScheme) {
		return label
	}
	name := strings.TrimSuffix(nameOf(r.file.Path, ""), path.Ext(r.file.Path))
	if of > 1 {
		name += fmt.Sprintf("-%d", i+1)
	}
	return name
}

// entry reads one of the prompts: a template, a path of a file, or an object with either.
func (r *promptfooReader) entry(one *node, name string) {
	p := r.renamed(one.place(), name)
	if p == nil {
		return
	}
	source := one
	if one.isObject() {
		for _, key := range []string{"raw", "id", "file"} {
			if one.at(key).isString() {
				source = one.at(key)
				break
			}
		}
	}
	if source.isList() {
		r.version(p, source.line, source, "")
		return
	}
	if !source.isString() {
		r.report(p, Problem{Line: one.place(), Message: "A prompt is a text, a path of a file, or an object with raw or id."})
		return
	}
	reference, isFile := strings.CutPrefix(source.text, fileScheme)
	if isFile || looksLikePath(source.text) {
		r.referred(p, source.line, reference)
		return
	}
	r.version(p, source.textLine(), nil, source.text)
}

// textExtensions are those of files that promptfoo reads as templates.
var textExtensions = []string{".txt", ".md", ".j2", ".json", ".yaml", ".yml", ".csv", ".js", ".mjs", ".cjs", ".ts", ".py"}

func looksLikePath(text string) bool {
	return !strings.ContainsAny(text, "\n{ ") && slices.Contains(textExtensions, path.Ext(text))
}

// referred reads a prompt from another file of the import.
func (r *promptfooReader) referred(p *Prompt, line int, reference string) {
	switch path.Ext(reference) {
	case ".js", ".mjs", ".cjs", ".ts", ".py", ".csv":
		r.report(p, Problem{Line: line, Construct: reference, Message: "Prompts that a program makes cannot be imported; write a template."})
		return
	}
	if strings.ContainsAny(reference, "*?[") {
		r.report(p, Problem{Line: line, Construct: reference, Message: "Patterns of file names cannot be imported; name each file."})
		return
	}
	at := path.Join(path.Dir(r.file.Path), reference)
	i := slices.IndexFunc(r.files, func(f File) bool { return path.Clean(f.Path) == at })
	if i < 0 {
		r.report(p, Problem{Line: line, Construct: reference, Message: "The file is not a part of the import; the command line adds files that are next to the configuration."})
		return
	}
	config := r.file
	r.file = r.files[i]
	defer func() { r.file = config }()
	switch path.Ext(reference) {
	case ".yaml", ".yml":
		root, wrong := r.yaml(r.file.Text)
		if wrong != nil {
			r.report(p, Problem{Line: wrong.line, Message: wrong.message + "."})
			return
		}
		r.version(p, 1, root, "")
	default:
		r.version(p, 1, nil, r.file.Text)
	}
}

// version adds the content of a prompt: messages, or a text that may be messages as JSON.
func (r *promptfooReader) version(p *Prompt, line int, messages *node, text string) {
	if len(p.Versions) > 0 {
		r.report(p, Problem{Line: line, Message: "Two prompts have the name " + p.Name + "; give them labels."})
		return
	}
	c := content.Content{Kind: content.KindText, Config: r.common.Config}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") && strings.Contains(trimmed, `"role"`) {
		parsed, wrong := readJSON(trimmed)
		if wrong != nil {
			r.report(p, Problem{Line: line + wrong.line - 1, Construct: "[", Severity: r.severity(), Message: "Messages whose list a template writes cannot be imported; write a list of messages."})
		}
		messages = parsed
	}
	if messages == nil {
		c.Text = r.print(p, line, r.nunjucks(p, line-1, text))
	} else {
		c.Kind = content.KindChat
		r.promptfooMessages(p, &c, line, messages)
	}
	r.add(p, line, Version{Content: c})
	r.found = append(r.found, p)
}

func (r *promptfooReader) promptfooMessages(p *Prompt, c *content.Content, line int, messages *node) {
	for _, m := range messages.elements() {
		at := line + m.line - 1
		if m.isString() { // a placeholder for a list of messages is not known; a text is the user's
			c.Messages = append(c.Messages, content.Message{Role: "user", Content: content.Body{Text: r.print(p, at, r.nunjucks(p, at-1, m.text))}})
			continue
		}
		body := m.at("content")
		out := content.Message{Role: m.at("role").string()}
		switch {
		case body.isString():
			out.Content.Text = r.print(p, at, r.nunjucks(p, at-1, body.text))
		case body.isList():
			for _, part := range body.list {
				out.Content.Parts = append(out.Content.Parts, r.promptfooPart(p, at, part))
			}
		default:
			r.report(p, Problem{Line: at, Severity: r.severity(), Message: "A message needs content."})
		}
		c.Messages = append(c.Messages, out)
	}
}

func (r *promptfooReader) promptfooPart(p *Prompt, line int, part *node) content.Part {
	url := part.at("image_url")
	if url.isObject() {
		url = url.at("url")
	}
	if url.isString() {
		return content.Part{Type: content.PartImage, ImageURL: &content.ImageURL{URL: r.print(p, line, r.nunjucks(p, line-1, url.text)), Detail: part.at("image_url").at("detail").string()}}
	}
	return content.Part{Type: firstText(part.at("type").string(), content.PartText), Text: r.print(p, line, r.nunjucks(p, line-1, part.at("text").string()))}
}

// providers reads the model and the parameters of the first provider.
func (r *promptfooReader) providers() {
	all := r.root.at("providers")
	if all == nil {
		all = r.root.at("targets")
	}
	list := all.elements()
	if all.isString() {
		list = []*node{all}
	}
	if len(list) == 0 {
		return
	}
	if len(list) > 1 {
		r.warn(list[1].place(), "providers", "A prompt has one model: that of the first provider is imported.")
	}
	first := list[0]
	id := first.scalar()
	if first.isObject() {
		id = first.at("id").scalar()
	}
	if parts := strings.Split(id, ":"); id != "" && !strings.HasPrefix(id, fileScheme) {
		setConfig(&r.common, "model", jsonOf(parts[len(parts)-1]))
	}
	config := first.at("config")
	if !config.isObject() {
		return
	}
	for _, name := range config.names {
		if value := config.at(name); value != nil && (openAIConfig[name] == name || slices.Contains(chatMembers, name)) {
			setConfig(&r.common, name, value.raw())
		} else if value != nil {
			r.warn(value.line, "config."+name, "This is no member of a chat completion; it is not imported.")
		}
	}
}

// samples adds the variables of tests to the prompts as examples.
func (r *promptfooReader) samples() {
	defaults := r.root.at("defaultTest").at("vars")
	var all []*node
	for _, test := range r.root.at("tests").elements() {
		for _, name := range test.names {
			if name != "vars" && name != "description" {
				r.warn(test.members[name].line, name, "Of the tests, the variables are imported as examples.")
				break
			}
		}
		sample := objectNode()
		for _, vars := range []*node{test.at("vars"), defaults} {
			if !vars.isObject() {
				continue
			}
			for _, name := range vars.names {
				if value := vars.members[name]; sample.members[name] == nil && !strings.HasPrefix(value.string(), fileScheme) {
					sample.put(name, value)
				}
			}
		}
		if len(sample.names) > 0 && len(all) < MaxSamples {
			all = append(all, sample)
		}
	}
	if r.root.at("tests").isString() {
		r.warn(r.root.at("tests").line, "tests", "Tests in other files are not imported.")
	}
	if len(all) == 0 {
		return
	}
	for _, p := range r.found {
		p.Versions[0].Content.InputSchema = withSamples(p.Versions[0].Content, all)
	}
}
