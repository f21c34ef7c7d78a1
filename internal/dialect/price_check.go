package dialect

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
)

// Feature is a part of a request that can change its price by an amount that the request does not bound.
type Feature struct {
	Path string // of the member at fault, such as tools[0].type
	Name string // by which a target's surcharges allow it, such as web_search
	// Uses is how many uses the request allows at most, and UsesPath the member that says so; "" where no member does.
	Uses     int64
	UsesPath string
}

// Priced is what decides whether a hard budget can pay for a request.
type Priced struct {
	Features  []Feature // none for a request whose price is bounded
	Documents int64     // documents whose tokens the bytes of the body do not bound
}

// Members are the members of an object that may be in it, by name. A member that is missing here is a feature of that name: only
// members that are known not to change the price pass.
type Members map[string]Check

// Check looks at a value for features.
type Check func(c *Checker, v Value)

// Value is a value in a body.
type Value struct {
	Path string
	Raw  []byte
	// Within is the object that it is a member of.
	Within body.Object
}

// Checker collects what checks find.
type Checker struct {
	Priced
	// Top is the body.
	Top body.Object
}

// maxFeatures bounds how many features are collected: the first is the one that is told.
const maxFeatures = 32

// Price looks at every member of the body for features that a hard budget cannot pay for without a surcharge. An inference without
// a format has not been read from a request, and has none.
func (inf *Inference) Price() Priced {
	if inf.Format == nil {
		return Priced{}
	}
	c := &Checker{Top: inf.Object}
	c.object(inf.Object, "", inf.Format.Priced)
	if inf.Format.PricedBetas != nil {
		for name := range strings.SplitSeq(inf.Betas, ",") {
			if name = strings.TrimSpace(name); name != "" && !inf.Format.PricedBetas[name] {
				c.Add(Feature{Path: BetaHeader, Name: BetaHeader + ":" + clip(name)})
			}
		}
	}
	return c.Priced
}

// BetaHeader is the header that asks for behaviour that is not released.
const BetaHeader = "anthropic-beta"

// Add adds a feature.
func (c *Checker) Add(f Feature) {
	if len(c.Features) < maxFeatures {
		c.Features = append(c.Features, f)
	}
}

// object checks the members of an object. A member that is null says nothing.
func (c *Checker) object(o body.Object, path string, members Members) {
	for _, m := range o.Members {
		raw := o.Text[m.Value.Start:m.Value.End]
		if string(raw) == "null" {
			continue
		}
		at := path
		if at != "" {
			at += "."
		}
		at += printable(m.Name)
		check, known := members[m.Name]
		if !known {
			c.Add(Feature{Path: at, Name: clip(m.Name)})
			continue
		}
		if check != nil {
			check(c, Value{Path: at, Raw: raw, Within: o})
		}
	}
}

// Object checks the members of a value that is an object. Any other value passes: no upstream reads it.
func (m Members) Object(c *Checker, v Value) {
	if v.Raw[0] != '{' {
		return
	}
	if o, ok := c.scan(v); ok {
		c.object(o, v.Path, m)
	}
}

// List checks the objects of a list, or one object.
func (m Members) List(c *Checker, v Value) { Each(m.Object)(c, v) }

// Each checks the values of a list, or one value.
func Each(check Check) Check {
	return func(c *Checker, v Value) {
		if v.Raw[0] != '[' {
			check(c, v)
			return
		}
		in := body.NewCursor(v.Raw)
		for n := range in.Elements {
			check(c, Value{Path: fmt.Sprintf("%s[%d]", v.Path, n), Raw: in.Raw(), Within: v.Within})
		}
	}
}

// scan opens an object. One that cannot be opened is a feature: nobody can say what it costs.
func (c *Checker) scan(v Value) (body.Object, bool) {
	o, err := body.Scan(v.Raw)
	if err != nil {
		c.Add(Feature{Path: v.Path, Name: v.Path})
	}
	return o, err == nil
}

// Typed checks objects by their type. Objects of a type that is missing here are features of that name.
type Typed map[string]Members

// Object checks an object. One without a type is of the type "".
func (t Typed) Object(c *Checker, v Value) {
	if v.Raw[0] != '{' {
		return
	}
	o, ok := c.scan(v)
	if !ok {
		return
	}
	kind := Text(o.Raw("type"))
	members, known := t[kind]
	if !known {
		path := v.Path
		if kind != "" {
			path += ".type"
		}
		c.Add(Feature{Path: path, Name: cmpName(kind, v.Path)})
		return
	}
	c.object(o, v.Path, members)
}

func cmpName(kind, path string) string {
	if kind == "" {
		return path
	}
	return clip(kind)
}

// List checks the objects of a list. Strings in it, or instead of it, are words.
func (t Typed) List(c *Checker, v Value) { Each(t.Object)(c, v) }

// OneOf passes some strings; any other value of the member is a feature of its name and the value, as in service_tier:priority.
func OneOf(values ...string) Check {
	return func(c *Checker, v Value) {
		text := Text(v.Raw)
		for _, allowed := range values {
			if text == allowed && v.Raw[0] == '"' {
				return
			}
		}
		name := lastName(v.Path)
		if text != "" {
			name += ":" + clip(text)
		}
		c.Add(Feature{Path: v.Path, Name: name})
	}
}

// Refused is a member that is a feature whatever its value is, unless that is empty.
func Refused(name string) Check {
	return func(c *Checker, v Value) {
		switch string(bytes.TrimSpace(v.Raw)) {
		case "[]", "{}", "false", `""`:
			return
		}
		c.Add(Feature{Path: v.Path, Name: name})
	}
}

// Document counts a document whose tokens the bytes of the body do not bound.
func Document(c *Checker, _ Value) { c.Documents++ }

// All checks a value in several ways.
func All(checks ...Check) Check {
	return func(c *Checker, v Value) {
		for _, check := range checks {
			if check != nil {
				check(c, v)
			}
		}
	}
}

// Any passes any value.
var Any Check

// Passing are members that pass with any value.
func Passing(names ...string) Members {
	m := Members{}
	for _, name := range names {
		m[name] = Any
	}
	return m
}

// With are these members and others; where both name one, the others count.
func (m Members) With(others Members) Members {
	all := Members{}
	for name, check := range m {
		all[name] = check
	}
	for name, check := range others {
		all[name] = check
	}
	return all
}

// Text is a string value, "" for any other.
func Text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the body was scanned
	return string(text)
}

// Member is a member of an object that is a string, "" for any other.
func Member(object []byte, name string) string {
	o, err := body.Scan(object)
	if err != nil {
		return ""
	}
	return Text(o.Raw(name))
}

// MemberCount is a member of an object that is a whole number, 0 for any other.
func MemberCount(object []byte, name string) int64 {
	o, err := body.Scan(object)
	if err != nil {
		return 0
	}
	n, err := o.Count(name)
	if err != nil {
		return 0
	}
	return n
}

// version is how the types of tools end that have several.
var version = regexp.MustCompile(`(_preview)?(_\d{4}_?\d{2}_?\d{2})?$`)

// ToolName is the name of a tool that an upstream runs, without the version in its type: web_search for web_search_20250305.
func ToolName(kind string) string {
	if name := version.ReplaceAllString(kind, ""); name != "" {
		return clip(name)
	}
	return clip(kind)
}

// lastName is the last name of a path.
func lastName(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return name
}

// printable is a name of the caller's as errors repeat it.
func printable(name string) string { return strings.ToValidUTF8(clip(name), "") }

// clip shortens a text of the caller's.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
