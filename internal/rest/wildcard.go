package rest

import (
	"net/http"
	"slices"
	"strings"
)

// A row's path may have a wildcard of several segments in its middle: /v1/prompts/{name...}/versions/{version}. The mux of the
// standard library has such wildcards only at the end of a pattern. Rows of one method that share the part up to the wildcard are
// one pattern of the mux, and a family picks the row: the longest rest that fits the end of the path wins. Names with a segment
// that such a rest begins with would be ambiguous, so the service that owns the names must refuse these words.

const wildEnd = "...}"

// family serves the rows that share a method and the path up to a wildcard of several segments.
type family struct {
	name    string // of the wildcard
	members []familyRow
	nowhere http.Handler
}

// familyRow is a row of a family.
type familyRow struct {
	tail  []string // the segments behind the wildcard
	serve http.Handler
}

// families groups the rows with a wildcard of several segments that is not the end of the only pattern, by the pattern of the mux.
func families(routes []Route) map[string][]*Route {
	all := map[string][]*Route{}
	for i := range routes {
		if head, _, wild := strings.Cut(routes[i].Path, wildEnd); wild {
			pattern := routes[i].Method + " " + head + wildEnd
			all[pattern] = append(all[pattern], &routes[i])
		}
	}
	for pattern, rows := range all {
		if len(rows) == 1 && strings.HasSuffix(rows[0].Path, wildEnd) {
			delete(all, pattern) // the mux can do it alone
		}
	}
	return all
}

// newFamily makes the handler of a group.
func (s *Server) newFamily(rows []*Route, nowhere http.Handler) *family {
	head, _, _ := strings.Cut(rows[0].Path, wildEnd)
	f := &family{name: head[strings.LastIndexByte(head, '{')+1:], nowhere: nowhere}
	for _, rt := range rows {
		_, tail, _ := strings.Cut(rt.Path, wildEnd)
		f.members = append(f.members, familyRow{tail: strings.FieldsFunc(tail, func(r rune) bool { return r == '/' }), serve: s.endpoint(rt)})
	}
	slices.SortStableFunc(f.members, func(x, y familyRow) int { return len(y.tail) - len(x.tail) })
	return f
}

// ServeHTTP implements http.Handler.
func (f *family) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments := strings.Split(r.PathValue(f.name), "/")
	for _, m := range f.members {
		if values, ok := m.match(segments); ok {
			for name, value := range values {
				r.SetPathValue(name, value)
			}
			r.SetPathValue(f.name, strings.Join(segments[:len(segments)-len(m.tail)], "/"))
			m.serve.ServeHTTP(w, r)
			return
		}
	}
	f.nowhere.ServeHTTP(w, r)
}

// match compares the end of a path with the row. It returns the values of the parameters behind the wildcard.
func (m familyRow) match(segments []string) (map[string]string, bool) {
	name := segments[:max(0, len(segments)-len(m.tail))]
	if len(name) == 0 || slices.Contains(name, "") {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range m.tail {
		got := segments[len(name)+i]
		if param, ok := strings.CutPrefix(want, "{"); ok && got != "" {
			values[strings.TrimSuffix(param, "}")] = got
		} else if got != want {
			return nil, false
		}
	}
	return values, true
}
