package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/url"

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
	Purpose    string      `json:"purpose"`
	MediaType  string      `json:"media_type"` // of a file that requests name
	CreatedAt  int64       `json:"created_at"` // seconds since 1970
	ExpiresAt  int64       `json:"expires_at"`

	// Raw is the object as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (f *File) UnmarshalJSON(text []byte) error {
	type plain File
	return keepRaw(text, (*plain)(f), &f.Raw)
}

// Files makes, reads and deletes the files on a server.
type Files struct{ Client *Client }

// List yields files, newest first.
func (f Files) List(ctx context.Context) iter.Seq2[*File, error] {
	return f.ListPurpose(ctx, "")
}

// ListPurpose yields the files of one purpose, "" for every purpose, newest first.
func (f Files) ListPurpose(ctx context.Context, purpose string) iter.Seq2[*File, error] {
	all := list[File]{path: "/v1/files", id: func(f *File) string { return f.ID }}
	if purpose != "" {
		all.query = url.Values{"purpose": {purpose}}
	}
	return all.all(ctx, f.Client)
}

// Read returns a file without its content. Codes: not_found.
func (f Files) Read(ctx context.Context, id string) (*File, error) {
	file, _, err := fetch[File](ctx, f.Client, call{method: http.MethodGet, path: filePath(id)})
	return file, err
}

// Delete deletes a file. Codes: not_found, conflict (a job still reads it).
func (f Files) Delete(ctx context.Context, id string) error {
	_, err := f.Client.do(ctx, call{method: http.MethodDelete, path: filePath(id)})
	return err
}

// Download writes the content of a file to w, and returns its length. It is tried once. Codes: not_found.
func (f Files) Download(ctx context.Context, id string, w io.Writer) (int64, error) {
	resp, err := f.Client.send(ctx, call{method: http.MethodGet, path: filePath(id) + "/content"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, resp.Body)
	if err != nil {
		return n, f.Client.unreachable("reading the answer of", err)
	}
	return n, nil
}

func filePath(id string) string { return "/v1/files/" + url.PathEscape(id) }

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

// UploadFile sends a file of requests, one a line: see [Files.Upload].
func (c *Client) UploadFile(ctx context.Context, name string, content io.Reader) (*File, error) {
	return Files{c}.Upload(ctx, FileUpload{Name: name, Purpose: PurposeBatch, Content: content})
}

// The purposes of uploaded files.
const (
	PurposeBatch    = "batch"     // requests, one a line
	PurposeUserData = "user_data" // a document, an image or a text that requests name
	PurposeVision   = "vision"    // an image that requests name
)

// FileUpload is a file to be sent.
type FileUpload struct {
	Name    string
	Purpose string
	Content io.Reader
}

// Upload sends a file as it is read: it is never held in memory. Upload does not retry, because the content cannot be read twice. Codes:
// invalid_request, too_large, rate_limited, overloaded, quota_exceeded.
func (f Files) Upload(ctx context.Context, u FileUpload) (*File, error) {
	c := f.Client
	body, form := io.Pipe()
	w := multipart.NewWriter(form)
	go func() { form.CloseWithError(u.writeForm(w)) }()
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
	var made File
	if err := json.NewDecoder(io.LimitReader(resp.Body, MaxAnswerBytes)).Decode(&made); err != nil {
		return nil, fmt.Errorf("reading the answer to an upload: %w", err)
	}
	return &made, nil
}

func (u FileUpload) writeForm(w *multipart.Writer) error {
	if err := w.WriteField("purpose", u.Purpose); err != nil {
		return err
	}
	part, err := w.CreateFormFile("file", u.Name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(part, u.Content); err != nil {
		return err
	}
	return w.Close()
}
