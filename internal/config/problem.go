package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Path    string // what is wrong, such as targets.openai-mini.price.input; "" for the whole file
	Line    int    // where it is written or missing, from 1; 0 when it is in no file
	Column  int
	Message string // what is wrong with it and what to do
}

// String renders the problem on one line, place first.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	return b.String() + p.Message
}

// Problems is everything that is wrong with a configuration, in the order of the file; what is in
// no file comes first, by path. It is an error when it is not empty.
type Problems []Problem

// maxShownProblems bounds the text of an error; the list itself is complete.
const maxShownProblems = 100

// Error renders one problem per line.
func (ps Problems) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in the configuration:", count(len(ps), "problem"))
	for _, p := range ps[:min(len(ps), maxShownProblems)] {
		b.WriteString("\n  " + p.String())
	}
	if rest := len(ps) - maxShownProblems; rest > 0 {
		fmt.Fprintf(&b, "\n  and %d more", rest)
	}
	return b.String()
}

// With adds the problems of paths that have none yet, in order: the first problem of a value hides the others.
func (ps Problems) With(more Problems) Problems {
	all := slices.Clone(ps)
	for _, p := range more {
		if !slices.ContainsFunc(ps, func(known Problem) bool { return known.Path == p.Path || known.Path == string(path(p.Path).parent()) }) {
			all = append(all, p)
		}
	}
	all.sort()
	return all
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
}

// path leads to a value in the file: names joined by dots, list elements as [n]. A name that could
// be mistaken for several is written as ["name"], so that no two values share a path.
type path string

func (p path) key(name string) path {
	if name == "" || strings.ContainsFunc(name, isNotPlain) {
		return p + path("["+strconv.Quote(name)+"]")
	}
	if p == "" {
		return path(name)
	}
	return p + path("."+name)
}

func (p path) index(i int) path { return p + path("["+strconv.Itoa(i)+"]") }

// parent drops the last step, and returns "" at the top.
func (p path) parent() path { return p[:max(0, strings.LastIndexAny(string(p), ".["))] }

func isNotPlain(r rune) bool {
	alnum := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !alnum && r != '_' && r != '-'
}

// place is a position in the file, both numbers from 1.
type place struct{ line, column int }

// places holds where the value of each path was written. A path that is not in it was not written.
type places map[path]place

// nearest is the place of p, or of the closest thing around it that was written.
func (ps places) nearest(p path) place {
	for ; p != ""; p = p.parent() {
		if at, ok := ps[p]; ok {
			return at
		}
	}
	return place{}
}

const maxPathLength = 200

func newProblem(at path, where place, message string) Problem {
	return Problem{Path: clip(string(at), maxPathLength), Line: where.line, Column: where.column, Message: message}
}

// suggest completes a message about an unknown name with the known name that was probably meant.
func suggest(name string, known []string) string {
	best, distance := "", 1+max(1, min(len(name)/3, 3))
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := editDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// hint completes a message about an unknown key: with the key that other programs call so, the key of this section that
// was probably meant, the section that has such a key, or all keys of its section.
func hint(name string, known []string) string {
	if name == "model_list" || name == "litellm_settings" {
		return `; this is a file of LiteLLM: "penstock config import litellm" translates it`
	}
	if own, ok := foreignNames[name]; ok && slices.Contains(known, own) {
		return fmt.Sprintf("; here it is called %q", own)
	}
	if near := suggest(name, known); near != "" {
		return near
	}
	if homes := homesOf(name); len(homes) > 0 && len(homes) <= 3 {
		return "; there is " + strings.Join(homes, ", ") + ": is the indentation right?"
	}
	return neighbours(name, known)
}

// foreignNames are names of keys in files of other gateways and servers, with the names here.
var foreignNames = map[string]string{
	"api_base": "base_url", "url": "base_url", "endpoint": "base_url", "type": "kind", "apikey": "api_key", "key": "api_key", "token": "api_key",
	"model": "upstream_model", "model_name": "upstream_model", "max_tokens": "max_output_tokens", "context_window": "context_tokens",
	"rpm": "requests_per_minute", "tpm": "input_tokens_per_minute", "max_parallel_requests": "concurrency", "strategy": "policy", "routing_strategy": "policy",
	"bind": "listen", "address": "listen", "port": "listen", "database_url": "database", "postgres": "database", "data_dir": "data", "logging": "log",
	"cert": "cert_file", "certificate": "cert_file", "monthly": "monthly_usd", "daily": "daily_usd", "total": "total_usd", "limit": "limits", "budgets": "budget",
	"timeout": "timeouts", "users": "tenants", "customers": "tenants", "upstreams": "providers", "fallback": "fallback_model",
}

// homesOf lists the sections that have a key, as their paths.
func homesOf(name string) []string {
	var homes []string
	var visit func(at string, t reflect.Type)
	visit = func(at string, t reflect.Type) {
		switch t.Kind() {
		case reflect.Map:
			visit(at+".NAME", t.Elem())
		case reflect.Slice:
			visit(at+"[]", t.Elem())
		case reflect.Struct:
			if t == reflect.TypeFor[Secret]() {
				return
			}
			for key, f := range fieldsOf(t) {
				if f.refusal != "" || key == "" {
					continue
				}
				below := strings.TrimPrefix(at+"."+key, ".")
				if key == name {
					homes = append(homes, below)
				}
				visit(below, t.FieldByIndex(f.index).Type)
			}
		}
	}
	visit("", reflect.TypeFor[File]())
	slices.Sort(homes)
	return homes
}

// neighbours completes a message about an unknown key: with the known key that was probably meant, or with all keys of its section.
func neighbours(name string, known []string) string {
	if hint := suggest(name, known); hint != "" {
		return hint
	}
	if len(known) == 0 {
		return ""
	}
	return "; the keys here are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// editDistance counts the bytes to insert, delete, replace or swap with their neighbour to make b of
// a. Names too long to be a typo of each other are not compared.
func editDistance(a, b string) int {
	const longest = 128
	if len(a) > longest || len(b) > longest {
		return longest
	}
	// Three rows of the usual table: a swap looks back two rows.
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := above[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// clip shortens text that comes from the file before it is shown.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// quote shows a value of the file in a message.
func quote[T ~string](s T) string { return strconv.Quote(clip(string(s), 60)) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
