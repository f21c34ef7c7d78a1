package litellm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"penstock/internal/config"
)

// prune leaves out the settings and the deployments that Penstock's file cannot hold, and reports each, so that one of
// them does not cost the others. Every round removes all that the last check complained about; a removal can only
// cause complaints about the parts that named it, so there are few rounds.
func (im *importer) prune() error {
	for {
		_, err := im.checked()
		if err == nil {
			return nil
		}
		problems, ok := errors.AsType[config.Problems](err)
		if !ok {
			return err
		}
		if before := len(im.findings); !im.leaveOut(problems) || len(im.findings) == before {
			return fmt.Errorf("the translation is no valid file, and no entry of model_list is the cause: %w", err)
		}
	}
}

// checked is the result, if it is a file that serve accepts, apart from the values of its variables.
func (im *importer) checked() (*Result, error) {
	r, err := im.result()
	if err != nil {
		return nil, err
	}
	if _, err := config.Parse("the translated file", r.YAML, config.Pretend(r.Samples)); err != nil {
		return nil, err
	}
	return r, nil
}

// leaveOut removes the part of the file that each problem is about. It is false if a problem is about no deployment.
func (im *importer) leaveOut(problems config.Problems) bool {
	for _, p := range problems {
		section, name, field := split(p.Path)
		switch t := im.targets[name]; {
		case section == "targets" && t != nil:
			if t.without(field) {
				im.dropped(t.from, "%s of the target is left out: %s", field, p.Message)
			} else {
				im.leaveOutTarget(name, field, p.Message)
			}
		case section == "providers":
			for _, id := range slices.Sorted(maps.Keys(im.targets)) {
				if im.targets[id].Provider == name {
					im.leaveOutTarget(id, field, p.Message)
				}
			}
		case section != "targets": // else another problem removed it
			return false
		}
	}
	maps.DeleteFunc(im.providers, func(name string, _ *provider) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(im.targets)), func(t *target) bool { return t.Provider == name })
	})
	return true
}

// split takes apart a path such as targets["gpt-4.1"].price.input.
func split(path string) (section, name, field string) {
	i := strings.IndexAny(path, ".[")
	if i < 0 {
		return path, "", ""
	}
	section, path = path[:i], path[i:]
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil {
		name, _ = strconv.Unquote(quoted)
		return section, name, strings.TrimPrefix(path[1+len(quoted):], "].")
	}
	name, field, _ = strings.Cut(path[1:], ".")
	return section, name, field
}

// without removes one setting that a target does not need, and reports whether it had such a setting.
func (t *target) without(field string) bool {
	if limit, ok := strings.CutPrefix(field, "limits."); ok && t.Limits[limit] != 0 {
		delete(t.Limits, limit)
		return true
	}
	for name, value := range map[string]*int64{"max_output_tokens": &t.MaxOutputTokens, "context_tokens": &t.ContextTokens} {
		if name == field && *value != 0 {
			*value = 0
			return true
		}
	}
	return false
}

// leaveOutTarget removes a target, and the models that have no other.
func (im *importer) leaveOutTarget(id, field, why string) {
	im.dropped(im.targets[id].from, "it is left out: %s", strings.TrimPrefix(field+": "+why, ": "))
	delete(im.targets, id)
	for _, name := range slices.Clone(im.order) {
		m := im.models[name]
		m.Targets = slices.DeleteFunc(m.Targets, func(one string) bool { return one == id })
		if len(m.Targets) > 0 {
			continue
		}
		delete(im.models, name)
		im.order = slices.DeleteFunc(im.order, func(one string) bool { return one == name })
		if name == im.fallback {
			im.fallback = ""
		}
	}
}
