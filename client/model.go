package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Model is a name that jobs and calls can ask for.
type Model struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`

	// Raw is the object as the server sent it, with all that this version does not know of.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the text in Raw.
func (m *Model) UnmarshalJSON(text []byte) error {
	type plain Model
	return keepRaw(text, (*plain)(m), &m.Raw)
}

// Models lists the models that the key may ask for.
func (c *Client) Models(ctx context.Context) ([]*Model, error) {
	p, _, err := fetch[page[Model]](ctx, c, call{method: http.MethodGet, path: "/v1/models"})
	if err != nil {
		return nil, err
	}
	return p.Data, nil
}

// Health is how a server is.
type Health struct {
	Status string `json:"status"` // ready
}

// Health asks once whether the server can take work: whether what it stores is written and read. It
// needs no key, and is not retried, because the answer wanted is the one of this moment. Codes:
// overloaded (it cannot).
func (c *Client) Health(ctx context.Context) (*Health, error) {
	call := call{method: http.MethodGet, path: "/readyz"}
	got, err := c.try(ctx, call)
	if err != nil {
		return nil, err
	}
	return decode[Health](call, got.body)
}
