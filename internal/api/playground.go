package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// playgroundSetupInput is what a run does, as it is sent.
type playgroundSetupInput struct {
	Columns []playgroundColumnInput `json:"columns" required:"true" about:"1 to 4 ways to answer."`
	Rows    []jsontext.Value        `json:"rows" required:"true" about:"Variables, one object for each row: 1 to 200. Each column takes those of its prompt. [{}] is one row without variables."`
	Trials  *int                    `json:"trials,omitzero" about:"How often each column answers each row: 1 to 10, 1 when not given. Columns, rows and trials make at most 400 cells."`
}

// playgroundSetupView is what a run does.
type playgroundSetupView struct {
	Columns []playgroundColumnView `json:"columns"`
	Rows    []jsontext.Value       `json:"rows"`
	Trials  int                    `json:"trials"`
}

// playgroundColumnInput is one way to answer, as it is sent.
type playgroundColumnInput playgroundColumnView

// playgroundColumnView is one way to answer.
type playgroundColumnView struct {
	Prompt         *playgroundReferenceView  `json:"prompt" about:"A prompt of the registry. A column has exactly one of prompt and content."`
	Content        *promptContent            `json:"content" about:"A prompt that is not saved."`
	Model          *string                   `json:"model" about:"null: the model of the prompt's config."`
	Params         map[string]jsontext.Value `json:"params" about:"Members of a chat completion, which replace those of the prompt's config; null removes one."`
	Tools          jsontext.Value            `json:"tools" about:"null: those of the prompt's config."`
	ToolResults    map[string]string         `json:"tool_results" about:"Simulated results, by the names of tools. The model gets them and goes on, up to 8 calls. A call of a tool without a result ends the cell."`
	ResponseFormat jsontext.Value            `json:"response_format" about:"null: that of the prompt's config."`
}

// playgroundReferenceView names a prompt of the registry.
type playgroundReferenceView struct {
	Name    string `json:"name" required:"true"`
	Label   string `json:"label,omitzero" about:"production when neither label, version nor draft is given."`
	Version int64  `json:"version,omitzero"`
	Draft   bool   `json:"draft,omitzero"`
}

// playgroundRunOrder asks for a run, or for its estimate.
type playgroundRunOrder struct {
	Name  *string              `json:"name,omitzero"`
	Setup playgroundSetupInput `json:"setup" required:"true"`
}

// unlessNull is a JSON value that is not null; nil for one that is.
func unlessNull(v jsontext.Value) json.RawMessage {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil
	}
	return json.RawMessage(v)
}

// setup makes a setup of what was sent.
func (in *playgroundSetupInput) setup() playground.Setup {
	s := playground.Setup{Trials: 1}
	if in.Trials != nil {
		s.Trials = *in.Trials
	}
	for _, row := range in.Rows {
		s.Rows = append(s.Rows, json.RawMessage(row))
	}
	for _, c := range in.Columns {
		one := playground.Column{Tools: unlessNull(c.Tools), ToolResults: c.ToolResults, ResponseFormat: unlessNull(c.ResponseFormat)}
		if c.Prompt != nil {
			one.Prompt = &playground.Reference{Name: c.Prompt.Name, Label: c.Prompt.Label, Version: c.Prompt.Version, Draft: c.Prompt.Draft}
		}
		if c.Content != nil {
			inline := c.Content.content()
			one.Content = &inline
		}
		if c.Model != nil {
			one.Model = *c.Model
		}
		if len(c.Params) > 0 {
			one.Params = content.Config{}
			for name, value := range c.Params {
				one.Params[name] = json.RawMessage(value)
			}
		}
		s.Columns = append(s.Columns, one)
	}
	return s
}

// value is a JSON value for an answer; null for none.
func value(v json.RawMessage) jsontext.Value {
	if v == nil {
		return null
	}
	return jsontext.Value(v)
}

// newPlaygroundSetupView shows a setup.
func newPlaygroundSetupView(s playground.Setup) playgroundSetupView {
	v := playgroundSetupView{Trials: s.Trials, Rows: []jsontext.Value{}, Columns: []playgroundColumnView{}}
	for _, row := range s.Rows {
		v.Rows = append(v.Rows, jsontext.Value(row))
	}
	for _, c := range s.Columns {
		one := playgroundColumnView{Model: text(c.Model), Params: newPromptConfig(c.Params), Tools: value(c.Tools), ToolResults: c.ToolResults, ResponseFormat: value(c.ResponseFormat)}
		if one.ToolResults == nil {
			one.ToolResults = map[string]string{}
		}
		if c.Prompt != nil {
			one.Prompt = &playgroundReferenceView{Name: c.Prompt.Name, Label: c.Prompt.Label, Version: c.Prompt.Version, Draft: c.Prompt.Draft}
		}
		if c.Content != nil {
			inline := newPromptContent(*c.Content)
			one.Content = &inline
		}
		v.Columns = append(v.Columns, one)
	}
	return v
}

