package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"penstock"
	"penstock/client"
)

// raw prints JSON exactly as the server sent it, on a line of its own.
func (sh *shell) raw(text json.RawMessage) error {
	_, err := fmt.Fprintf(sh.stdout, "%s\n", text)
	return err
}

// json prints what did not come from a server.
func (sh *shell) json(v any) error {
	enc := json.NewEncoder(sh.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// rawList is entries of a list in the envelope that lists have in the API.
type rawList struct {
	Object  string            `json:"object"`
	Data    []json.RawMessage `json:"data"`
	HasMore hasMore           `json:"has_more"`
}

// hasMore says that a list goes on behind what was read of it.
type hasMore bool

// page is the beginning of a list.
type page[T any] struct {
	entries []T
	more    hasMore
}

// firstOf reads at most n entries of a list.
func firstOf[T any](all iter.Seq2[T, error], n int) (p page[T], err error) {
	for v, err := range all {
		if err != nil {
			return page[T]{}, err
		}
		if len(p.entries) == n {
			p.more = true
			return p, nil
		}
		p.entries = append(p.entries, v)
	}
	return p, nil
}

// look is how the entries of a list are shown: a row of cells each, or as the server sent them.
type look[T any] struct {
	header []string
	cells  func(T) []string
	raw    func(T) json.RawMessage
	empty  string // what is said when there are none
}

// show prints a page of a list.
func (l look[T]) show(sh *shell, p page[T]) error {
	if sh.output == outputJSON {
		list := rawList{Object: "list", Data: []json.RawMessage{}, HasMore: p.more}
		for _, v := range p.entries {
			list.Data = append(list.Data, l.raw(v))
		}
		return sh.json(list)
	}
	t := sh.table(l.header...)
	for _, v := range p.entries {
		if err := t.row(l.cells(v)...); err != nil {
			return err
		}
	}
	defer sh.tellMore(p.more)
	return t.end(l.empty)
}

// tellMore says that a table is not everything there is.
func (sh *shell) tellMore(more hasMore) {
	if more {
		fmt.Fprintln(sh.stderr, "There are more; --limit shows them.")
	}
}

// table prints rows under a header, in columns as wide as their widest cell.
type table struct {
	sh     *shell
	header []string
	rows   int
	out    *tabwriter.Writer
}

// tableBlock is how many rows are aligned together: a long list is printed as it comes, not at its end.
const tableBlock = 100

func (sh *shell) table(header ...string) *table {
	return &table{sh: sh, header: header, out: tabwriter.NewWriter(sh.stdout, 0, 0, 2, ' ', 0)}
}

// row adds a row; an empty cell becomes a dash, so that programs can split columns too.
func (t *table) row(cells ...string) error {
	if t.rows == 0 {
		t.line(t.header)
	}
	t.rows++
	t.line(cells)
	if t.rows%tableBlock == 0 {
		return t.out.Flush()
	}
	return nil
}

func (t *table) line(cells []string) {
	shown := make([]string, len(cells))
	for i, cell := range cells {
		if shown[i] = clean(cell); shown[i] == "" {
			shown[i] = "-"
		}
	}
	_, _ = io.WriteString(t.out, strings.Join(shown, "\t")+"\n") // an error comes back from Flush
}

// end prints what is left. A table without rows says so on stderr, where no program takes it for one.
func (t *table) end(nothing string) error {
	if t.rows == 0 {
		fmt.Fprintln(t.sh.stderr, nothing)
	}
	return t.out.Flush()
}

// field is a line of a description.
type field struct{ name, value string }

// describe prints what is known of one thing, leaving out what is not.
func (sh *shell) describe(fields ...field) error {
	out := tabwriter.NewWriter(sh.stdout, 0, 0, 2, ' ', 0)
	for _, f := range fields {
		if f.value != "" {
			_, _ = fmt.Fprintf(out, "%s\t%s\n", f.name, clean(f.value)) // an error comes back from Flush
		}
	}
	return out.Flush()
}

// clean takes out of foreign text what would act on a terminal or break a line.
func clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s))
}

// maxCell is the most that a terminal shows of a free text in a table.
const maxCell = 60

// brief shortens free text on a terminal; programs get all of it.
func (sh *shell) brief(s string) string {
	if runes := []rune(s); sh.terminal && len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	}
	return s
}

// when shows a moment: to a person how long ago it was, to a program exactly.
func (sh *shell) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if !sh.terminal {
		return t.UTC().Format(time.RFC3339Nano)
	}
	if d := sh.now().Sub(t); d >= 0 {
		return roughly(d) + " ago"
	}
	return "in " + roughly(t.Sub(sh.now()))
}

// roughly shows a duration in its largest unit.
func roughly(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return strconv.Itoa(int(d/day)) + "d"
	case d >= 2*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d >= 2*time.Minute:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	default:
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
}

// span shows the time between two moments, if both are known.
func span(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

// tokens shows what was used: input and output, and the parts of them that are priced apart.
func tokens(u client.Usage) string {
	part := func(list []string, n int64, word string) []string {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, word))
		}
		return list
	}
	among := func(n int64, direction string, parts []string) string {
		if len(parts) == 0 {
			return fmt.Sprintf("%d %s", n, direction)
		}
		return fmt.Sprintf("%d %s (%s)", n, direction, strings.Join(parts, ", "))
	}
	in := part(part(nil, u.CachedInputTokens, "cached"), u.CacheWriteTokens, "written to cache")
	in = part(part(in, u.CacheWrite1hTokens, "of them for an hour"), u.AudioInputTokens, "audio")
	out := part(part(nil, u.ReasoningTokens, "reasoning"), u.AudioOutputTokens, "audio")
	return among(u.InputTokens, "in", in) + ", " + among(u.OutputTokens, "out", out)
}

func dollars(m penstock.NanoUSD) string { return "$" + m.String() }

func itemError(e *penstock.ItemError) string {
	if e == nil {
		return ""
	}
	return string(e.Code) + ": " + e.Message
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
