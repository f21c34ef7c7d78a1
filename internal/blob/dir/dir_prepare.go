package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const dirMode = 0o700

// ensureShard creates the directory that blobs of this prefix live in, unless that is known to be done.
func (s *Store) ensureShard(shard string) error {
	if _, ok := s.shards.Load(shard); ok {
		return nil
	}
	if err := os.Mkdir(filepath.Join(s.root, shard), dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Also if it was there: the process that created it may have stopped before this.
	if err := s.syncDir(s.root); err != nil {
		return err
	}
	s.shards.Store(shard, nil)
	return nil
}

// makeDir creates dir and the missing directories above it, and makes them durable.
func (s *Store) makeDir(dir string) error {
	err := os.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, dirMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.syncDir(filepath.Dir(dir))
}

// removeStale deletes files in tmp that were not written to since cutoff.
func (s *Store) removeStale(cutoff time.Time) error {
	entries, err := os.ReadDir(s.temp)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.ModTime().Before(cutoff) {
			err = os.Remove(filepath.Join(s.temp, entry.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may be cleaning too
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	handle, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if err := errors.Join(handle.Sync(), handle.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
