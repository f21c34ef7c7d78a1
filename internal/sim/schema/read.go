package schema

import "math/big"

// kinds reads which types an instance may have, and its fixed values.
func (r *reading) kinds() {
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef", "unevaluatedItems"} {
		if r.from.member(keyword) != nil {
			r.fail(keyword, "is not supported")
		}
	}
	if v := r.from.member("type"); v != nil {
		names := v.items
		if v.kind == '"' {
			names = []*value{v}
		}
		r.to.kinds = 0
		for _, name := range names {
			kind, known := kindNames[name.text]
			if !known || name.kind != '"' {
				r.fail("type", "must be object, array, string, number, integer, boolean or null, or a list of these")
			}
			r.to.kinds |= kind
		}
	}
	if r.flag("nullable") && r.to.kinds != kindAny { // OpenAPI's word for it
		r.to.kinds |= kindNull
	}
	if v := r.from.member("enum"); v != nil {
		if v.kind != '[' || len(v.items) == 0 {
			r.fail("enum", "must be a list of values")
			return
		}
		r.to.enum = v.items
	}
	if v := r.from.member("const"); v != nil {
		r.to.enum = []*value{v}
	}
	if v := r.from.member("examples"); v != nil {
		r.to.like = v.items
	}
	if v := r.from.member("default"); v != nil {
		r.to.like = append(r.to.like[:len(r.to.like):len(r.to.like)], v)
	}
}

// combinations reads the keywords that combine schemas.
func (r *reading) combinations() {
	n := r.to
	n.allOf = r.schemas("allOf")
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := r.schemas(keyword); list != nil {
			g := group{exactly: keyword == "oneOf"}
			for _, one := range list {
				g.alternatives = append(g.alternatives, []*node{one})
			}
			n.groups = append(n.groups, g)
		}
	}
	n.not = r.schema("not")
	if n.when = r.schema("if"); n.when == nil {
		return
	}
	n.then, n.otherwise = r.schema("then"), r.schema("else")
	holds, fails := []*node{n.when}, []*node{}
	if n.then != nil {
		holds = append(holds, n.then)
	}
	if n.otherwise != nil {
		fails = append(fails, n.otherwise)
	}
	n.groups = append(n.groups, group{alternatives: [][]*node{holds, fails}})
}

func (r *reading) object() {
	o := &r.to.object
	if v := r.from.member("properties"); v != nil {
		for _, m := range v.members {
			o.properties = append(o.properties, property{m.name, r.child(m.value, "properties/"+m.name)})
		}
		r.to.hint |= kindObject
	}
	if v := r.from.member("patternProperties"); v != nil {
		for _, m := range v.members {
			o.patterns = append(o.patterns, patternProperty{r.pattern("patternProperties", m.name), r.child(m.value, "patternProperties")})
		}
		r.to.hint |= kindObject
	}
	o.required = r.strings("required", r.from.member("required"))
	o.demands = make(map[string]bool, len(o.required))
	for _, name := range o.required {
		o.demands[name] = true
	}
	o.additional, o.names = r.schema("additionalProperties"), r.schema("propertyNames")
	if least := r.count("minProperties"); least != nil {
		o.least = *least
	}
	o.most = r.count("maxProperties")
	r.dependencies()
	if o.required != nil || o.additional != nil || o.names != nil || o.least > 0 || o.most != nil {
		r.to.hint |= kindObject
	}
	if o.names != nil || o.needs != nil || o.implies != nil {
		r.to.checked = true
	}
}

// dependencies reads what the presence of a property demands. Older drafts have one keyword for both.
func (r *reading) dependencies() {
	o := &r.to.object
	for _, keyword := range []string{"dependentRequired", "dependentSchemas", "dependencies"} {
		v := r.from.member(keyword)
		if v == nil {
			continue
		}
		for _, m := range v.members {
			if m.value.kind == '[' {
				if o.needs == nil {
					o.needs = make(map[string][]string)
				}
				o.needs[m.name] = r.strings(keyword, m.value)
				continue
			}
			if o.implies == nil {
				o.implies = make(map[string]*node)
			}
			o.implies[m.name] = r.child(m.value, keyword+"/"+m.name)
		}
	}
}

func (r *reading) array() {
	a := &r.to.array
	a.prefix, a.items = r.schemas("prefixItems"), nil
	if v := r.from.member("items"); v != nil && v.kind == '[' { // older drafts
		a.prefix, a.items = r.schemas("items"), r.schema("additionalItems")
	} else {
		a.items = r.schema("items")
	}
	if least := r.count("minItems"); least != nil {
		a.least = *least
	}
	a.most, a.unique = r.count("maxItems"), r.flag("uniqueItems")
	if a.contains = r.schema("contains"); a.contains != nil {
		a.leastContains, a.mostContains = 1, r.count("maxContains")
		if least := r.count("minContains"); least != nil {
			a.leastContains = *least
		}
		r.to.checked = true
	}
	if a.prefix != nil || a.items != nil || a.least > 0 || a.most != nil || a.contains != nil || a.unique {
		r.to.hint |= kindArray
	}
}

func (r *reading) text() {
	t := &r.to.text
	if least := r.count("minLength"); least != nil {
		t.least = *least
	}
	t.most = r.count("maxLength")
	if v := r.from.member("pattern"); v != nil {
		t.pattern = r.pattern("pattern", v.text)
	}
	if v := r.from.member("format"); v != nil {
		t.format = v.text
	}
	if t.least > 0 || t.most != nil || t.pattern != nil || t.format != "" {
		r.to.hint |= kindString
	}
}

func (r *reading) number() {
	n := &r.to.number
	n.least, n.most = r.rational("minimum"), r.rational("maximum")
	n.least, n.aboveLeast = r.exclusive("exclusiveMinimum", n.least, 1)
	n.most, n.below = r.exclusive("exclusiveMaximum", n.most, -1)
	if n.multiple = r.rational("multipleOf"); n.multiple != nil && n.multiple.Sign() <= 0 {
		r.fail("multipleOf", "must be above 0")
	}
	if n.least != nil || n.most != nil || n.multiple != nil {
		r.to.hint |= kindNumber | kindInteger
	}
}

// exclusive reads a bound that is excluded: a number, or a flag beside the bound in draft 4. The stricter of
// the two bounds holds; sign is 1 for a lower bound and -1 for an upper one.
func (r *reading) exclusive(keyword string, bound *big.Rat, sign int) (*big.Rat, bool) {
	v := r.from.member(keyword)
	if v == nil || v.kind == 'f' {
		return bound, false
	}
	if v.kind == 't' {
		return bound, bound != nil
	}
	excluded := r.rational(keyword)
	if bound == nil || excluded == nil || excluded.Cmp(bound)*sign >= 0 {
		return excluded, true
	}
	return bound, false
}

func (r *reading) rational(keyword string) *big.Rat {
	v := r.from.member(keyword)
	if v == nil {
		return nil
	}
	worth := rational(v.text)
	if v.kind != '0' || worth == nil {
		r.fail(keyword, "must be a number of at most %d digits", maxNumberBytes)
	}
	return worth
}
