package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"penstock"
)

// File is a file on the server.
type File struct {
	ID         string      `json:"id"` // file_…
	Bytes      int64       `json:"bytes"`
	Filename   string      `json:"filename"`
	Status     string      `json:"status"` // error when lines are invalid
	Lines      int         `json:"lines"`
	ErrorCount int         `json:"error_count"`
	Errors     *LineErrors `json:"errors"` // the first invalid lines
}

// LineErrors are invalid lines of a file.
type LineErrors struct {
	Data []LineError `json:"data"`
}

// LineError says what is wrong with a line.
type LineError struct {
	Line    int    `json:"line"` // from 1
	Code    string `json:"code"`
	Message string `json:"message"`
}

// UploadFile sends a file of requests, one a line, as it is read: it is never held in memory. It is tried once, since
// what was read cannot be read again. Codes: invalid_request, too_large, rate_limited, overloaded.
func (c *Client) UploadFile(ctx context.Context, name string, content io.Reader) (*File, error) {
	body, form := io.Pipe()
	w := multipart.NewWriter(form)
	go func() { form.CloseWithError(writeForm(w, name, content)) }()
	defer body.Close() // lets the other side go if it still writes
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("/v1/files").String(), body)
	if err != nil {
		return nil, fmt.Errorf("preparing an upload: %w", err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("User-Agent", "penstock-go/"+penstock.Version)
	req.Header.Set("penstock-version", APIVersion)
	if c.apiKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable("reaching", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, readError(resp)
	}
	var f File
	if err := json.NewDecoder(io.LimitReader(resp.Body, MaxAnswerBytes)).Decode(&f); err != nil {
		return nil, fmt.Errorf("reading the answer to an upload: %w", err)
	}
	return &f, nil
}

func writeForm(w *multipart.Writer, name string, content io.Reader) error {
	if err := w.WriteField("purpose", "batch"); err != nil {
		return err
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(part, content); err != nil {
		return err
	}
	return w.Close()
}
