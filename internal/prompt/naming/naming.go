// Package naming reads how callers name a prompt: as a member of a body, in OpenAI's form of it, and as a header.
//
// A reference has one canonical text, such as support/answer@production. Two references with the same text mean the same version at
// any moment, so work that is accepted now and read later can keep what each text meant.
//
// It reads and writes bytes and holds no state.
package naming

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/prompt/content"
)

const (
	// prefix begins the ids of prompts, OpenAI's too.
	prefix = "pmpt_"
	// maxIDBytes bounds an id.
	maxIDBytes = 128
)

// Reference names a version of a prompt.
type Reference struct {
	ID string // of the prompt, pmpt_…; "" if the reference has its name
	content.Reference
}

// String is the canonical text.
func (r Reference) String() string {
	if r.ID != "" {
		r.Name = r.ID
	}
	return r.Reference.String()
}

// Use is a reference with variables.
type Use struct {
	Reference
	Variables []byte // a JSON object; nil for none
}

// Parse reads a reference as a header has it: support/answer, support/answer@production, support/answer@7, or an id in the place of the
// name. Codes: invalid_request.
func Parse(text string) (r Reference, err error) {
	name, selector, selects := strings.Cut(text, "@")
	if !strings.HasPrefix(name, prefix) {
		r.Reference, err = content.ParseReference(text)
		return r, err
	}
	if r.ID = name; !validID(name) {
		return r, invalidID(name)
	}
	if selects {
		err = r.Select(selector)
	}
	return r, err
}

// ParseHeader reads the two headers that name a prompt. Variables are a JSON object, or one with percent-encoding, because the value of a
// header has ASCII characters only. Codes: invalid_request.
func ParseHeader(reference, variables string) (u Use, err error) {
	if u.Reference, err = Parse(strings.TrimSpace(reference)); err != nil {
		return u, err
	}
	if variables = strings.TrimSpace(variables); variables == "" {
		return u, nil
	}
	if variables[0] != '{' {
		if variables, err = url.PathUnescape(variables); err != nil {
			return u, penstock.InvalidParam("variables", "The variables are neither a JSON object nor one with percent-encoding.")
		}
	}
	if _, err := body.Scan([]byte(variables)); err != nil {
		return u, penstock.InvalidParam("variables", "The variables are no JSON object: the text %v.", err)
	}
	u.Variables = []byte(variables)
	return u, nil
}

// ParseMember reads the member of a body: {"name", "label" or "version", "variables"}, or OpenAI's {"id", "version", "variables"}, whose
// version is a string. Codes: invalid_request.
func ParseMember(member []byte) (u Use, err error) {
	o, err := body.Scan(member)
	if err != nil {
		return u, penstock.InvalidParam("prompt", "prompt %v.", err)
	}
	for _, m := range o.Members {
		if !slices.Contains(members, m.Name) {
			return u, penstock.InvalidParam("prompt."+clip(m.Name), "prompt has no member %q; it has %s.", clip(m.Name), strings.Join(members, ", "))
		}
	}
	if err := u.readName(o); err != nil {
		return u, err
	}
	if err := u.readVersion(o); err != nil {
		return u, err
	}
	if raw := o.Raw("variables"); len(raw) > 0 && string(raw) != "null" {
		if raw[0] != '{' {
			return u, penstock.InvalidParam("prompt.variables", "prompt.variables must be an object.")
		}
		u.Variables = raw
	}
	return u, nil
}

var members = []string{"name", "id", "label", "version", "variables"}

// readName reads the name of the prompt, or its id.
func (u *Use) readName(o body.Object) (err error) {
	if u.Name, err = o.String("name"); err != nil {
		return penstock.InvalidParam("prompt.name", "prompt.%v.", err)
	}
	if u.ID, err = o.String("id"); err != nil {
		return penstock.InvalidParam("prompt.id", "prompt.%v.", err)
	}
	switch {
	case u.Name != "" && u.ID != "":
		return penstock.InvalidParam("prompt.id", "prompt has both name and id; give one of them.")
	case u.ID != "":
		if !validID(u.ID) {
			return at("prompt.id", invalidID(u.ID))
		}
	case u.Name == "":
		return penstock.InvalidParam("prompt.name", "prompt.name is missing: the name of a prompt, such as support/answer. GET /v1/prompts lists the prompts.")
	default:
		return at("prompt.name", content.CheckName(u.Name))
	}
	return nil
}

// readVersion reads the label or the version. OpenAI's SDKs send the version as a string, and have no label: a string that is no number is
// a label.
func (u *Use) readVersion(o body.Object) (err error) {
	if u.Label, err = o.String("label"); err != nil {
		return penstock.InvalidParam("prompt.label", "prompt.%v.", err)
	}
	if u.Label != "" {
		if err := content.CheckLabel(u.Label); err != nil {
			return at("prompt.label", err)
		}
	}
	raw := o.Raw("version")
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if u.Label != "" {
		return penstock.InvalidParam("prompt.version", "prompt has both label and version; give one of them.")
	}
	selector := string(raw)
	if raw[0] == '"' {
		if selector, err = o.String("version"); err != nil {
			return penstock.InvalidParam("prompt.version", "prompt.%v.", err)
		}
	} else if _, err := strconv.ParseInt(selector, 10, 64); err != nil {
		return penstock.InvalidParam("prompt.version", "prompt.version must be the number of a version, such as 7 or \"7\".")
	}
	return at("prompt.version", u.Select(selector))
}

// at gives an error the path of a member.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	e := *penstock.AsError(err)
	e.Param, e.Message = path, path+": "+e.Message
	return &e
}

func validID(id string) bool {
	return len(id) > len(prefix) && len(id) <= maxIDBytes && strings.HasPrefix(id, prefix) &&
		!strings.ContainsFunc(id, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' && r != '.'
		})
}

func invalidID(id string) *penstock.Error {
	return penstock.InvalidParam("id", "%q is not the id of a prompt: ids begin with %s. Name the prompt by its name, or by the id that it was imported with.", clip(id), prefix)
}

// Member writes a use as the member of a body.
func (u Use) Member() ([]byte, error) {
	member := struct {
		Name      string          `json:"name,omitempty"`
		ID        string          `json:"id,omitempty"`
		Label     string          `json:"label,omitempty"`
		Version   int64           `json:"version,omitempty"`
		Variables json.RawMessage `json:"variables,omitempty"`
	}{u.Name, u.ID, u.Label, u.Version, u.Variables}
	text, err := json.Marshal(member)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("writing the name of a prompt: %w", err))
	}
	return text, nil
}

// clip shortens a text of the caller before it is quoted in an error.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
