package usage

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock"
)

// Format is the file format of a report.
type Format string

// The formats.
const (
	JSON Format = "json"
	CSV  Format = "csv"
)

// MediaType is the media type of a format.
func (f Format) MediaType() string {
	if f == CSV {
		return "text/csv; charset=utf-8"
	}
	return "application/json"
}

// FormatOf is the format of an answer: that of the query, else that of the Accept header, else JSON.
func FormatOf(asked, accept string) (Format, bool) {
	switch {
	case asked == string(CSV), asked == "" && strings.HasPrefix(accept, "text/csv"):
		return CSV, true
	case asked == "", asked == string(JSON):
		return JSON, true
	}
	return "", false
}

// Write reads a report and writes it as it arrives. If it fails before the first byte, begun is false.
func (r Reporter) Write(ctx context.Context, s Scope, f Format, w io.Writer) (begun bool, err error) {
	var out sheet = &jsonSheet{w: w, query: s.Query}
	if f == CSV {
		out = &csvSheet{csv.NewWriter(w), s.Query}
	}
	open := func() error {
		if begun {
			return nil
		}
		begun = true
		return out.begin()
	}
	total, err := r.Report(ctx, s, func(g Group) error {
		if err := open(); err != nil {
			return err
		}
		return out.line(g)
	})
	if err != nil {
		return begun, err
	}
	if err := open(); err != nil {
		return begun, err
	}
	return begun, out.end(total)
}

// sheet is a report that is being written.
type sheet interface {
	begin() error
	line(Group) error
	end(Sum) error
}

// Report is a report in JSON.
type Report struct {
	Object  string    `json:"object"`
	From    string    `json:"from"`
	To      string    `json:"to"`
	GroupBy []By      `json:"group_by"`
	AsOf    time.Time `json:"as_of" about:"When the report was begun."`
	Data    []Line    `json:"data"`
	Total   Sum       `json:"total"`
}

// Line is a group in JSON: with the dimensions of the report and no others.
type Line struct {
	Tenant *string           `json:"tenant,omitzero"`
	Key    *string           `json:"key,omitzero"`
	Model  *string           `json:"model,omitzero"`
	Lane   *string           `json:"lane,omitzero"`
	Day    *string           `json:"day,omitzero"`
	Tags   map[string]string `json:"tags,omitzero"`
	Other  bool              `json:"other,omitzero" about:"The line is the sum of the groups that are not among the top; it has no other dimension than day."`
	Sum
}

func newLine(q Query, g Group) Line {
	l := Line{Sum: g.Sum, Other: g.Other}
	for i, by := range q.By {
		v := g.Values[i]
		if g.Other && by != ByDay {
			continue
		}
		if tag, ok := by.tag(); ok {
			l.tag(tag, v)
			continue
		}
		switch by {
		case ByTenant:
			l.Tenant = &v
		case ByKey:
			l.Key = &v
		case ByModel:
			l.Model = &v
		case ByLane:
			l.Lane = &v
		case ByDay:
			l.Day = &v
		case ByTags:
			var tags map[string]string
			_ = json.Unmarshal([]byte(v), &tags) // tagText wrote it
			for name, value := range tags {
				l.tag(name, value)
			}
		}
	}
	return l
}

func (l *Line) tag(name, value string) {
	if value == "" {
		return
	}
	if l.Tags == nil {
		l.Tags = map[string]string{}
	}
	l.Tags[name] = value
}

// tagText writes all tags as one value, in the order of their names.
func tagText(tags map[string]string) string {
	if len(tags) == 0 {
		return "{}"
	}
	text, _ := json.Marshal(tags) // a map of strings cannot fail
	return string(text)
}

type jsonSheet struct {
	w     io.Writer
	query Query
	lines int
}

func (s *jsonSheet) begin() error {
	by, err := json.Marshal(append([]By{}, s.query.By...))
	if err == nil {
		_, err = fmt.Fprintf(s.w, `{"object":"usage","from":%q,"to":%q,"group_by":%s,"as_of":%q,"data":[`,
			s.query.From.Format(time.DateOnly), s.query.To.Format(time.DateOnly), by, s.query.AsOf.Format(time.RFC3339Nano))
	}
	return err
}

func (s *jsonSheet) line(g Group) error {
	text, err := json.Marshal(newLine(s.query, g))
	if err != nil {
		return err
	}
	if s.lines++; s.lines > 1 {
		text = append([]byte(","), text...)
	}
	_, err = s.w.Write(text)
	return err
}

func (s *jsonSheet) end(total Sum) error {
	text, err := json.Marshal(total)
	if err == nil {
		_, err = fmt.Fprintf(s.w, `],"total":%s}`+"\n", text)
	}
	return err
}

type csvSheet struct {
	w     *csv.Writer
	query Query
}

var sumColumns = slices.Concat([]string{"requests"}, penstock.UsageNames[:], []string{"cost_usd", "forfeit_usd"})

func (s Sum) cells() []string {
	cells := []string{strconv.FormatInt(s.Requests, 10)}
	for _, n := range s.Counts() {
		cells = append(cells, strconv.FormatInt(*n, 10))
	}
	return append(cells, s.Cost.String(), s.Forfeit.String())
}

// begin writes the column names. The first column tells groups from the sum of other groups and from the total.
func (s *csvSheet) begin() error {
	columns := []string{"line"}
	for _, by := range s.query.By {
		columns = append(columns, string(by))
	}
	return s.w.Write(append(columns, sumColumns...))
}

func (s *csvSheet) line(g Group) error {
	kind := "group"
	if g.Other {
		kind = "other"
	}
	return s.w.Write(append(append([]string{kind}, g.Values...), g.cells()...))
}

func (s *csvSheet) end(total Sum) error {
	cells := append([]string{"total"}, make([]string, len(s.query.By))...)
	if err := s.w.Write(append(cells, total.cells()...)); err != nil {
		return err
	}
	s.w.Flush()
	return s.w.Error()
}
