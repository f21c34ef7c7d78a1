package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// PromptRef names a version of a prompt, with its variables. Without a label or a version it is the version of production.
type PromptRef struct {
	Name      string         `json:"name,omitempty"`
	ID        string         `json:"id,omitempty"` // pmpt_…, instead of Name
	Label     string         `json:"label,omitempty"`
	Version   int64          `json:"version,omitempty"`
	Variables map[string]any `json:"variables,omitempty"`
}

// ParsePromptRef reads NAME, NAME@LABEL or NAME@VERSION. The name may be the id of a prompt, pmpt_….
func ParsePromptRef(text string) (*PromptRef, error) {
	name, selector, selects := strings.Cut(text, "@")
	if name == "" || selects && selector == "" {
		return nil, errors.New("a prompt is named as NAME, NAME@LABEL or NAME@VERSION")
	}
	r := &PromptRef{Name: name}
	if strings.HasPrefix(name, "pmpt_") {
		r.Name, r.ID = "", name
	}
	if n, err := strconv.ParseInt(selector, 10, 64); err == nil {
		r.Version = n
	} else {
		r.Label = selector
	}
	return r, nil
}

// PromptUse is the version of a prompt that a call or an item used.
type PromptUse struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	SHA256  string `json:"sha256"`
	Label   string `json:"label"` // that named the version, "" if its number did
}

// RequestPrompt is the prompt of a synchronous call, rendered again.
type RequestPrompt struct {
	PromptUse
	Variables json.RawMessage `json:"variables"`
	Messages  json.RawMessage `json:"messages"`
	Config    json.RawMessage `json:"config"`
}

// OfRequest renders the prompt of a synchronous call again. Codes: not_found, gone.
func (p Prompts) OfRequest(ctx context.Context, id string) (*RequestPrompt, error) {
	r, _, err := fetch[RequestPrompt](ctx, p.Client, call{method: http.MethodGet, path: "/v1/requests/" + url.PathEscape(id) + "/prompt"})
	return r, err
}
