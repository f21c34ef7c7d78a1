package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"penstock"
)

// Batch is a job over a file, as OpenAI's batch API shows it.
type Batch struct {
	ID            string            `json:"id"` // batch_…
	Endpoint      penstock.Endpoint `json:"endpoint"`
	Model         string            `json:"model"`
	Status        string            `json:"status"` // validating, failed, in_progress, finalizing, completed, expired, cancelling or cancelled
	Errors        *LineErrors       `json:"errors"` // why it failed
	InputFileID   string            `json:"input_file_id"`
	OutputFileID  string            `json:"output_file_id"`
	ErrorFileID   string            `json:"error_file_id"`
	CreatedAt     int64             `json:"created_at"` // seconds since 1970
	RequestCounts struct {
		Total     int `json:"total"`
		Completed int `json:"completed"`
		Failed    int `json:"failed"`
	} `json:"request_counts"`

	// Raw is the object as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (b *Batch) UnmarshalJSON(text []byte) error {
	type plain Batch
	return keepRaw(text, (*plain)(b), &b.Raw)
}

// Batches runs files and reads their batches, in OpenAI's dialect.
type Batches struct{ Client *Client }

// Create runs the lines of a file that was uploaded, for an endpoint. It is tried once: the batch API has no idempotency
// keys. Codes: not_found, invalid_request.
func (b Batches) Create(ctx context.Context, file string, endpoint penstock.Endpoint) (*Batch, error) {
	body, err := encode(map[string]string{"input_file_id": file, "endpoint": string(endpoint), "completion_window": "24h"})
	if err != nil {
		return nil, fmt.Errorf("encoding the batch: %w", err)
	}
	request := call{method: http.MethodPost, path: "/v1/batches", body: body}
	got, err := b.Client.try(ctx, request)
	if err != nil {
		return nil, err
	}
	return decode[Batch](request, got.body)
}

// List yields batches, newest first.
func (b Batches) List(ctx context.Context) iter.Seq2[*Batch, error] {
	return list[Batch]{path: "/v1/batches", id: func(b *Batch) string { return b.ID }}.all(ctx, b.Client)
}

// Read returns a batch. Codes: not_found.
func (b Batches) Read(ctx context.Context, id string) (*Batch, error) {
	read, _, err := fetch[Batch](ctx, b.Client, call{method: http.MethodGet, path: "/v1/batches/" + url.PathEscape(id)})
	return read, err
}

// Cancel asks a batch to stop. A second cancel changes nothing. Codes: not_found.
func (b Batches) Cancel(ctx context.Context, id string) (*Batch, error) {
	read, _, err := fetch[Batch](ctx, b.Client, call{method: http.MethodPost, path: "/v1/batches/" + url.PathEscape(id) + "/cancel"})
	return read, err
}
