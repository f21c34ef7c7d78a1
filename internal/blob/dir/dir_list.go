package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"penstock/internal/blob"
)

// List implements [blob.Store].
func (s *Store) List(ctx context.Context, q blob.Query) ([]blob.Info, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var page []blob.Info
	for n := range fanOut {
		if len(page) == q.Limit {
			break
		}
		if q.After != "" && shardName(n) < q.After[:2] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if page, err = s.appendDir(page, shardName(n), q); err != nil {
			return nil, fmt.Errorf("list blobs: %w", err)
		}
	}
	return page, nil
}

// appendDir adds the matching blobs of one directory to page until it is full.
func (s *Store) appendDir(page []blob.Info, shard string, q blob.Query) ([]blob.Info, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, shard)) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return page, nil // nothing was ever put there
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if len(page) == q.Limit {
			break
		}
		name := entry.Name()
		// A sweep deletes what List returns, so List returns nothing that Put did not store.
		if blob.ValidateName(name) != nil || name[:2] != shard || !entry.Type().IsRegular() || name <= q.After {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			return nil, err
		}
		if info.ModTime().Before(q.OlderThan) {
			page = append(page, blob.Info{Name: name, Size: info.Size(), StoredAt: info.ModTime()})
		}
	}
	return page, nil
}

// shardName returns the name of the n-th directory.
func shardName(n int) string { return fmt.Sprintf("%02x", n) }
