package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// MaxPageSize is how many entries a page of a list can hold.
const MaxPageSize = 100

// list is a list that comes in pages.
type list[T any] struct {
	path  string
	query url.Values
	size  int             // entries in a page, 0 for the most there can be
	after string          // "" for the start
	id    func(*T) string // by which the next page is asked for
}

// all yields the entries of every page, and reads a page only when it is wanted.
func (l list[T]) all(ctx context.Context, c *Client) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for {
			page, err := l.page(ctx, c)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, entry := range page.Data {
				if !yield(entry, nil) {
					return
				}
				l.after = l.id(entry)
			}
			if !page.HasMore {
				return
			}
			if page.NextAfter != "" { // a list that says itself where it goes on may have short pages
				l.after = page.NextAfter
				continue
			}
			if len(page.Data) == 0 {
				yield(nil, fmt.Errorf("GET %s returned an empty page with has_more: true", l.path))
				return
			}
		}
	}
}

type page[T any] struct {
	Data    []*T `json:"data"`
	HasMore bool `json:"has_more"`
	// NextAfter is where the next page begins, "" for behind the last entry.
	NextAfter string `json:"next_after"`
}

func (l list[T]) page(ctx context.Context, c *Client) (*page[T], error) {
	query := url.Values{}
	for name, values := range l.query {
		if values[0] != "" {
			query[name] = values
		}
	}
	size := l.size
	if size <= 0 || size > MaxPageSize {
		size = MaxPageSize
	}
	query.Set("limit", strconv.Itoa(size))
	if l.after != "" {
		query.Set("after", l.after)
	}
	p, _, err := fetch[page[T]](ctx, c, call{method: http.MethodGet, path: l.path, query: query})
	return p, err
}
