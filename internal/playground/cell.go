package playground

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/prompt/content"
	"penstock/internal/request"
)

const (
	// admissionWait is how long a cell stays queued because of limits before it fails.
	admissionWait = 5 * time.Minute
	// maxPause is the longest time between two attempts to be admitted, minPause the shortest.
	minPause, maxPause = 200 * time.Millisecond, 5 * time.Second
)

// runCell makes the calls of a cell and notes its outcome.
func (s *runner) runCell(ctx context.Context, r *live, c *liveCell) {
	w := &writer{service: s, run: r, cell: c}
	err := s.answer(ctx, r, c, w)
	s.mu.Lock()
	s.leaveLocked(r, c)
	w.concludeLocked(ctx, err)
	c.change++
	s.mu.Unlock()
	s.mark()
	s.pump()
}

// answer makes the calls of a cell: a further one while the model calls tools that all have simulated results.
func (s *runner) answer(ctx context.Context, r *live, c *liveCell, w *writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.ErrorContext(ctx, "a cell of the playground panicked", "run", ViewRun.Format(r.id), "cell", c.N, "panic", p, "stack", string(debug.Stack()))
			err = penstock.Internal(fmt.Errorf("panic: %v", p))
		}
	}()
	text, err := s.Cells.Input(ctx, r.tenant, r.id, CellPlace{c.Column, c.Row})
	if err != nil {
		return err
	}
	if parsed, err := body.Scan(text); err == nil {
		w.format = json.RawMessage(parsed.Raw("response_format"))
	}
	simulated := r.setup.Columns[c.Column].ToolResults
	for range MaxSteps {
		step, err := s.call(ctx, r, w, text)
		if err != nil {
			return err
		}
		if !step.simulate(simulated) {
			w.add(step)
			return nil
		}
		w.add(step)
		if text, err = step.next(text); err != nil {
			return penstock.Internal(err)
		}
	}
	return nil
}

