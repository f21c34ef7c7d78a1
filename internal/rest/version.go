package rest

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// headerVersion is the header in which a call chooses a version of the API, and an answer names its version. In
// canonical form.
const headerVersion = "Penstock-Version"

// Version is a version of the API. A version changes no shape after it was published.
type Version struct {
	Name       string    // a date, such as 2026-11-01
	Deprecated time.Time // zero for the newest
	Sunset     time.Time // from then on it may be removed

	header []string // shared by all answers
}

// maxVersions is how many versions are served at a time.
const maxVersions = 2

// Versions are the served versions, oldest first. The oldest is the default: a caller that chooses no version keeps the
// shapes that it was written for until that version is removed.
var Versions = [maxVersions]Version{
	{Name: "2026-11-01", Deprecated: date(2026, 12, 1), Sunset: date(2027, 12, 1), header: []string{"2026-11-01"}},
	{Name: "2026-12-01", header: []string{"2026-12-01"}},
}

// Newest is the newest version. Handlers use its shapes.
const Newest = maxVersions - 1

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// versionOf is the index of the version that a call asks for, -1 if it is not served.
func versionOf(h http.Header) int {
	asked := h[headerVersion]
	if len(asked) == 0 || asked[0] == "" {
		return 0
	}
	for i := range Versions {
		if Versions[i].Name == asked[0] {
			return i
		}
	}
	return -1
}

func unknownVersion(h http.Header) error {
	names := make([]string, len(Versions))
	for i := range Versions {
		names[i] = Versions[i].Name
	}
	return penstock.InvalidParam("penstock-version", "There is no version %.40q of the API; the versions are %s. Without the header penstock-version, version %s is used.",
		h.Get(headerVersion), strings.Join(names, " and "), names[0])
}

// Shapes are the differences between the answers of versions. Handlers use the newest shapes; an older shape is made
// from them when an answer is encoded.
type Shapes struct {
	changes  []Change
	options  [maxVersions]json.Options
	encoders [maxVersions][]*json.Marshalers
}

// Change is one difference between a version and the version before it.
type Change struct {
	Version     int    // the index of the first version that has the new shape
	Field       string // of the older shape that is deprecated
	Replacement string
	About       string
	New, Old    reflect.Type
}

// Reshaped adds a change to the shapes: to callers of older versions, answers have older(v) instead of v, wherever v is in them.
func Reshaped[New, Old any](s *Shapes, c Change, older func(New) Old) {
	c.New, c.Old = reflect.TypeFor[New](), reflect.TypeFor[Old]()
	s.add(c, json.MarshalToFunc(func(enc *jsontext.Encoder, v New) error { return json.MarshalEncode(enc, older(v)) }))
}

// Renamed adds the change of one field's name, from c.Field to c.Replacement.
func Renamed[New any](s *Shapes, c Change) {
	c.New = reflect.TypeFor[New]()
	c.Old = withTag(c.New, c.Replacement, c.Field)
	s.add(c, json.MarshalToFunc(func(enc *jsontext.Encoder, v *New) error {
		// Both types have the same memory: they differ in a tag. A conversion would copy the value twice.
		return json.MarshalEncode(enc, reflect.NewAt(c.Old, unsafe.Pointer(v)).Interface())
	}))
}

func (s *Shapes) add(c Change, encode *json.Marshalers) {
	s.changes = append(s.changes, c)
	for i := range c.Version {
		s.encoders[i] = append(s.encoders[i], encode)
		s.options[i] = json.WithMarshalers(json.JoinMarshalers(s.encoders[i]...))
	}
}

// withTag returns a struct type that differs from another by the JSON name of one field. Values convert from one to the other.
func withTag(t reflect.Type, name, other string) reflect.Type {
	var fields []reflect.StructField
	found := false
	for f := range t.Fields() {
		tag := string(f.Tag)
		if changed := strings.Replace(tag, `json:"`+name+`"`, `json:"`+other+`"`, 1); changed != tag {
			f.Tag, found = reflect.StructTag(changed), true
		}
		fields = append(fields, f)
	}
	if !found {
		panic("rest: " + t.String() + " has no field " + name) // the table is wrong: every test fails
	}
	return reflect.StructOf(fields)
}

// Shape is how an answer is encoded for the version that the caller asked for.
func (c *Call) Shape() json.Options {
	if c.server == nil || c.server.Shapes == nil || c.version < 0 || c.server.Shapes.options[c.version] == nil {
		return newest
	}
	return c.server.Shapes.options[c.version]
}

var newest = json.JoinOptions()

// of returns the changes by which a type differs in a version, newest first.
func (s *Shapes) of(t reflect.Type, version int) (found []Change) {
	if s == nil {
		return nil
	}
	for _, c := range slices.Backward(s.changes) {
		if c.New == t && version < c.Version {
			found = append(found, c)
		}
	}
	return found
}

// in returns the changes that an answer of a type shows to a version.
func (s *Shapes) in(t reflect.Type, version int) (found []Change) {
	if s == nil {
		return nil
	}
	reachable := map[reflect.Type]bool{}
	reach(t, reachable)
	for _, c := range s.changes {
		if version < c.Version && reachable[c.New] {
			found = append(found, c)
		}
	}
	return found
}

// reach collects the types that a value of a type may contain.
func reach(t reflect.Type, into map[reflect.Type]bool) {
	if t == nil || into[t] {
		return
	}
	into[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		reach(t.Elem(), into)
	case reflect.Struct:
		for f := range t.Fields() {
			reach(f.Type, into)
		}
	}
}

// Deprecated describes a deprecation: its time, its replacement and its sunset.
type Deprecated struct {
	Since, Sunset time.Time
	Replacement   string // what to use instead
	About         string
}

// notice has the deprecation headers of an answer. All answers share the values.
type notice struct{ since, sunset []string }

// docsLink is the link from a deprecation to the list of deprecations.
var docsLink = []string{`</v1/deprecations>; rel="deprecation"; type="application/json"`}

// set adds the notice to the headers of an answer: Deprecation is that of RFC 9745, Sunset that of RFC 8594.
func (n *notice) set(h http.Header) {
	if n == nil {
		return
	}
	h["Deprecation"], h["Sunset"], h["Link"] = n.since, n.sunset, docsLink
}

func newNotice(since, sunset time.Time) *notice {
	return &notice{since: []string{"@" + strconv.FormatInt(since.Unix(), 10)}, sunset: []string{sunset.UTC().Format(http.TimeFormat)}}
}

// deprecationsOf returns the notices of a route, by version.
func (s *Server) deprecationsOf(rt *Route) (all [maxVersions]*notice) {
	for v := range Versions {
		switch {
		case rt.Deprecated != nil:
			all[v] = newNotice(rt.Deprecated.Since, rt.Deprecated.Sunset)
		case len(s.Shapes.shown(rt, v)) > 0:
			all[v] = newNotice(Versions[v].Deprecated, Versions[v].Sunset)
		}
	}
	return all
}

// shown returns the changes that the answers of a route show to a version.
func (s *Shapes) shown(rt *Route, version int) (found []Change) {
	for _, a := range rt.Answers {
		for _, c := range s.in(reflect.TypeOf(a.Body), version) {
			if !slices.ContainsFunc(found, func(f Change) bool { return f.New == c.New && f.Field == c.Field }) {
				found = append(found, c)
			}
		}
	}
	return found
}
