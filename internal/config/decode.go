package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxNodes bounds how many values a file may have once its aliases are expanded.
const maxNodes = 200_000

// maxAliasHops bounds how many anchors and aliases may lead to one value.
const maxAliasHops = 8

// decode reads a file's text as far as it makes sense. It walks the YAML itself, where a general
// decoder would stop at the first thing it does not understand.
func decode(data []byte, env Env) draft {
	root, problem := readYAML(data)
	if problem != nil {
		return draft{problems: Problems{*problem}, fatal: true}
	}
	d := decoder{env: env, places: places{}, anchors: map[string]ast.Node{}}
	var file File
	if _, ok := root.(ast.MapNode); root != nil && !ok {
		p := newProblem("", placeOf(root.GetToken()), "the file must be a map of names to values, not "+describe(root))
		return draft{problems: Problems{p}, fatal: true}
	}
	d.value(reflect.ValueOf(&file).Elem(), root, "")
	return draft{file: file, places: d.places, problems: d.problems, fatal: d.exhausted()}
}

// decoder fills Go values from YAML nodes. It never gives up on a neighbour: a node that does not
// fit is a problem, and its value stays zero. Recursion follows the types of File, so it is no
// deeper than they are, whatever the YAML does.
type decoder struct {
	env      Env
	places   places
	anchors  map[string]ast.Node
	nodes    int
	problems Problems
}

func (d *decoder) fail(at path, format string, args ...any) {
	d.problems = append(d.problems, newProblem(at, d.places.nearest(at), fmt.Sprintf(format, args...)))
}

func (d *decoder) exhausted() bool { return d.nodes > maxNodes }

func (d *decoder) value(into reflect.Value, n ast.Node, at path) {
	if d.exhausted() {
		return
	}
	if d.nodes++; d.exhausted() {
		d.fail(at, "the file has more than %d values once its aliases are expanded", maxNodes)
		return
	}
	n, ok := d.resolve(n, at)
	if !ok {
		return
	}
	switch kind := into.Kind(); {
	case kind == reflect.Struct && into.Type() != reflect.TypeFor[Secret]():
		d.fields(into, n, at)
	case kind == reflect.Map:
		d.table(into, n, at)
	case kind == reflect.Slice:
		d.list(into, n, at)
	default:
		d.scalar(into, n, at)
	}
}

// resolve follows anchors and aliases to the node that they stand for.
func (d *decoder) resolve(n ast.Node, at path) (ast.Node, bool) {
	for range maxAliasHops {
		switch link := n.(type) {
		case *ast.AnchorNode:
			d.anchors[link.Name.GetToken().Value] = link.Value
			n = link.Value
		case *ast.AliasNode:
			name := link.Value.GetToken().Value
			target, ok := d.anchors[name]
			if !ok {
				d.fail(at, "the alias *%s has no anchor before it", clip(name, 60))
				return nil, false
			}
			n = target
		default:
			return n, true
		}
	}
	d.fail(at, "too many aliases refer to each other here")
	return nil, false
}

// fields fills a struct from a map whose keys are its fields' yaml names.
func (d *decoder) fields(into reflect.Value, n ast.Node, at path) {
	known := fieldsOf(into.Type())
	d.entries(n, at, func(name string, value ast.Node, at path) {
		f, ok := known[name]
		switch {
		case !ok:
			d.fail(at, "unknown key%s", hint(name, usable(known)))
		case f.refusal != "":
			d.fail(at, "%s", f.refusal)
		default:
			d.value(into.FieldByIndex(f.index), value, at)
		}
	})
}

// table fills a map whose keys are the operator's own names.
func (d *decoder) table(into reflect.Value, n ast.Node, at path) {
	into.Set(reflect.MakeMap(into.Type()))
	d.entries(n, at, func(name string, value ast.Node, at path) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.value(element, value, at)
		into.SetMapIndex(reflect.ValueOf(name), element)
	})
}

func (d *decoder) list(into reflect.Value, n ast.Node, at path) {
	var values []ast.Node
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.SequenceNode:
		values = n.Values
	default:
		d.fail(at, "must be a list, not %s: put it in brackets, as [a, b]", describe(n))
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(values), len(values)))
	for i, value := range values {
		at := at.index(i)
		if value != nil {
			d.places[at] = placeOf(value.GetToken())
		}
		d.value(into.Index(i), value, at)
	}
}

// entries visits the entries of a map in the order of the file. A map or list without a value is an
// empty one: that is what remains of a section when all of it is commented out.
func (d *decoder) entries(n ast.Node, at path, visit func(name string, value ast.Node, at path)) {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case nil, *ast.NullNode:
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		d.fail(at, "must be a map of names to values, not %s", describe(n))
		return
	}
	seen := map[string]place{}
	for _, pair := range pairs {
		where := placeOf(pair.Key.GetToken())
		name, ok := keyName(pair.Key)
		if !ok {
			p := newProblem(at, where, "the key "+quote(pair.Key.String())+" must be a plain name")
			if pair.Key.IsMergeKey() {
				p.Message = "merge keys (<<) are not supported: use an alias for a whole value, or repeat the keys"
			}
			d.problems = append(d.problems, p)
			continue
		}
		at := at.key(name)
		if first, twice := seen[name]; twice {
			d.problems = append(d.problems, newProblem(at, where, fmt.Sprintf("is given twice, first on line %d; remove one of them", first.line)))
			continue
		}
		seen[name], d.places[at] = where, where
		visit(name, pair.Value, at)
	}
}

// keyName is a key as it is written: a tenant may well be named 12 or true.
func keyName(key ast.MapKeyNode) (string, bool) {
	switch key := key.(type) {
	case *ast.StringNode:
		return key.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return key.GetToken().Value, true
	}
	return "", false
}

// field is one field of a struct as the file sees it.
type field struct {
	index   []int
	refusal string // why a file may not use it, "" when it may
}

// usable lists the names that a file may use: a reserved name must not be suggested.
func usable(fields map[string]field) []string {
	var names []string
	for name, f := range fields {
		if f.refusal == "" {
			names = append(names, name)
		}
	}
	return names
}

// fieldsOf lists a struct's fields by yaml name, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]field {
	fields := map[string]field{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for name, inner := range fieldsOf(f.Type) {
				fields[name] = field{append([]int{i}, inner.index...), inner.refusal}
			}
			continue
		}
		fields[yamlName(f)] = field{[]int{i}, f.Tag.Get("refuse")}
	}
	return fields
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

// describe says what a node is, in words for people, without showing what is in it.
func describe(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a string"
	case *ast.BoolNode:
		return "true or false"
	}
	return "a number"
}
