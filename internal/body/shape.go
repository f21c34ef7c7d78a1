package body

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape is what is known of an object: the names that are read in it, by us or by an upstream, and the shapes of what stands
// under them. Other members may be there too. A body is scanned by its shape ([ScanAs]), which refuses a member that some
// server would take for another one.
//
// An object without a shape is free-form, such as the schema of a tool: its names are the caller's own, and nothing is refused there.
//
// A Shape is built once, by [NewShape] and [Shape.Add], and is safe for concurrent use from then on.
type Shape struct {
	fields map[string]*field // by their names as they are written
	slots  [slots]*field     // the same, found faster than in a map: each begins a chain
	folded map[string]*field // by their names as the most generous decoder compares them
	seeks  bool
}

// Field is a name that is read in an object.
type Field struct {
	Name  string
	Value *Shape // of an object, or of the objects in a list; nil for what is free-form or no object
	Link  Link
	Mark  bool // an object that has it says so, see [Object.Marked]
}

// Link says whether a string, or the strings of a list, may be addresses that an upstream fetches from.
type Link uint8

// The kinds of strings.
const (
	NoLink      Link = iota // words: an address in them is only talked about
	MayLink                 // an address, or something else: data, or the id of a file
	IsLink                  // an address, unless it is a data: URL
	CitesLink               // as IsLink, but in an object that tells where a text was found
	MayCiteLink             // as MayLink, but in an object that tells where a text was found
)

// field is a Field with its number: those that fold alike share one.
type field struct {
	Field
	class uint8
	next  *field // in the same slot
}

// slots is how many chains the names of a shape are spread over, a power of two.
const slots = 64

// slot is the chain of a name.
func slot(name []byte) int {
	if len(name) == 0 {
		return 0
	}
	return (len(name)*31 + int(name[0]) + 7*int(name[len(name)-1])) % slots
}

// find is the field of a name, nil for none. It is asked for every member of every object of a body.
func (s *Shape) find(name []byte) *field {
	f := s.slots[slot(name)]
	for f != nil && f.Name != string(name) {
		f = f.next
	}
	return f
}

// maxFields bounds the names of a shape.
const maxFields = 255

// NewShape returns a shape of these fields.
func NewShape(fields ...Field) *Shape {
	s := &Shape{fields: map[string]*field{}, folded: map[string]*field{}}
	return s.Add(fields...)
}

// Names are fields that have no shape.
func Names(names ...string) []Field {
	fields := make([]Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}

// Add adds fields, so that a shape can hold itself, and returns the shape. It panics if there are too many, or one is there
// already: shapes are written by us.
func (s *Shape) Add(fields ...Field) *Shape {
	for _, f := range fields {
		if s.fields[f.Name] != nil || len(s.fields) == maxFields {
			panic("body: field " + f.Name + " cannot be added to the shape")
		}
		one := &field{Field: f, class: uint8(len(s.fields))}
		fold := string(appendFold(nil, []byte(f.Name)))
		if alike := s.folded[fold]; alike != nil {
			one.class = alike.class
		} else {
			s.folded[fold] = one
		}
		s.fields[f.Name] = one
		at := &s.slots[slot([]byte(f.Name))]
		one.next, *at = *at, one
	}
	return s
}

// Seeking says that addresses are sought in members that the shape does not name as well, and returns the shape: upstreams
// have kinds of parts of their own.
func (s *Shape) Seeking() *Shape {
	s.seeks = true
	return s
}

// Has reports whether a name is read in the object itself.
func (s *Shape) Has(name string) bool { return s.fields[name] != nil }

// Walk calls a function for every name that is read, with the path of the object that it is in, such as messages[0]. A shape
// that holds itself is not walked again inside itself.
func (s *Shape) Walk(visit func(path string, f Field)) { s.walk("", nil, visit) }

func (s *Shape) walk(path string, within []*Shape, visit func(string, Field)) {
	if s == nil || slices.Contains(within, s) {
		return
	}
	within = append(slices.Clip(within), s)
	for name, f := range s.fields {
		visit(path, f.Field)
		f.Value.walk(join(path, name), within, visit)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Ambiguity is that servers disagree on what an object says.
type Ambiguity struct {
	Path  string // of the member at fault
	Name  string // its name
	Other string // the name that it is taken for
	Given bool   // that one is there too
}

// Error begins with the path of the member.
func (a *Ambiguity) Error() string {
	switch {
	case a.Name == a.Other:
		return fmt.Sprintf("%s is given twice: servers disagree on which one counts; leave one out", a.Path)
	case a.Given:
		return fmt.Sprintf("%s is the same member as %s to some servers, which disagree on which one counts: leave one out", a.Path, printed(a.Other))
	}
	return fmt.Sprintf("%s is read as %s by some servers and by others not at all: write %[2]s, or leave it out", a.Path, printed(a.Other))
}

// printed is a name that can be told from others by looking at it.
func printed(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strings.Trim(strconv.QuoteToASCII(name), `"`)
}
