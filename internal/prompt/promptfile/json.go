package promptfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"penstock/internal/prompt/content"
)

// exportObject is the kind of a complete export.
const exportObject = "prompt.export"

// strictly decodes JSON and refuses unknown members.
func strictly(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// readJSONExport reads a complete export.
func (r *reader) readJSONExport(f File) {
	root, wrong := readJSON(f.Text)
	if wrong != nil {
		r.fail(wrong.line, "", "%s.", wrong.message)
		return
	}
	all := root.at("prompts")
	if !all.isList() {
		r.fail(root.line, "", "An export has a list of prompts.")
		return
	}
	for _, one := range all.list {
		r.readExported(one)
	}
}

func (r *reader) readExported(one *node) {
	p := r.prompt(one.place(), one.at("name").string())
	if p == nil {
		return
	}
	if len(p.Versions) > 0 {
		r.report(p, Problem{Line: one.line, Message: "The prompt is in the files twice."})
		return
	}
	if base := one.at("base"); base != nil {
		n, err := strconv.ParseInt(base.scalar(), 10, 64)
		if err != nil || n < 0 {
			r.report(p, Problem{Line: base.line, Construct: "base", Message: "base must be the number of a version, or 0."})
		}
		p.Base = &n
	}
	p.Archived = one.at("archived").scalar() == "true"
	indexes := map[string]int{}
	for _, v := range one.at("versions").elements() {
		if i, ok := r.readExportedVersion(p, v); ok {
			indexes[p.Versions[i].Written] = i
		}
	}
	if labels := one.at("labels"); labels.isObject() {
		for _, label := range labels.names {
			i, there := indexes[labels.members[label].scalar()]
			if !there {
				r.report(p, Problem{Line: labels.members[label].line, Construct: label, Message: "The label names a version that the export does not have."})
				continue
			}
			p.Labels[label] = i
		}
	}
	r.readExportedIDs(p, one, indexes)
}

func (r *reader) readExportedVersion(p *Prompt, one *node) (index int, ok bool) {
	if one.at("deleted").scalar() == "true" {
		return 0, false
	}
	v := Version{Message: one.at("message").string(), Written: one.at("version").scalar()}
	v.Number, _ = strconv.ParseInt(v.Written, 10, 64)
	v.Parent, _ = strconv.ParseInt(one.at("parent").scalar(), 10, 64)
	c, ok := r.contentOf(p, one, "version", "sha256", "parent", "author", "message", "created_at", "references", "deleted")
	if !ok {
		return 0, false
	}
	v.Content = c
	for _, ref := range one.at("references").elements() {
		n, err := strconv.ParseInt(ref.at("version").scalar(), 10, 64)
		if err != nil {
			r.report(p, Problem{Line: ref.line, Construct: "references", Message: "A reference has written, name and version."})
			continue
		}
		v.References = append(v.References, content.Resolved{Written: ref.at("written").string(), Name: ref.at("name").string(), Version: n})
	}
	before := len(p.Versions)
	r.add(p, one.line, v)
	return before, len(p.Versions) > before
}

// readExportedIDs reads the id of a prompt and its aliases. The id of the other installation stays valid.
func (r *reader) readExportedIDs(p *Prompt, one *node, indexes map[string]int) {
	if id := one.at("id").string(); id != "" {
		p.Aliases = append(p.Aliases, Alias{Alias: id, Versions: indexes})
	}
	for _, a := range one.at("aliases").elements() {
		alias := Alias{Alias: a.at("id").string(), Versions: map[string]int{}}
		if versions := a.at("versions"); versions.isObject() {
			for _, written := range versions.names {
				i, there := indexes[versions.members[written].scalar()]
				if !there {
					r.report(p, Problem{Line: a.line, Construct: alias.Alias, Severity: SeverityWarning,
						Message: fmt.Sprintf("Version %s of this id names a version that the export does not have.", clip(written))})
					continue
				}
				alias.Versions[written] = i
			}
		}
		p.Aliases = append(p.Aliases, alias)
	}
}
