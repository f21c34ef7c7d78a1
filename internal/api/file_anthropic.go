package api

import (
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// Anthropic's Files API has the paths of OpenAI's. A caller that sends anthropic-version speaks it: files have no purpose there,
// because they are all for requests.

// anthropicFile is a file, in Anthropic's shape.
type anthropicFile struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"`
	Filename     string    `json:"filename"`
	MimeType     string    `json:"mime_type"`
	SizeBytes    int64     `json:"size_bytes"`
	CreatedAt    time.Time `json:"created_at"`
	Downloadable bool      `json:"downloadable" about:"Whether GET /v1/files/{id}/content answers with the content."`
}

// anthropicFilePage is a page of files, in Anthropic's shape.
type anthropicFilePage struct {
	Data    []anthropicFile `json:"data"`
	FirstID *string         `json:"first_id"`
	LastID  *string         `json:"last_id"`
	HasMore bool            `json:"has_more"`
}

// anthropicDeletedFile is the answer to a deletion, in Anthropic's shape.
type anthropicDeletedFile struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

func newAnthropicFile(f store.File) anthropicFile {
	v := anthropicFile{
		ID: penstock.ViewFile.Format(f.ID), Type: "file", Filename: f.Name, MimeType: f.MediaType, SizeBytes: f.Bytes, CreatedAt: stamp(f.CreatedAt),
		Downloadable: downloadable(f) == nil,
	}
	if v.MimeType == "" {
		v.MimeType = "application/jsonl" // of a batch
	}
	return v
}

// anthropicFilePages are the sizes of a page of files in Anthropic's dialect.
var anthropicFilePages = rest.PageSize{Usual: 20, Most: 1000}

// listAnthropicFiles lists files, newest first. The page before a file is read backwards.
func (c files) listAnthropicFiles() error {
	limit, err := c.PageLimit(anthropicFilePages)
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	p, name := store.FilePage{Direction: store.Descending, Limit: limit}, "after_id"
	if q.Get("before_id") != "" {
		if q.Get(name) != "" {
			return penstock.InvalidParam("before_id", "before_id and after_id are both given; give one of them.")
		}
		p.Direction, name = store.Ascending, "before_id"
	}
	if id := q.Get(name); id != "" {
		if p.After, err = penstock.ViewFile.Parse(id); err != nil {
			return penstock.InvalidParam(name, "%s: %v.", name, err)
		}
	}
	found, more, err := c.Files.List(c.R.Context(), c.Principal.Tenant.ID, p)
	if err != nil {
		return err
	}
	if p.Direction == store.Ascending {
		slices.Reverse(found)
	}
	v := anthropicFilePage{Data: make([]anthropicFile, len(found)), HasMore: more}
	for i, f := range found {
		v.Data[i] = newAnthropicFile(f)
	}
	if len(found) > 0 {
		v.FirstID, v.LastID = &v.Data[0].ID, &v.Data[len(found)-1].ID
	}
	return c.JSON(http.StatusOK, v)
}
