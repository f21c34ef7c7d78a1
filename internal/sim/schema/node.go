package schema

import (
	"fmt"
	"math/big"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// kinds is a set of types.
type kinds uint8

const (
	kindObject kinds = 1 << iota
	kindArray
	kindString
	kindNumber // and not an integer
	kindInteger
	kindBoolean
	kindNull
	kindAny = kindObject | kindArray | kindString | kindNumber | kindInteger | kindBoolean | kindNull
)

var kindNames = map[string]kinds{
	"object": kindObject, "array": kindArray, "string": kindString, "number": kindNumber | kindInteger,
	"integer": kindInteger, "boolean": kindBoolean, "null": kindNull,
}

// node is one schema of the document. Its children may lead back to it.
type node struct {
	never bool  // the schema false
	kinds kinds // that the instance may have
	hint  kinds // that its keywords are about
	enum  []*value
	like  []*value // examples and the default

	ref    *node
	allOf  []*node
	groups []group // of which one alternative each must hold
	not    *node
	// if and its branches, for the check. A group has them for the generator.
	when, then, otherwise *node

	object object
	array  array
	text   text
	number number

	checked bool // the generator cannot do justice to all its keywords by itself
	height  int  // how deeply its smallest instance is nested
}

// group is alternatives; each is a list of schemas that hold together.
type group struct {
	alternatives [][]*node
	exactly      bool // one of them, and no other
}

type object struct {
	properties []property
	patterns   []patternProperty
	additional *node // nil for anything
	names      *node // of all names
	required   []string
	demands    map[string]bool     // the same names
	needs      map[string][]string // names that a name requires beside it
	implies    map[string]*node    // schemas that a name requires of the whole object
	least      int
	most       *int
}

type property struct {
	name   string
	schema *node
}

type patternProperty struct {
	pattern *pattern
	schema  *node
}

type array struct {
	prefix        []*node
	items         *node // after the prefix; nil for anything
	least         int
	most          *int
	unique        bool
	contains      *node
	leastContains int
	mostContains  *int
}

type text struct {
	least   int
	most    *int
	pattern *pattern // nil for none
	format  string
}

type number struct {
	least, most       *big.Rat
	aboveLeast, below bool // the bounds themselves are excluded
	multiple          *big.Rat
}

// pattern is a regular expression; compiled is nil if Go's syntax has no words for it.
type pattern struct {
	source   string
	compiled *regexp.Regexp
	size     int // instructions: matching takes at most so many steps for each character
}

// compiler makes nodes of a document.
type compiler struct {
	document *value
	nodes    map[*value]*node
	order    []*node           // as they were found
	targets  map[string]*value // of references, by pointer
	patterns int
}

// node returns the schema at a place of the document. A schema that leads back to itself is found in c.nodes.
func (c *compiler) node(v *value, where string) (*node, error) {
	if n, done := c.nodes[v]; done {
		return n, nil
	}
	if len(c.nodes) >= maxNodes {
		return nil, fmt.Errorf("the schema has more than %d schemas inside", maxNodes)
	}
	n := &node{kinds: kindAny}
	c.nodes[v], c.order = n, append(c.order, n)
	switch v.kind {
	case 't':
		return n, nil
	case 'f':
		n.never = true
		return n, nil
	case '{':
	default:
		return nil, fmt.Errorf("%s: a schema is an object, true or false", where)
	}
	r := &reading{compiler: c, from: v, to: n, where: where}
	for _, read := range []func(){r.kinds, r.reference, r.combinations, r.object, r.array, r.text, r.number} {
		if read(); r.err != nil {
			return nil, r.err
		}
	}
	n.checked = n.checked || n.not != nil || n.when != nil || len(n.groups) > 0
	return n, nil
}

// reading is one schema that is being read. After its first error nothing more is read.
type reading struct {
	*compiler
	from  *value
	to    *node
	where string
	err   error
}

func (r *reading) fail(keyword, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s/%s: %s", r.where, keyword, fmt.Sprintf(format, args...))
	}
}

// schema reads a keyword that is a schema, nil if it is absent.
func (r *reading) schema(keyword string) *node {
	v := r.from.member(keyword)
	if v == nil || r.err != nil {
		return nil
	}
	return r.child(v, keyword)
}

func (r *reading) child(v *value, keyword string) *node {
	n, err := r.node(v, r.where+"/"+keyword)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n
}

// schemas reads a keyword that is a list of schemas.
func (r *reading) schemas(keyword string) []*node {
	v := r.from.member(keyword)
	if v == nil {
		return nil
	}
	if v.kind != '[' {
		r.fail(keyword, "must be a list of schemas")
		return nil
	}
	var list []*node
	for i, item := range v.items {
		if r.err != nil {
			return nil
		}
		list = append(list, r.child(item, keyword+"/"+strconv.Itoa(i)))
	}
	return list
}

// count reads a keyword that is a number of things; a count that is too large is as good as the largest.
func (r *reading) count(keyword string) *int {
	v := r.from.member(keyword)
	if v == nil {
		return nil
	}
	worth := rational(v.text)
	if v.kind != '0' || worth == nil || !worth.IsInt() || worth.Sign() < 0 {
		r.fail(keyword, "must be a number that is at least 0")
		return nil
	}
	const largest = 1 << 30
	if worth.Cmp(big.NewRat(largest, 1)) > 0 {
		return new(int(largest))
	}
	return new(int(worth.Num().Int64()))
}

func (r *reading) strings(keyword string, v *value) []string {
	if v == nil {
		return nil
	}
	var list []string
	for _, item := range v.items {
		if item.kind != '"' {
			r.fail(keyword, "must be a list of strings")
			return nil
		}
		list = append(list, item.text)
	}
	return list
}

// flag reads a keyword that is true or false.
func (r *reading) flag(keyword string) bool {
	v := r.from.member(keyword)
	return v != nil && v.kind == 't'
}

func (r *reading) pattern(keyword, source string) *pattern {
	if r.patterns++; r.patterns > maxPatterns || len(source) > maxPatternBytes {
		r.fail(keyword, "a schema may have %d patterns of at most %d bytes", maxPatterns, maxPatternBytes)
		return nil
	}
	p := &pattern{source: source}
	p.compiled, _ = regexp.Compile(source) // nil where the syntax is not Go's
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		if program, err := syntax.Compile(tree.Simplify()); err == nil {
			p.size = len(program.Inst)
		}
	}
	return p
}

// reference finds the schema that $ref names.
func (r *reading) reference() {
	v := r.from.member("$ref")
	if v == nil {
		return
	}
	fragment, inside := strings.CutPrefix(v.text, "#")
	pointer, err := url.PathUnescape(fragment)
	if v.kind != '"' || !inside || err != nil || (pointer != "" && pointer[0] != '/') {
		r.fail("$ref", "must lead to a place in the same schema, such as #/$defs/name")
		return
	}
	target, found := r.targets[pointer]
	if !found {
		target = r.document.at(pointer)
		r.targets[pointer] = target
	}
	if target == nil {
		r.fail("$ref", "leads to no place in the schema")
		return
	}
	n, err := r.node(target, "#"+pointer)
	if err != nil && r.err == nil {
		r.err = err
	}
	r.to.ref = n
}
