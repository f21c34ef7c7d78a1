package schema

import "slices"

// infinite is the height of a schema whose instances would have no end.
const infinite = maxDepth + 1

// maxRounds bounds the passes over all schemas. A longer chain of references counts as lower than it is, and
// its instance may not be found.
const maxRounds = 200

// measure finds how deeply the smallest instance of each schema is nested. The generator uses it to find the
// way out of schemas that lead back to themselves.
func (c *compiler) measure() {
	changed := true
	for round := 0; changed && round < maxRounds; round++ {
		changed = false
		for _, n := range slices.Backward(c.order) { // the schemas inside come after those around them
			if height := min(n.measured(), infinite); height > n.height {
				n.height, changed = height, true
			}
		}
	}
}

// measured is the height by the heights of the schemas inside, as far as they are known. It only grows, and
// ends at infinite.
func (n *node) measured() int {
	height := heightOf(n.allOf)
	if n.ref != nil {
		height = max(height, n.ref.height)
	}
	for _, g := range n.groups {
		height = max(height, g.height())
	}
	own := infinite
	switch {
	case n.enum != nil, n.kinds&^(kindObject|kindArray) != 0 && n.kinds != kindAny:
		own = 0
	case n.kinds == kindAny && n.hint&(kindObject|kindArray) == 0:
		own = 0
	default:
		if n.kinds&kindObject != 0 {
			own = min(own, 1+n.object.height())
		}
		if n.kinds&kindArray != 0 {
			own = min(own, 1+n.array.height())
		}
	}
	return max(height, own)
}

func (g group) height() int {
	lowest := infinite
	for _, alternative := range g.alternatives {
		lowest = min(lowest, heightOf(alternative))
	}
	return lowest
}

func (o *object) height() int {
	height := 0
	for _, p := range o.properties {
		if o.demands[p.name] {
			height = max(height, p.schema.height)
		}
	}
	return height
}

func (a *array) height() int {
	height := 0
	for i, n := range a.prefix {
		if i < a.least {
			height = max(height, n.height)
		}
	}
	if a.items != nil && a.least > len(a.prefix) {
		height = max(height, a.items.height)
	}
	if a.contains != nil && a.leastContains > 0 {
		height = max(height, a.contains.height)
	}
	return height
}

// heightOf is the height of schemas that hold together.
func heightOf(list []*node) int {
	height := 0
	for _, n := range list {
		height = max(height, n.height)
	}
	return height
}
