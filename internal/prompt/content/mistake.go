package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"penstock"
)

// maxNamed bounds how many mistakes of one sort an error names.
const maxNamed = 20

// mistakes are what is wrong with variables, by sort.
type mistakes struct{ missing, unknown, wrong []string }

// add takes the innermost errors of a validation.
func (m *mistakes) add(e *jsonschema.ValidationError) {
	where := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			m.missing = append(m.missing, pathOf(append(slices.Clone(where), name)))
		}
		return
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			m.unknown = append(m.unknown, pathOf(append(slices.Clone(where), name)))
		}
		return
	case *kind.Type:
		m.wrong = append(m.wrong, fmt.Sprintf("%s must be %s, not %s", pathOf(where), strings.Join(k.Want, " or "), k.Got))
		return
	}
	alternatives := false
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not:
		alternatives = true // the errors of all alternatives together say nothing
	}
	if len(e.Causes) > 0 && !alternatives {
		for _, cause := range e.Causes {
			m.add(cause)
		}
		return
	}
	m.wrong = append(m.wrong, fmt.Sprintf("%s breaks the rule %s of its schema", pathOf(where), strings.Join(e.ErrorKind.KeywordPath(), ".")))
}

// pathOf writes a place inside the variables.
func pathOf(where []string) string {
	if len(where) == 0 {
		return "variables"
	}
	parts := make([]string, len(where))
	for i, part := range where {
		parts[i] = clip(part)
	}
	return strings.Join(parts, ".")
}

// err is one error for all mistakes, nil for none.
func (m *mistakes) err(known []string) error {
	var said []string
	for _, one := range []struct {
		word string
		list []string
	}{{"missing: ", m.missing}, {"unknown: ", m.unknown}, {"", m.wrong}} {
		if len(one.list) > 0 {
			said = append(said, one.word+listed(one.list))
		}
	}
	if len(said) == 0 {
		return nil
	}
	has := "the prompt has no variables"
	if len(known) > 0 {
		has = "the variables are " + listed(known)
	}
	return penstock.InvalidParam("variables", "The variables do not fit the prompt: %s; %s.", strings.Join(said, "; "), has)
}

// listed joins names, each once, in order.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if len(names) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(names)-maxNamed)
		names = names[:maxNamed]
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = strings.ToValidUTF8(name, "\uFFFD")
	}
	return strings.Join(shown, ", ") + more
}
