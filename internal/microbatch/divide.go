package microbatch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Part is one member's part of an answer.
type Part struct {
	Inputs int
	Weight int64 // of its share of the usage
}

// Divide gives each member its part of the answer to a merged body: the same object, with the vectors of the member's
// inputs, numbered from 0 for each member, and its share of the usage. The answer must be valid JSON, which the adapter
// has checked. An answer that does not name every input once cannot be divided.
func Divide(answer []byte, parts []Part) ([][]byte, error) {
	top, err := scan(answer)
	if err != nil {
		return nil, err
	}
	data, ok := top.find("data")
	if !ok {
		return nil, errors.New("it has no data")
	}
	total := 0
	for _, p := range parts {
		total += p.Inputs
	}
	vectors, err := readVectors(answer, data, total)
	if err != nil {
		return nil, err
	}
	usages, usage, err := shareNumbers(answer, top, parts)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(parts))
	for i, p := range parts {
		edits := []edit{{data, listOf(answer, vectors[:p.Inputs])}}
		if usages != nil {
			edits = append(edits, edit{usage, usages[i]})
		}
		all[i] = apply(answer, edits)
		vectors = vectors[p.Inputs:]
	}
	return all, nil
}

// vector is an element of data, and the position of its index, if it has one.
type vector struct{ all, index span }

// readVectors finds the vectors of an answer, in the order of the inputs.
func readVectors(text []byte, data span, total int) ([]vector, error) {
	ordered, seen := make([]vector, total), 0
	err := elements(text, data, func(at span) error {
		if seen++; seen > total {
			return fmt.Errorf("it has more than the %d vectors that were asked for", total)
		}
		one, err := scan(text[at.start:at.end])
		if err != nil {
			return fmt.Errorf("reading vector %d: %w", seen-1, err)
		}
		v, n := vector{all: at}, seen-1
		if index, ok := one.find("index"); ok {
			v.index = span{at.start + index.start, at.start + index.end}
			if n, err = strconv.Atoi(string(text[v.index.start:v.index.end])); err != nil || n < 0 || n >= total {
				return fmt.Errorf("it numbers a vector %.20q of %d", text[v.index.start:v.index.end], total)
			}
		}
		if ordered[n].all.end > 0 {
			return fmt.Errorf("it has vector %d twice", n)
		}
		ordered[n] = v
		return nil
	})
	if err == nil && seen < total {
		err = fmt.Errorf("it has %d of the %d vectors that were asked for", seen, total)
	}
	return ordered, err
}

// listOf writes a list of vectors, numbered from 0.
func listOf(text []byte, vectors []vector) []byte {
	size := 2
	for _, v := range vectors {
		size += v.all.end - v.all.start + 1
	}
	list := append(make([]byte, 0, size), '[')
	for i, v := range vectors {
		if i > 0 {
			list = append(list, ',')
		}
		if v.index.end == 0 {
			list = append(list, text[v.all.start:v.all.end]...)
			continue
		}
		list = append(list, text[v.all.start:v.index.start]...)
		list = strconv.AppendInt(list, int64(i), 10)
		list = append(list, text[v.index.end:v.all.end]...)
	}
	return append(list, ']')
}

// shareNumbers divides the counts of an answer's usage. Members that are not counts are left out: they cannot be divided.
func shareNumbers(text []byte, top object, parts []Part) (all [][]byte, at span, err error) {
	at, ok := top.find("usage")
	if !ok || text[at.start] != '{' {
		return nil, at, nil
	}
	usage, err := scan(text[at.start:at.end])
	if err != nil {
		return nil, at, err
	}
	weights := make([]int64, len(parts))
	all = make([][]byte, len(parts))
	for i, p := range parts {
		weights[i], all[i] = p.Weight, []byte{'{'}
	}
	for _, m := range usage.members {
		n, err := strconv.ParseInt(string(usage.text[m.value.start:m.value.end]), 10, 64)
		if err != nil {
			continue
		}
		for i, share := range Share(n, weights) {
			if len(all[i]) > 1 {
				all[i] = append(all[i], ',')
			}
			all[i] = append(all[i], usage.text[m.name.start:m.name.end]...)
			all[i] = strconv.AppendInt(append(all[i], ':'), share, 10)
		}
	}
	for i := range all {
		all[i] = append(all[i], '}')
	}
	return all, at, nil
}

// edit replaces a span of an answer.
type edit struct {
	at   span
	text []byte
}