// call makes one call. While limits refuse it, the cell waits.
func (s *runner) call(ctx context.Context, r *live, w *writer, text []byte) (*step, error) {
	inf, err := catalog.Read(penstock.EndpointChat, text)
	if err != nil {
		return nil, err
	}
	inf.Prompted = w.cell.prompted(r.setup.Rows)
	principal, err := s.payer(r, &inf)
	if err != nil {
		return nil, err
	}
	began := s.Clock()
	for {
		id := s.ids.New(s.Clock())
		one := newStep(w, id)
		order := request.Order{ID: id, Endpoint: penstock.EndpointChat, Inference: &inf, Labels: penstock.Labels{Tags: map[string]string{TagPerson: r.author, TagRun: ViewRun.Format(r.id)}}}
		if order.Permit, err = s.Calls.Permit(ctx, &principal); err == nil {
			var record penstock.Request
			if record, err = s.Calls.Call(ctx, principal, order, &one.sink); err == nil {
				return one, one.finish(record)
			}
		}
		refused := penstock.AsError(err)
		wait := refused.Code == penstock.CodeRateLimited || refused.Code == penstock.CodeOverloaded && !errors.Is(err, penstock.ErrPaused) // nobody knows for how long
		if !wait || one.admitted || s.Clock().Sub(began) > admissionWait {
			return nil, err
		}
		rest(ctx, min(max(refused.RetryAfter, minPause), maxPause))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// prompted is the version that the body of a cell was rendered from, for the record of its calls; nil for a draft, which has none.
func (c *Cell) prompted(rows []json.RawMessage) *dialect.Prompted {
	if c.Prompt == nil || c.Prompt.Version == 0 {
		return nil
	}
	return &dialect.Prompted{PromptUse: penstock.PromptUse{Name: c.Prompt.Name, Version: c.Prompt.Version, SHA256: c.Prompt.SHA256}, Variables: rows[c.Row]}
}

// step is one call of a cell.
type step struct {
	w        *writer
	sink     sink
	admitted bool
	failure  *penstock.Error
	message  message
	reason   string
}

func newStep(w *writer, id penstock.ID) *step {
	one := &step{w: w}
	one.sink = newSink(one, id)
	return one
}

// message is the answer of a model.
type message struct {
	Content   *string        `json:"content"`
	ToolCalls []calledByName `json:"tool_calls,omitempty"`
}

type calledByName struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	result *string
}

// finish notes the record of a call, and reads the answer. It returns the error of a call that failed.
func (o *step) finish(record penstock.Request) error {
	usage := record.Usage
	if n := len(record.Attempts); n > 0 && usage == (penstock.Usage{}) {
		usage = record.Attempts[n-1].Usage // of the answer in the cache
	}
	o.w.measure(record, usage)
	if o.failure != nil {
		return o.failure
	}
	whole, err := o.sink.answer.Whole()
	if err != nil {
		return penstock.Errorf(penstock.CodeUpstreamError, "The answer was empty.")
	}
	var answer struct {
		Choices []struct {
			Message      message `json:"message"`
			FinishReason string  `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(whole, &answer); err != nil || len(answer.Choices) == 0 {
		return penstock.Errorf(penstock.CodeUpstreamError, "The answer was empty.")
	}
	o.message, o.reason = answer.Choices[0].Message, answer.Choices[0].FinishReason
	return nil
}

// simulate finds the simulated results of the tools that the model called. It reports false if the model called none, or one
// without a result.
func (o *step) simulate(results map[string]string) bool {
	all := len(o.message.ToolCalls) > 0
	for i := range o.message.ToolCalls {
		call := &o.message.ToolCalls[i]
		if result, ok := results[call.Function.Name]; ok {
			call.result = &result
		} else {
			all = false
		}
	}
	return all
}

// next is the body of the following call: the answer and the results are added to the messages.
func (o *step) next(text []byte) ([]byte, error) {
	parsed, err := body.Scan(text)
	if err != nil {
		return nil, err
	}
	more := []any{struct {
		Role string `json:"role"`
		message
	}{"assistant", o.message}}
	for _, call := range o.message.ToolCalls {
		more = append(more, map[string]string{"role": "tool", "tool_call_id": call.ID, "content": *call.result})
	}
	added, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	messages := strings.TrimSpace(string(parsed.Raw("messages")))
	joined := strings.TrimSuffix(messages, "]") + "," + strings.TrimPrefix(string(added), "[")
	return body.Apply(text, parsed.Replace("messages", joined)), nil
}

// writer notes what a cell writes. The fields below are those of the goroutine of the cell.
type writer struct {
	service *runner
	run     *live
	cell    *liveCell

	text, reasoning []byte
	calls           []ToolCall
	arguments       int  // bytes of arguments of all calls
	before          int  // tool calls of earlier steps
	apart           bool // a blank line belongs before the next text
	first           bool // the first token was measured
	reason          string
	format          json.RawMessage // that the answer must have, nil for none
}

// add takes over the tool calls of a step.
func (w *writer) add(o *step) {
	w.reason = o.reason
	w.calls = w.calls[:min(w.before, len(w.calls))]
	for _, call := range o.message.ToolCalls {
		w.calls = append(w.calls, ToolCall{call.ID, call.Function.Name, call.Function.Arguments, call.result})
	}
	w.before, w.apart = len(w.calls), len(w.text) > 0
}

// measure adds the figures of a call.
func (w *writer) measure(record penstock.Request, usage penstock.Usage) {
	s := w.service
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &w.cell.Metrics
	if !w.first && !record.FirstTokenAt.IsZero() {
		m.FirstToken, w.first = record.FirstTokenAt.Sub(record.StartedAt), true
	}
	m.Duration += record.FinishedAt.Sub(record.StartedAt)
	m.InputTokens += usage.InputTokens
	m.OutputTokens += usage.OutputTokens
	m.Cost = m.Cost.Plus(record.Cost).Plus(record.Forfeit)
	w.cell.Target = cmp.Or(record.Target, w.cell.Target)
}

// concludeLocked notes the outcome of a cell.
func (w *writer) concludeLocked(ctx context.Context, err error) {
	c := w.cell
	c.Result = Result{Output: Output{Text: string(w.text), Reasoning: string(w.reasoning), ToolCalls: w.calls}, FinishReason: w.reason}
	cause, ended := context.Cause(ctx).(*penstock.Error)
	switch {
	case err == nil:
		c.State = CellSucceeded
		c.SchemaValid = content.Conforms(w.format, c.Result.Output.Text)
	case ended && cause.Code == penstock.CodeOverloaded:
		c.State = CellInterrupted
	case ended:
		c.State = CellStopped
		if cause.Code != penstock.CodeCancelled {
			c.Result.Error = &Problem{cause.Code, cause.Message}
		}
	default:
		e := penstock.AsError(err)
		c.State, c.Result.Error = CellFailed, &Problem{e.Code, e.Message}
	}
	if !c.State.Open() {
		c.pieces = nil // the result has all of them
	}
}