// playgroundActorView is a person or a key.
type playgroundActorView struct {
	ID   string `json:"id" about:"per_… of a person, key:NAME of a key."`
	Name string `json:"name"`
}

func newPlaygroundActorView(a penstock.Author) playgroundActorView {
	return playgroundActorView{a.ID, a.Name}
}

// playgroundRunSummary is a run without its setup and its cells.
type playgroundRunSummary struct {
	ID         string               `json:"id"`
	Object     string               `json:"object"`
	Name       *string              `json:"name"`
	State      playground.RunState  `json:"state"`
	CreatedAt  time.Time            `json:"created_at"`
	FinishedAt *time.Time           `json:"finished_at"`
	Author     playgroundActorView  `json:"author"`
	Mine       bool                 `json:"mine" about:"You are the author."`
	ETag       string               `json:"etag" about:"For If-Match."`
	Shared     playground.Sharing   `json:"shared" about:"private; role: people with a role see the run; snapshot: people who have a link see a copy."`
	Models     []string             `json:"models"`
	Prompts    []string             `json:"prompts" about:"As name@version; name@draft for a draft."`
	Counts     playgroundCountsView `json:"counts"`
	CostUSD    string               `json:"cost_usd"`
}

type playgroundCountsView struct {
	Queued      int `json:"queued"`
	Running     int `json:"running"`
	Succeeded   int `json:"succeeded"`
	Failed      int `json:"failed"`
	Stopped     int `json:"stopped"`
	Interrupted int `json:"interrupted"`
}

// playgroundRunView is a run.
type playgroundRunView struct {
	playgroundRunSummary
	Setup  playgroundSetupView  `json:"setup"`
	Cells  []playgroundCellView `json:"cells"`
	Cursor string               `json:"cursor" about:"The position of this answer among the events of the run, for the parameter after."`
}

// playgroundCellView is a cell.
type playgroundCellView struct {
	N            int                    `json:"n"`
	Column       int                    `json:"column"`
	Row          int                    `json:"row"`
	Trial        int                    `json:"trial"`
	State        playground.CellState   `json:"state"`
	Attempt      int64                  `json:"attempt" about:"Grows when the cell runs again; its output then begins anew."`
	RequestIDs   []string               `json:"request_ids" about:"The calls of the cell, one for each step."`
	Prompt       *playgroundPromptView  `json:"prompt" about:"null for a prompt that is not saved."`
	Model        string                 `json:"model"`
	Target       *string                `json:"target"`
	Output       playgroundOutputView   `json:"output"`
	FinishReason *string                `json:"finish_reason"`
	SchemaValid  *bool                  `json:"schema_valid" about:"Whether the answer has the form that response_format asks for; null if it asks for none."`
	Error        *playgroundProblemView `json:"error"`
	Metrics      playgroundMetricsView  `json:"metrics"`
	Marks        []playgroundMarkView   `json:"marks"`
}

type playgroundPromptView struct {
	Name    string `json:"name"`
	Version *int64 `json:"version" about:"null for the draft."`
	SHA256  string `json:"sha256"`
}

type playgroundOutputView struct {
	Text      string                   `json:"text" about:"Empty in events: deltas have it."`
	Reasoning string                   `json:"reasoning"`
	ToolCalls []playgroundToolCallView `json:"tool_calls"`
}

type playgroundToolCallView struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Result    *string `json:"result" about:"The simulated result; null for none."`
}

type playgroundProblemView struct {
	Code    penstock.Code `json:"code"`
	Message string        `json:"message"`
}

type playgroundMetricsView struct {
	FirstTokenMS    *int64   `json:"first_token_ms" about:"Of the first call of the cell."`
	DurationMS      *int64   `json:"duration_ms"`
	TokensPerSecond *float64 `json:"tokens_per_second" about:"Behind the first token."`
	InputTokens     int64    `json:"input_tokens"`
	OutputTokens    int64    `json:"output_tokens"`
	CostUSD         string   `json:"cost_usd" about:"Of all calls of the cell, earlier attempts included."`
}

// playgroundMarkView is a judgement.
type playgroundMarkView struct {
	Author     playgroundActorView `json:"author"`
	Rating     *int                `json:"rating" about:"1, -1 or null."`
	Comment    string              `json:"comment"`
	Correction string              `json:"correction"`
	At         time.Time           `json:"at"`
}

