// Package filter is the place where text is judged on its way in and out. It defines what a filter is, and the [Chain] of filters
// that the stages ask. It decides nothing itself.
//
// Input filters are asked once for each item or request, before the first durable write and before the cache is asked. Package
// admit asks them for synchronous calls, for jobs and for retries; the splitter of a batch asks them for each line.
//
// Output filters are asked about each chunk of an answer, and about each error of an upstream, before anything is stored, cached,
// coalesced, streamed, passed through or returned. Package attempt asks them, for synchronous calls, for items of jobs and in
// child processes alike: all answers arrive there, and no other package sees an answer before. Filters read and edit the answer in
// the format of the caller, by package dialect/edit.
//
// A nil Chain passes everything and costs nothing. A Chain is safe for concurrent use; the reviews of one answer belong to the
// goroutine that reads the answer.
package filter

import (
	"context"

	"penstock"
)

// Subject is the item or request that a text belongs to.
type Subject struct {
	ID       penstock.ID // of the request or item
	Tenant   penstock.TenantID
	Key      string // the name of the principal's key, "" where no key asked
	Model    string // the name that was asked for
	Endpoint penstock.Endpoint
	Body     []byte // of the inference, for input filters; nil for output filters. It must not be changed, nor kept when the filter has returned
}

// Action is the decision on a text.
type Action int

// The actions.
const (
	Pass  Action = iota // the text is passed on unchanged
	Edit                // the text is passed on as the filter changed it
	Block               // the text is not passed on, and the call or item fails
)

// Verdict is the decision of a filter on a text. The zero Verdict passes the text.
type Verdict struct {
	Action Action
	Reason string // of Block, for the caller; it must not quote the text
	Body   []byte // of an Edit by an input filter, in place of the subject's. A review edits by Chunk.Replace
}

// Input judges the bodies of inferences.
type Input interface {
	// Input judges Subject.Body. After an error the inference fails: a filter that may be left out returns a verdict instead.
	Input(ctx context.Context, s *Subject) (Verdict, error)
}

// Output judges answers.
type Output interface {
	// Review begins to judge an answer. It returns nil for an answer that the filter does not judge. The subject does not change, and
	// may be kept until the review is over.
	Review(s *Subject) Review
}

// Review judges one answer while it arrives.
type Review interface {
	// Chunk judges the next chunk of the answer, or the error of an upstream. After an error of Chunk the answer fails.
	Chunk(ctx context.Context, c *Chunk) (Verdict, error)
}

// Chain is the filters of a process. It does not change once it is used.
type Chain struct {
	Inputs  []Input
	Outputs []Output
	// Version names the filters and their rules. The cache does not return an answer that was judged under another version.
	Version string
}

// Input asks the input filters about a body. It returns the body to use: the subject's own unless a filter edited it.
// Codes: content_blocked, internal.
func (c *Chain) Input(ctx context.Context, s Subject) ([]byte, error) {
	if c == nil || len(c.Inputs) == 0 {
		return s.Body, nil
	}
	return c.input(ctx, s)
}

// input is apart from Input so that a chain without input filters allocates nothing.
func (c *Chain) input(ctx context.Context, s Subject) ([]byte, error) {
	for _, f := range c.Inputs {
		v, err := f.Input(ctx, &s)
		switch {
		case err != nil:
			return nil, failed(err)
		case v.Action == Block:
			return nil, blocked(v, "The input was blocked.")
		case v.Action == Edit:
			s.Body = v.Body
		}
	}
	return s.Body, nil
}

// VersionName is the Version, "" for a nil Chain.
func (c *Chain) VersionName() string {
	if c == nil {
		return ""
	}
	return c.Version
}

// blocked is the error of a text that a filter blocked.
func blocked(v Verdict, usual string) *penstock.Error {
	if v.Reason != "" {
		usual = v.Reason
	}
	return penstock.Errorf(penstock.CodeContentBlocked, "%s", usual)
}

// failed is the error of a text that a filter could not judge: the text is not passed on.
func failed(err error) error {
	if penstock.ErrorCode(err) != penstock.CodeInternal {
		return err
	}
	return &penstock.Error{Code: penstock.CodeInternal, Message: "A content filter failed, so the content was not passed on.", Err: err}
}
