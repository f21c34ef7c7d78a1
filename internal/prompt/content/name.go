package content

import (
	"slices"
	"strconv"
	"strings"

	"penstock"
)

// Bounds of names.
const (
	MaxNameBytes    = 200
	MaxNameSegments = 8
	MaxLabelBytes   = 64
)

const (
	// LabelLatest always means the newest version. Nobody moves it.
	LabelLatest = "latest"
	// LabelDefault is the label that a reference without a label or a version means.
	LabelDefault = "production"
)

// ReservedSegments are words of the API's paths, which are no segments of names: a path with one could mean two things.
var ReservedSegments = []string{"versions", "labels", "draft", "render", "diff", "history", "uses", "requests", "archive", "restore", "import", "export"}

// CheckName refuses a name that no prompt can have. Codes: invalid_request.
func CheckName(name string) error {
	segments := strings.Split(name, "/")
	if len(name) > MaxNameBytes || len(segments) > MaxNameSegments {
		return penstock.InvalidParam("name", "The name of a prompt has at most %d bytes and %d segments.", MaxNameBytes, MaxNameSegments)
	}
	for _, segment := range segments {
		if !wordOf(segment) {
			return penstock.InvalidParam("name", "%q cannot be the name of a prompt: each segment has a-z, A-Z, 0-9, . _ and -, begins with none of . _ and -, and / stands between segments.", clip(name))
		}
		if slices.Contains(ReservedSegments, segment) {
			return penstock.InvalidParam("name", "%q cannot be the name of a prompt: %s is a word of the API's paths. Use another word.", clip(name), segment)
		}
	}
	return nil
}

// CheckLabel refuses a label that cannot exist. A number would be mistaken for a version. Codes: invalid_request.
func CheckLabel(label string) error {
	if _, err := strconv.ParseInt(label, 10, 64); err == nil || !wordOf(label) || len(label) > MaxLabelBytes {
		return penstock.InvalidParam("label", "%q cannot be a label: labels have a-z, A-Z, 0-9, . _ and -, begin with none of . _ and -, are no numbers, and have at most %d bytes.", clip(label), MaxLabelBytes)
	}
	return nil
}

// wordOf reports whether a text has the characters of a segment or a label.
func wordOf(text string) bool {
	for i := range len(text) {
		c := text[i]
		begins := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !begins && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return text != ""
}

// Reference names a version of a prompt: by its number, or else by a label.
type Reference struct {
	Name    string
	Label   string // "" for [LabelDefault], unless there is a version
	Version int64  // 0 for the version of the label
}

// Selected is the label that a reference without a version means.
func (r Reference) Selected() string {
	if r.Label == "" {
		return LabelDefault
	}
	return r.Label
}

func (r Reference) String() string {
	if r.Version > 0 {
		return r.Name + "@" + strconv.FormatInt(r.Version, 10)
	}
	return r.Name + "@" + r.Selected()
}

// ParseReference reads folder/name, folder/name@label or folder/name@7. Codes: invalid_request.
func ParseReference(text string) (r Reference, err error) {
	name, selector, selects := strings.Cut(text, "@")
	r.Name = name
	if err := CheckName(name); err != nil {
		return r, err
	}
	if !selects {
		return r, nil
	}
	return r, r.Select(selector)
}

// Select reads a label or the number of a version. Codes: invalid_request.
func (r *Reference) Select(selector string) error {
	if n, err := strconv.ParseInt(selector, 10, 64); err == nil {
		if n < 1 {
			return penstock.InvalidParam("version", "The versions of a prompt are numbered from 1.")
		}
		r.Version = n
		return nil
	}
	r.Label = selector
	return CheckLabel(selector)
}

// clip shortens a text of the caller before it is quoted in an error.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
