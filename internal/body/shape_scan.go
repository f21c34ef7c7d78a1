package body

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// ScanAs is [Scan] for an object that has a shape, in the same single pass. It refuses members that some server takes for
// another one, with an *[Ambiguity], and finds the addresses that an upstream may fetch from.
func ScanAs(text []byte, s *Shape) (Object, error) {
	w := walk{Cursor: NewCursor(text)}
	o := Object{Text: text, start: w.at + 1, end: len(trimSpace(text)) - 1, Members: make([]Member, 0, 8)}
	w.object(s, place{into: &o})
	o.Links = w.links
	err := w.End()
	if err == nil {
		o.depth, o.images, o.media, o.fileID = w.deepest, w.images, w.media, w.fileID
	}
	if err == nil && w.validText() {
		return o, nil
	}
	if doubt, ok := errors.AsType[*Ambiguity](err); ok && (doubt.Name != doubt.Other || doubt.Path != doubt.Name) {
		return Object{}, err
	}
	if _, slow := scanSlowly(text); slow != nil {
		return Object{}, slow
	}
	return o, err
}

// walk is a cursor that follows shapes.
type walk struct {
	Cursor
	links []Span
}

// place is where an object stands.
type place struct {
	depth int
	into  *Object // what its members are noted in, nil if nobody asks
}

// maxUnknown is how many members that a shape does not name an object can have without an allocation.
const maxUnknown = 4

// object passes over an object of a shape.
func (w *walk) object(s *Shape, p place) {
	if p.depth > maxNesting {
		w.fail(errNested)
		return
	}
	if !w.open('{') {
		return
	}
	w.enter(p.depth)
	var seen present
	var cites []Span // the links that only tell where a text was found, if the object is such a one
	cited := false
	for n := 0; w.more('}', n); n++ {
		at := w.at
		name := w.name()
		if w.err == nil && n == MaxMembers {
			w.fail(fmt.Errorf("has more than %d members", MaxMembers))
		}
		if w.err != nil {
			return
		}
		f := s.find(name)
		w.unambiguous(s, f, &seen, named{at, name})
		w.note(name)
		start, links := w.at, len(w.links)
		w.member(s, f, p.depth)
		if p.into != nil && w.err == nil {
			p.into.Members = append(p.into.Members, Member{nameOf(f, name), Span{start, start + len(trimSpace(w.text[start:w.at]))}})
			p.into.Marked = p.into.Marked || (f != nil && f.Mark)
		}
		switch {
		case f == nil:
		case (f.Link == CitesLink || f.Link == MayCiteLink) && len(w.links) == links+1 && w.text[start] == '"':
			cites = append(cites, w.links[links])
		case f.Name == "type":
			cited = cited || isCitation(w.text[start:w.at])
		}
	}
	if cited && len(cites) > 0 && w.err == nil {
		w.links = slices.DeleteFunc(w.links, func(link Span) bool { return slices.Contains(cites, link) })
	}
}

// nameOf is a name as a string, without a copy where the shape has one.
func nameOf(f *field, name []byte) string {
	if f != nil {
		return f.Name
	}
	return string(name)
}

// isCitation says whether the kind of an object is one that tells where a text was found: nobody fetches it again.
func isCitation(kind []byte) bool {
	return bytes.HasPrefix(kind, []byte(`"web_search_result"`)) || bytes.HasPrefix(kind, []byte(`"web_fetch_result"`)) || bytes.HasPrefix(kind, []byte(`"search_result"`))
}

// present are the members that an object has, as far as they were read.
type present struct {
	known   [(maxFields + 1) / 64]uint64
	first   [maxUnknown]unknown
	count   int
	further []unknown
}

// unknown is a member that the shape does not name.
type unknown struct {
	fold uint64
	at   int
}

// named is a name and where it stands.
type named struct {
	at   int
	name []byte
}

// unambiguous fails if the name of a member could be taken for another one.
func (w *walk) unambiguous(s *Shape, f *field, seen *present, n named) {
	if f != nil {
		word, bit := &seen.known[f.class/64], uint64(1)<<(f.class%64)
		if *word&bit != 0 {
			w.doubt(n, Ambiguity{Other: f.Name, Given: true})
		}
		*word |= bit
		return
	}
	var buffer [64]byte
	folded := appendFold(buffer[:0], n.name)
	if alike := s.folded[string(folded)]; alike != nil {
		w.doubt(n, Ambiguity{Other: alike.Name, Given: seen.known[alike.class/64]&(uint64(1)<<(alike.class%64)) != 0})
		return
	}
	one := unknown{hash(folded), n.at}
	for _, other := range seen.all() {
		if other.fold == one.fold {
			w.doubt(n, Ambiguity{Other: nameAt(w.text[other.at:]), Given: true})
			return
		}
	}
	seen.add(one)
}

func (m *present) all() []unknown {
	if m.further != nil {
		return m.further
	}
	return m.first[:m.count]
}