// playgroundDeltaView is a piece of output in an event.
type playgroundDeltaView struct {
	Cell   int                  `json:"cell" about:"The number of the cell."`
	Kind   playground.DeltaKind `json:"kind"`
	Call   *int                 `json:"call,omitzero" about:"Of tool_arguments: the number of the tool call in the cell, from 0."`
	Text   string               `json:"text"`
	Offset int                  `json:"offset" about:"The bytes of this kind before it, of all tool calls together."`
}

func newPlaygroundRunSummary(r playground.Run) playgroundRunSummary {
	v := playgroundRunSummary{
		ID: playground.ViewRun.Format(r.ID), Object: "playground.run", Name: text(r.Name), State: r.State, CreatedAt: stamp(r.CreatedAt), FinishedAt: optional(r.FinishedAt),
		Author: newPlaygroundActorView(r.Author), Mine: r.Mine, ETag: rest.ETag(r.Revision), Shared: r.Shared, Models: r.Models, Prompts: r.Prompts, Counts: playgroundCountsView(r.Counts), CostUSD: r.Cost.String(),
	}
	if v.Models == nil {
		v.Models = []string{}
	}
	if v.Prompts == nil {
		v.Prompts = []string{}
	}
	return v
}

func newPlaygroundRunView(o playground.Opened) playgroundRunView {
	v := playgroundRunView{playgroundRunSummary: newPlaygroundRunSummary(o.Run), Setup: newPlaygroundSetupView(o.Setup), Cells: []playgroundCellView{}, Cursor: playground.PositionOf(o).String()}
	for i := range o.Cells {
		v.Cells = append(v.Cells, newPlaygroundCellView(&o.Cells[i]))
	}
	return v
}

func newPlaygroundCellView(c *playground.Cell) playgroundCellView {
	v := playgroundCellView{
		N: c.N, Column: c.Column, Row: c.Row, Trial: c.Trial, State: c.State, Attempt: c.Attempt, RequestIDs: []string{}, Model: c.Model, Target: text(c.Target),
		Output: newPlaygroundOutputView(c.Result.Output), FinishReason: text(c.Result.FinishReason), SchemaValid: c.SchemaValid, Metrics: newPlaygroundMetricsView(c.Metrics), Marks: []playgroundMarkView{},
	}
	for _, id := range c.Requests {
		v.RequestIDs = append(v.RequestIDs, penstock.ViewRequest.Format(id))
	}
	if p := c.Prompt; p != nil {
		v.Prompt = &playgroundPromptView{p.Name, number(p.Version), p.SHA256}
	}
	if e := c.Result.Error; e != nil {
		v.Error = &playgroundProblemView{e.Code, e.Message}
	}
	for _, m := range c.Marks {
		v.Marks = append(v.Marks, newPlaygroundMarkView(m))
	}
	return v
}

func newPlaygroundOutputView(o playground.Output) playgroundOutputView {
	v := playgroundOutputView{Text: o.Text, Reasoning: o.Reasoning, ToolCalls: []playgroundToolCallView{}}
	for _, call := range o.ToolCalls {
		v.ToolCalls = append(v.ToolCalls, playgroundToolCallView(call))
	}
	return v
}

func newPlaygroundMetricsView(m playground.Metrics) playgroundMetricsView {
	v := playgroundMetricsView{InputTokens: m.InputTokens, OutputTokens: m.OutputTokens, CostUSD: m.Cost.String()}
	milliseconds := func(d time.Duration) *int64 {
		if d == 0 {
			return nil
		}
		n := d.Milliseconds()
		return &n
	}
	v.FirstTokenMS, v.DurationMS = milliseconds(m.FirstToken), milliseconds(m.Duration)
	if writing := m.Duration - m.FirstToken; m.OutputTokens > 0 && writing > 0 {
		speed := float64(m.OutputTokens) / writing.Seconds()
		v.TokensPerSecond = &speed
	}
	return v
}

func newPlaygroundMarkView(m playground.Mark) playgroundMarkView {
	v := playgroundMarkView{Author: newPlaygroundActorView(m.Author), Comment: m.Comment, Correction: m.Correction, At: stamp(m.At)}
	if m.Rating != 0 {
		v.Rating = &m.Rating
	}
	return v
}

// shareURL is the page of a share.
func shareURL(s playground.Share) string {
	return fmt.Sprintf("/t/%s/playground/shared/%s", s.Tenant, playground.ViewShare.Format(s.ID))
}
