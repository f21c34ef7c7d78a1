// Package anthropic is Anthropic's dialect as callers speak it to Penstock: what a body asks for, how
// errors are classed, and how lists of models look. It only reads and writes bytes.
package anthropic

import (
	"time"

	"penstock"
	"penstock/internal/dialect"
)

// The headers of the dialect that concern the upstream.
const (
	HeaderVersion = "Anthropic-Version"
	HeaderBeta    = "Anthropic-Beta"
)

// ReadMessage reads the body of a message. Codes: invalid_request.
func ReadMessage(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, MessageFormat)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := f.Inference()
	inf.Stream, inf.MaxOutputTokens, inf.Further = f.Bool("stream"), f.OutputTokens(), f.Further()
	inf.Choices = max(inf.Further.Answers, 1)
	inf.Prompt = f.Prompt()
	return inf, f.Err()
}

// ReadCount reads the body of a question for the tokens of a message. Codes: invalid_request.
func ReadCount(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, CountFormat)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := f.Inference()
	inf.Choices, inf.Silent = 1, true
	f.CheckModel()
	if !f.Given("messages") {
		f.Refuse("messages", "messages is missing: it is what the tokens are counted of.")
	}
	return inf, f.Err()
}

// Needs are the members that every message must have, for jobs that leave them out: one plain question is enough for a job.
const Needs = dialect.DefaultOutput

// Question is the message that asks one question. It does not bound its answer, which a job's defaults may do.
func Question(question string) ([]byte, error) {
	return dialect.Question(`{"messages":[{"role":"user","content":%s}]}`, question)
}

// TokenCount is the answer to a question for the tokens of a message.
type TokenCount struct {
	InputTokens int64 `json:"input_tokens"`
}

// ErrorType is the class of error that SDKs tell apart.
func ErrorType(code penstock.Code) string {
	switch code {
	case penstock.CodeInvalidKey:
		return "authentication_error"
	case penstock.CodeScopeMissing:
		return "permission_error"
	case penstock.CodeBudgetExceeded:
		return "billing_error"
	case penstock.CodeNotFound, penstock.CodeModelNotFound, penstock.CodeGone:
		return "not_found_error"
	case penstock.CodeTooLarge:
		return "request_too_large"
	case penstock.CodeRateLimited, penstock.CodeQueueFull:
		return "rate_limit_error"
	case penstock.CodeOverloaded, penstock.CodeNoTargetAvailable:
		return "overloaded_error"
	case penstock.CodeUpstreamTimeout, penstock.CodeDeadlineExceeded:
		return "timeout_error"
	case penstock.CodeInternal, penstock.CodeUpstreamError, penstock.CodePoison, penstock.CodeCancelled:
		return "api_error"
	}
	return "invalid_request_error"
}

// ModelInfo is an entry of the list of models.
type ModelInfo struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	DisplayName string    `json:"display_name"`
	CreatedAt   time.Time `json:"created_at"`
}

// NewModelInfo describes one model. When it was made is not known here; the dialect has the epoch for that.
func NewModelInfo(name string) ModelInfo {
	return ModelInfo{Type: "model", ID: name, DisplayName: name, CreatedAt: time.Unix(0, 0).UTC()}
}

// ModelPage is a page of models.
type ModelPage struct {
	Data    []ModelInfo `json:"data"`
	HasMore bool        `json:"has_more"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
}

// Page says which part of a list is wanted.
type Page struct {
	AfterID, BeforeID string // names to begin behind or to end before, "" for none
	Limit             int
}

// NewModelPage is a page of the models with these names, which must be sorted.
func NewModelPage(names []string, p Page) ModelPage {
	from, to := 0, len(names)
	for i, name := range names {
		if p.AfterID != "" && name <= p.AfterID {
			from = i + 1
		}
		if p.BeforeID != "" && name < p.BeforeID {
			to = i + 1
		}
	}
	if p.BeforeID != "" && (len(names) == 0 || names[0] >= p.BeforeID) {
		to = 0
	}
	to = max(from, to)
	list := ModelPage{Data: []ModelInfo{}, HasMore: to-from > p.Limit}
	if list.HasMore && p.BeforeID != "" {
		from = to - p.Limit
	}
	for _, name := range names[from:min(to, from+p.Limit)] {
		list.Data = append(list.Data, NewModelInfo(name))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return list
}