func (m *present) add(one unknown) {
	switch {
	case m.further != nil:
		m.further = append(m.further, one)
	case m.count == len(m.first):
		m.further = append(append(make([]unknown, 0, 8*maxUnknown), m.first[:]...), one)
	default:
		m.first[m.count] = one
		m.count++
	}
}

// hash is FNV-1a. A caller that makes two names collide only has its own body refused.
func hash(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// nameAt is the name that a text begins with.
func nameAt(text []byte) string {
	c := NewCursor(text)
	name, _ := jsontext.AppendUnquote(nil, c.quoted())
	return string(name)
}

// doubt fails because of a member that could be taken for another.
func (w *walk) doubt(n named, a Ambiguity) {
	a.Path, a.Name = Path(w.text, n.at), string(n.name)
	w.fail(&a)
}

// member passes over the value of a member.
func (w *walk) member(s *Shape, f *field, depth int) {
	switch {
	case f != nil:
		w.value(f, depth+1)
	case s.seeks:
		w.seek(depth + 1)
	default:
		w.skip(depth + 1)
	}
}

// value passes over what stands under a field.
func (w *walk) value(f *field, depth int) {
	switch kind := w.Kind(); {
	case depth > maxNesting:
		w.fail(errNested)
	case f.Value == nil && f.Link == NoLink:
		w.skip(depth)
	case kind == '{' && f.Value != nil:
		w.object(f.Value, place{depth: depth})
	case kind == '{':
		w.seek(depth)
	case kind == '[':
		w.enter(depth)
		for range w.Elements {
			w.value(f, depth+1)
		}
	case kind == '"':
		w.link(f.Link)
	default:
		w.skip(depth)
	}
}

// seek passes over any value and notes the addresses in it.
func (w *walk) seek(depth int) {
	switch kind := w.Kind(); {
	case depth > maxNesting:
		w.fail(errNested)
	case kind == '{':
		w.enter(depth)
		for name := range w.Members {
			w.note(name)
			w.seek(depth + 1)
		}
	case kind == '[':
		w.enter(depth)
		for range w.Elements {
			w.seek(depth + 1)
		}
	case kind == '"':
		w.link(MayLink)
	default:
		w.skip(depth)
	}
}

// link passes over a string and notes it if it is an address.
func (w *walk) link(l Link) {
	start := w.at
	raw := w.quoted()
	if w.err != nil || l == NoLink || bytes.HasPrefix(raw, []byte(`"data:`)) {
		return
	}
	if (l == MayLink || l == MayCiteLink) && !hasScheme(raw) {
		return
	}
	w.links = append(w.links, Span{start, start + len(raw)})
}

// schemes are those that servers fetch from and that are an address without slashes behind them too.
var schemes = []string{"http:", "https:", "file:", "ftp:"}

// lineEnds are what clients take away inside of an address. In JSON they are always escaped.
var lineEnds = regexp.MustCompile(`[\t\r\n]+`)

// hasScheme says whether a string in quotes begins as an address does. Line ends inside it do not count, as in browsers, nor
// does what clients take away before it: any space, a byte order mark, and the < and URL: that Python's urllib unwraps.
func hasScheme(raw []byte) bool {
	const enough = 64
	text := bytes.TrimLeftFunc(raw[1:len(raw)-1], isLead)
	if bytes.IndexByte(text[:min(len(text), enough)], '\\') >= 0 {
		text, _ = jsontext.AppendUnquote(nil, raw)
		text = bytes.TrimLeftFunc(lineEnds.ReplaceAll(text, nil), isLead)
	}
	begins := strings.TrimPrefix(strings.ToLower(string(text[:min(len(text), enough)])), "url:")
	begins = strings.TrimLeftFunc(begins, isLead)
	for _, scheme := range schemes {
		if strings.HasPrefix(begins, scheme) {
			return true
		}
	}
	scheme, _, isURL := strings.Cut(begins, "://") // a scheme may wrap another, as in jar:http://
	return isURL && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-:") == "" || strings.HasPrefix(begins, "//")
}

// isLead says whether a character before an address does not count.
func isLead(r rune) bool {
	return r <= ' ' || r == '<' || r == '\ufeff' || unicode.IsSpace(r)
}

// Link returns the text of an address.
func (o Object) Link(at Span) string {
	text, _ := jsontext.AppendUnquote(nil, o.Text[at.Start:at.End]) // it was found to be valid
	return string(text)
}

// Path is where in a JSON text the name or value stands that begins at an offset, such as messages[0].content[1].image_url.
func Path(text []byte, at int) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return "body"
		}
		if int(dec.InputOffset()) > at {
			return dotted(dec.StackPointer(), dec)
		}
	}
}

// dotted writes a pointer the way people write paths.
func dotted(p jsontext.Pointer, dec *jsontext.Decoder) string {
	const most = 300
	var b strings.Builder
	depth := 1
	for token := range p.Tokens() {
		if kind, _ := dec.StackIndex(depth); kind == '[' {
			fmt.Fprintf(&b, "[%s]", token)
		} else {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(printed(token))
		}
		depth++
	}
	path := b.String()
	if len(path) > most {
		path = path[:most] + "…"
	}
	return path
}
