package api

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/api/dialect/anthropic"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// ResultWriter writes results as the door that their batch came through has them. The zero value is ready to use.
type ResultWriter struct{}

// WriteLine writes one result. The answer goes out as it was stored, without being read again: with it, most of
// the time of a stream would go into looking for errors that were looked for when it came in.
func (ResultWriter) WriteLine(w *bufio.Writer, kind store.BatchKind, item penstock.Item) error {
	line := w.AvailableBuffer()
	if item.Status == penstock.StatusSucceeded {
		line = appendSuccess(line, kind, &item)
	} else {
		text, err := json.Marshal(lineView(kind, item), rest.Lenient)
		if err != nil {
			return fmt.Errorf("encoding a line: %w", err)
		}
		line = append(line, text...)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// lineView is what a line of results is an encoding of.
func lineView(kind store.BatchKind, item penstock.Item) any {
	switch kind {
	case store.BatchOpenAI:
		return newBatchLine(item)
	case store.BatchAnthropic:
		return newMessageBatchLine(item)
	default:
		return newResultView(item)
	}
}

// oneLine is an answer without the line breaks that some upstreams make their JSON readable with.
func oneLine(answer []byte) []byte {
	if bytes.IndexByte(answer, '\n') < 0 && bytes.IndexByte(answer, '\r') < 0 {
		return answer
	}
	text := jsontext.Value(bytes.Clone(answer))
	if err := text.Compact(rest.Lenient); err != nil {
		return []byte("null") // what is no JSON was not let in
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

// The codes of requests that a batch did not come to, which are OpenAI's.
const (
	codeBatchExpired   = "batch_expired"
	codeBatchCancelled = "batch_cancelled"
)

func newBatchLine(item penstock.Item) batchLine {
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
		text, err := json.Marshal(rest.ErrorView{Error: rest.ErrorBody{
			Code: e.Code, Type: rest.UsualErrorType(e.Code), Message: e.Message, RequestID: request, Retryable: e.Code.Retryable(),
		}})
		if err != nil {
			text = []byte("{}")
		}
		line.Response = &batchResponse{StatusCode: cmp.Or(item.StatusCode, rest.Status(e.Code)), RequestID: request, Body: text}
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

// messageBatchLine is a line of the results of Anthropic's message batches.
type messageBatchLine struct {
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

func newMessageBatchLine(item penstock.Item) messageBatchLine {
	line := messageBatchLine{CustomID: item.CustomID}
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
