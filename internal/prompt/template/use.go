package template

// Use is how templates use a variable or a member of one.
type Use struct {
	Printed bool            // its text is in the output
	Tested  bool            // an if asks for it, so it may be absent
	Listed  bool            // each goes over it
	Members map[string]*Use // of an object
	Element *Use            // of a list; nil unless it is used
}

// Uses adds the variables of a linked template, partials included, to those of all.
func (t *Template) Uses(all *Use) { use(t.nodes, all, nil) }

func use(nodes []node, root, element *Use) {
	for i := range nodes {
		n := &nodes[i]
		switch n.kind {
		case nodeValue:
			if u := n.path.in(root, element); u != nil {
				u.Printed = true
			}
		case nodeIf:
			if u := n.path.in(root, element); u != nil {
				u.Tested = true
			}
			use(n.body, root, element)
			use(n.otherwise, root, element)
		case nodeEach:
			u := n.path.in(root, element)
			u.Listed = true
			if u.Element == nil {
				u.Element = &Use{}
			}
			use(n.body, root, u.Element)
			use(n.otherwise, root, element)
		case nodePartial:
			if n.partial != nil {
				use(n.partial.nodes, root, nil)
			}
		}
	}
}

// in finds or adds the use of a path; nil for the index of an element.
func (p path) in(root, element *Use) *Use {
	u := root
	switch p.origin {
	case atIndex:
		return nil
	case atElement:
		u = element
	}
	for _, name := range p.names {
		if u.Members == nil {
			u.Members = map[string]*Use{}
		}
		if u.Members[name] == nil {
			u.Members[name] = &Use{}
		}
		u = u.Members[name]
	}
	return u
}
