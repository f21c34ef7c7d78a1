// Package schema generates JSON values that are valid under a JSON Schema, as a model with structured output
// does.
//
// It owns the reading of schemas (draft 4 to 2020-12), the generation of instances and the check that an
// instance is valid. It does not validate the data of callers and does not fetch schemas: a reference leads to
// a place in the same document.
//
// Invariants:
//   - An instance that is returned was checked against the whole schema. A schema for which none is found is
//     an error that says where and why.
//   - The same schema and the same source of random numbers give the same instance.
//   - Schemas may mean harm. Size, depth, references, patterns, the length of an instance and the work to
//     generate and check it are bounded by the constants below.
//
// The format of a string is generated, not checked. A pattern that Go's regular expressions cannot express, such
// as one with a lookahead, is not checked either; it needs a known format beside it.
//
// A Schema is immutable and safe for concurrent use.
package schema

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Bounds of a schema.
const (
	MaxBytes        = 256 << 10
	maxNodes        = 10_000 // schemas inside the schema
	maxNesting      = 100    // of the schema's JSON
	maxPatterns     = 200
	maxPatternBytes = 1 << 10
)

// Bounds of an instance, and of the work for it.
const (
	maxDepth      = 24
	fullDepth     = 4 // from here on, only what the schema demands is generated
	maxBytes      = 256 << 10
	maxString     = 16 << 10
	maxItems      = 1000
	maxOptional   = 128 // properties that the schema does not demand
	maxSteps      = 50_000
	maxCheckSteps = 1_000_000
)

// Schema is a JSON Schema that instances can be generated for.
type Schema struct {
	root *node
}

// Parse reads a schema: an object, true or false. Its errors say what to change.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the schema has more than %d bytes", MaxBytes)
	}
	document, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	c := &compiler{document: document, nodes: make(map[*value]*node), targets: make(map[string]*value)}
	root, err := c.node(document, "#")
	if err != nil {
		return nil, err
	}
	c.measure()
	return &Schema{root: root}, nil
}

// ParseObject reads a schema of which only objects are instances, whatever else it allows: the arguments of a
// function.
func ParseObject(text []byte) (*Schema, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return &Schema{root: &node{kinds: kindObject, allOf: []*node{s.root}, height: s.root.height}}, nil
}

// Instance returns a value that is valid under the schema, as JSON.
func (s *Schema) Instance(rng *rand.Rand) ([]byte, error) {
	var err error
	// First with what the schema allows but does not demand, which may contradict the rest of it.
	for _, minimal := range []bool{false, true} {
		g := &generator{rng: rng, minimal: minimal, steps: maxSteps, optional: maxOptional}
		var v *value
		if v, err = g.generate([]*node{s.root}); err != nil {
			continue
		}
		if err = valid(s.root, v); err == nil {
			return v.append(nil), nil
		}
	}
	return nil, err
}

// errTooComplex ends the search for an instance.
var errTooComplex = errors.New("the schema is too complex to find an instance for it")

// valid checks an instance against a whole schema.
func valid(n *node, v *value) error {
	c := &checker{steps: maxCheckSteps}
	switch ok := c.check(n, v, 0); {
	case c.exhausted:
		return errTooComplex
	case !ok:
		return errors.New("no instance was found that satisfies the whole schema")
	}
	return nil
}

// pathError is a reason, with the place in the instance that it is about.
func pathError(path []string, format string, args ...any) error {
	return fmt.Errorf("%s: %s", "$"+strings.Join(path, ""), fmt.Sprintf(format, args...))
}
