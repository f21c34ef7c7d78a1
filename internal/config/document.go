package config

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
)

// Document is a YAML file of another kind than the configuration, read by the same rules: unknown keys,
// repeated ones and values that do not fit are problems, all of which are reported with their places.
type Document struct {
	places   places
	broken   map[path]bool // what the reader already complained about
	problems Problems
	fatal    bool
}

// ReadDocument fills the struct that into points to as far as the text makes sense. Its fields are named
// by yaml tags; the text has no access to the environment.
func ReadDocument(text []byte, into any) *Document {
	root, problem := readYAML(text)
	if problem != nil {
		return &Document{problems: Problems{*problem}, fatal: true}
	}
	if _, ok := root.(ast.MapNode); root != nil && !ok {
		p := newProblem("", placeOf(root.GetToken()), "the file must be a map of names to values, not "+describe(root))
		return &Document{problems: Problems{p}, fatal: true}
	}
	d := decoder{env: emptyEnv, places: places{}, anchors: map[string]ast.Node{}}
	d.value(reflect.ValueOf(into).Elem(), root, "")
	doc := &Document{places: d.places, broken: map[path]bool{}, problems: d.problems, fatal: d.exhausted()}
	for _, p := range d.problems {
		doc.broken[path(p.Path)] = true
	}
	return doc
}

func emptyEnv(string) (string, bool) { return "", false }

// Key is the path of an entry in the map at a path, as problems show it.
func Key(at, name string) string { return string(path(at).key(name)) }

// Index is the path of an element in the list at a path.
func Index(at string, i int) string { return string(path(at).index(i)) }

// Written says whether the file gives a value at a path.
func (d *Document) Written(at string) bool {
	_, ok := d.places[path(at)]
	return ok
}

// Failf records what is wrong with the value at a path, unless the reader could not make sense of it.
func (d *Document) Failf(at, format string, args ...any) {
	if !d.broken[path(at)] {
		d.problems = append(d.problems, newProblem(path(at), d.places.nearest(path(at)), fmt.Sprintf(format, args...)))
	}
}

// Readable says whether the file was read at all: if not, nothing else in it is worth checking.
func (d *Document) Readable() bool { return !d.fatal }

// Problems is everything that is wrong, in the order of the file.
func (d *Document) Problems() Problems {
	all := slices.Clone(d.problems)
	all.sort()
	return all
}

// Suggest completes a message about an unknown name with the known one that was probably meant.
func Suggest(name string, known []string) string { return suggest(name, known) }