func apply(text []byte, edits []edit) []byte {
	if len(edits) == 2 && edits[1].at.start < edits[0].at.start {
		edits[0], edits[1] = edits[1], edits[0]
	}
	size, done := 0, 0
	for _, e := range edits {
		size += e.at.start - done + len(e.text)
		done = e.at.end
	}
	out := make([]byte, 0, size+len(text)-done)
	done = 0
	for _, e := range edits {
		out = append(append(out, text[done:e.at.start]...), e.text...)
		done = e.at.end
	}
	return append(out, text[done:]...)
}

// span is a range of bytes.
type span struct{ start, end int }

// object is a JSON object and the positions of its members.
type object struct {
	text    []byte
	members []member
}

type member struct{ name, value span }

func (o object) find(name string) (span, bool) {
	for _, m := range o.members {
		if quoted := o.text[m.name.start:m.name.end]; string(quoted[1:len(quoted)-1]) == name {
			return m.value, true
		}
	}
	return span{}, false
}

var errBroken = errors.New("it is not as JSON should be")

// maxMembers bounds the members that are looked at. The objects of an answer have a few.
const maxMembers = 64

// scan finds the members of an object in JSON that was checked before. Package body checks as it reads, which for
// megabytes of numbers takes longer than the rest of a call; here they are skipped.
func scan(text []byte) (object, error) {
	o := object{text: text}
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '{' {
		return o, errBroken
	}
	for at = skipSpace(text, at+1); at < len(text) && text[at] != '}'; {
		name := span{start: at}
		var err error
		if name.end, err = skipString(text, at); err != nil {
			return o, err
		}
		at = skipSpace(text, name.end)
		if at == len(text) || text[at] != ':' || len(o.members) == maxMembers {
			return o, errBroken
		}
		value := span{start: skipSpace(text, at+1)}
		if value.end, err = skipValue(text, value.start); err != nil {
			return o, err
		}
		o.members = append(o.members, member{name, value})
		at = skipComma(text, value.end)
	}
	if at >= len(text) {
		return o, errBroken
	}
	return o, nil
}

// elements calls visit with each element of a list.
func elements(text []byte, list span, visit func(span) error) error {
	if text[list.start] != '[' {
		return errBroken
	}
	for at := skipSpace(text, list.start+1); at < list.end-1; {
		end, err := skipValue(text, at)
		if err != nil || end > list.end {
			return errBroken
		}
		if err := visit(span{at, end}); err != nil {
			return err
		}
		at = skipComma(text, end)
	}
	return nil
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// skipComma steps to the next member or element.
func skipComma(text []byte, at int) int {
	if at = skipSpace(text, at); at < len(text) && text[at] == ',' {
		at = skipSpace(text, at+1)
	}
	return at
}

func skipString(text []byte, at int) (end int, err error) {
	if at >= len(text) || text[at] != '"' {
		return 0, errBroken
	}
	for at++; ; at += 2 {
		n := bytes.IndexAny(text[at:], `"\`)
		if n < 0 {
			return 0, errBroken
		}
		if at += n; text[at] == '"' {
			return at + 1, nil
		}
		if at+2 > len(text) {
			return 0, errBroken
		}
	}
}

func skipValue(text []byte, at int) (end int, err error) {
	if at >= len(text) {
		return 0, errBroken
	}
	switch text[at] {
	case '"':
		return skipString(text, at)
	case '[', '{':
		return skipNested(text, at)
	}
	n := bytes.IndexAny(text[at:], ",]} \n\t\r")
	if n <= 0 {
		return 0, errBroken
	}
	return at + n, nil
}

// skipNested steps over a list or an object. A list of numbers, which is nearly all of an answer, ends at the first
// bracket.
func skipNested(text []byte, at int) (end int, err error) {
	if n := bytes.IndexByte(text[at:], ']'); n > 0 && text[at] == '[' && !nests(text[at+1:at+n]) {
		return at + n + 1, nil
	}
	for depth := 0; ; {
		n := bytes.IndexAny(text[at:], `"[]{}`)
		if n < 0 {
			return 0, errBroken
		}
		at += n
		switch text[at] {
		case '"':
			if at, err = skipString(text, at); err != nil {
				return 0, err
			}
			continue
		case '[', '{':
			depth++
		default:
			depth--
		}
		at++
		if depth == 0 {
			return at, nil
		}
	}
}

// nests says whether there is more than numbers. Looking for one byte at a time is many times faster than for several.
func nests(inner []byte) bool {
	return bytes.IndexByte(inner, '"') >= 0 || bytes.IndexByte(inner, '[') >= 0 || bytes.IndexByte(inner, '{') >= 0
}
