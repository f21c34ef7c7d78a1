package config

import (
	"github.com/goccy/go-yaml/ast"
)

// ReadTree reads a YAML file of another program as maps, lists, strings, numbers and truths, within the bounds of a
// configuration file. Numbers are strings of type [Number], as they are written. The error is a [Problems].
func ReadTree(text []byte) (any, error) {
	root, problem := readYAML(text)
	if problem != nil {
		return nil, Problems{*problem}
	}
	d := decoder{env: emptyEnv, places: places{}, anchors: map[string]ast.Node{}}
	v := d.tree(root, "", 0)
	if len(d.problems) > 0 {
		d.problems.sort()
		return nil, d.problems
	}
	return v, nil
}

// Number is a number as it is written in a file.
type Number string

// maxTreeDepth bounds the nesting: an alias inside its own anchor nests without end.
const maxTreeDepth = 32

// tree is a value of unknown shape.
func (d *decoder) tree(n ast.Node, at path, depth int) any {
	if d.exhausted() {
		return nil
	}
	if depth > maxTreeDepth {
		d.nodes = maxNodes + 1 // no other value is worth reading
		d.fail(at, "this is nested too deeply")
		return nil
	}
	if d.nodes++; d.exhausted() {
		d.fail(at, "the file has more than %d values once its aliases are expanded", maxNodes)
		return nil
	}
	n, ok := d.resolve(n, at)
	if !ok {
		return nil
	}
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.MappingNode, *ast.MappingValueNode:
		all := map[string]any{}
		d.entries(n, at, func(name string, value ast.Node, at path) { all[name] = d.tree(value, at, depth+1) })
		return all
	case *ast.SequenceNode:
		all := make([]any, 0, len(n.Values))
		for i, value := range n.Values {
			all = append(all, d.tree(value, at.index(i), depth+1))
		}
		return all
	case *ast.BoolNode:
		return n.Value
	}
	if text, ok := stringOf(n); ok {
		return text
	}
	return Number(wordOf(n))
}
