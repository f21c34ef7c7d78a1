package line

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/native"
	"penstock/internal/store"
)

// Writer writes results in the format of the API that their batch was submitted through.
type Writer struct {
	// Failure is the HTTP status and the body that a synchronous call would have got for an error. OpenAI's lines hold both. A
	// field, because codes become statuses in the HTTP packages alone.
	Failure func(e penstock.ItemError, request string) (status int, body []byte)
}

// WriteLine writes one result. The answer goes out as it was stored, without being parsed again: its JSON was checked when it
// was stored, and checking it twice would take most of the time of a stream.
func (lw Writer) WriteLine(w *bufio.Writer, kind store.BatchKind, item penstock.Item) error {
	line := w.AvailableBuffer()
	if item.Status == penstock.StatusSucceeded {
		line = appendSuccess(line, kind, &item)
	} else {
		text, err := json.Marshal(lw.view(kind, item), lenient)
		if err != nil {
			return fmt.Errorf("encoding a line: %w", err)
		}
		line = append(line, text...)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// view is the value that a line of results encodes.
func (lw Writer) view(kind store.BatchKind, item penstock.Item) any {
	switch kind {
	case store.BatchOpenAI:
		return lw.batchLine(item)
	case store.BatchAnthropic:
		return NewMessageBatchLine(item)
	default:
		return native.NewResult(item)
	}
}

// lenient writes an upstream's answer unchanged, even where its JSON has repeated names or broken UTF-8.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// oneLine is an answer without the line breaks that some upstreams make their JSON readable with.
func oneLine(answer []byte) []byte {
	if bytes.IndexByte(answer, '\n') < 0 && bytes.IndexByte(answer, '\r') < 0 {
		return answer
	}
	text := jsontext.Value(bytes.Clone(answer))
	if err := text.Compact(lenient); err != nil {
		return []byte("null") // the store holds valid JSON alone
	}
	return text
}

// batchLine is a line of an output or error file of OpenAI's batches.
type batchLine struct {
	ID       string             `json:"id"`
	CustomID string             `json:"custom_id"`
	Response *batchResponse     `json:"response"`
	Error    *batchRequestError `json:"error"`
}

type batchResponse struct {
	StatusCode int            `json:"status_code"`
	RequestID  string         `json:"request_id"`
	Body       jsontext.Value `json:"body"`
}

// batchRequestError is why a request was not answered at all.
type batchRequestError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of requests that a batch did not run, which are OpenAI's.
const (
	codeBatchExpired   = "batch_expired"
	codeBatchCancelled = "batch_cancelled"
)

func (lw Writer) batchLine(item penstock.Item) batchLine {
	line := batchLine{ID: "batch_req_" + string(item.ID), CustomID: item.CustomID}
	request := penstock.ViewItem.Format(item.ID)
	switch item.Status {
	case penstock.StatusSucceeded:
		line.Response = &batchResponse{StatusCode: item.StatusCode, RequestID: request, Body: item.Result}
	case penstock.StatusExpired:
		line.Error = &batchRequestError{codeBatchExpired, "This request could not be executed before the completion window expired."}
	case penstock.StatusCancelled:
		line.Error = &batchRequestError{codeBatchCancelled, "This request was not executed: its batch was cancelled."}
	default:
		e := itemError(item)
		status, text := lw.Failure(e, request)
		line.Response = &batchResponse{StatusCode: cmp.Or(item.StatusCode, status), RequestID: request, Body: text}
	}
	return line
}

// itemError is why an item failed.
func itemError(item penstock.Item) penstock.ItemError {
	if item.Error == nil {
		return penstock.ItemError{Code: penstock.CodeInternal, Message: "The request failed."}
	}
	return *item.Error
}

// MessageBatchLine is a line of the results of Anthropic's message batches.
type MessageBatchLine struct {
	CustomID string             `json:"custom_id"`
	Result   messageBatchResult `json:"result"`
}

type messageBatchResult struct {
	Type    string             `json:"type" about:"succeeded, errored, canceled or expired."`
	Message jsontext.Value     `json:"message,omitzero"`
	Error   *messageBatchError `json:"error,omitzero"`
}

type messageBatchError struct {
	Type      string            `json:"type"`
	Error     messageErrorShape `json:"error"`
	RequestID string            `json:"request_id"`
}

type messageErrorShape struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// NewMessageBatchLine is the line of an item.
func NewMessageBatchLine(item penstock.Item) MessageBatchLine {
	line := MessageBatchLine{CustomID: item.CustomID}
	switch item.Status {
	case penstock.StatusSucceeded:
		line.Result = messageBatchResult{Type: "succeeded", Message: item.Result}
	case penstock.StatusExpired:
		line.Result.Type = "expired"
	case penstock.StatusCancelled:
		line.Result.Type = "canceled"
	default:
		e := itemError(item)
		line.Result = messageBatchResult{Type: "errored", Error: &messageBatchError{
			Type: "error", Error: messageErrorShape{anthropic.ErrorType(e.Code), e.Message}, RequestID: penstock.ViewItem.Format(item.ID),
		}}
	}
	return line
}
