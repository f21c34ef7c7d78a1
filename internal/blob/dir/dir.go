// Package dir keeps blobs as files in a directory, the default for one machine.
//
//	root/ab/ab…    a blob, in one of 256 directories named after its first two characters
//	root/tmp/…     blobs being written
//
// It owns everything below root. Several processes may share a root on one machine; the file system must
// have hard links, and fsync must mean what it says.
//
// A blob is written to tmp, synced, linked to its name and made durable by a sync of its directory. A link,
// unlike a rename, never replaces what is there, so the first of two writers of one name wins. A crash
// leaves at most a file in tmp. Readers open the finished file and keep it even if it is deleted meanwhile.
//
// At ten million blobs each directory holds some forty thousand files, which is the most that List has in
// memory at a time.
package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"penstock/internal/blob"
)

// staleAfter is how long a file in tmp must have been untouched before New takes it for the remains of a
// crash. A writer that is alive, perhaps in another process, touches its file with every chunk.
const staleAfter = time.Hour

// fanOut is how many directories two hexadecimal characters can name.
const fanOut = 256

// Store is a blob.Store over one directory. It is safe for concurrent use.
type Store struct {
	root string
	temp string

	// shards has the name of every directory known to exist durably, so that only the first Put into each
	// pays for that. It holds at most fanOut of them.
	shards sync.Map

	// What makes content and names durable: fields so that tests can watch the order and make them fail.
	syncFile func(*os.File) error
	syncDir  func(string) error
}

var _ blob.Store = (*Store)(nil)

// New opens the store in root, creating it if need be, and removes what crashed writers left in tmp.
func New(root string) (*Store, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("locate blob directory: %w", err)
	}
	s := &Store{root: root, temp: filepath.Join(root, "tmp"), syncFile: (*os.File).Sync, syncDir: syncDir}
	if err := s.makeDir(s.temp); err != nil {
		return nil, fmt.Errorf("prepare blob directory: %w", err)
	}
	if err := s.removeStale(time.Now().Add(-staleAfter)); err != nil {
		return nil, fmt.Errorf("clean blob directory: %w", err)
	}
	return s, nil
}

// Put implements [blob.Store].
func (s *Store) Put(ctx context.Context, name string, r io.Reader) (int64, error) {
	if err := precheck(ctx, name); err != nil {
		return 0, err
	}
	temp, err := os.CreateTemp(s.temp, name+"-*") // mode 0600
	if err != nil {
		return 0, fmt.Errorf("create blob: %w", err)
	}
	// Once published the blob has a name of its own, and this one is superfluous either way. If the removal
	// fails, the next start repeats it.
	defer os.Remove(temp.Name())
	size, err := s.fill(ctx, temp, r)
	if err != nil {
		return 0, fmt.Errorf("write blob %s: %w", name, err)
	}
	if err := s.publish(temp.Name(), name); err != nil {
		return 0, fmt.Errorf("publish blob %s: %w", name, err)
	}
	return size, nil
}

// Open implements [blob.Store].
func (s *Store) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := precheck(ctx, name); err != nil {
		return nil, err
	}
	file, err := os.Open(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.missing(name)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return file, nil
}

// missing is the reason why a blob is not there. If the mount is lost, tmp is missing as well: then the blob is not gone,
// and work that needs it can wait.
func (s *Store) missing(name string) error {
	if _, err := os.Stat(s.temp); err != nil {
		return fmt.Errorf("open blob %s: the blob directory cannot be reached: %w", name, err)
	}
	return fmt.Errorf("%w: %s", blob.ErrNotFound, name)
}

// OpenRange implements [blob.Store].
func (s *Store) OpenRange(ctx context.Context, name string, r blob.Range) (io.ReadCloser, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	whole, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	file := whole.(*os.File)
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, r.Offset, r.Length), file}, nil
}

// Delete implements [blob.Store].
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := precheck(ctx, name); err != nil {
		return err
	}
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// Check implements [blob.Store].
func (s *Store) Check(ctx context.Context) error {
	if err := blob.Probe(ctx, s); err != nil {
		return fmt.Errorf("check blob directory %s: %w", s.root, err)
	}
	return nil
}

func precheck(ctx context.Context, name string) error {
	if err := blob.ValidateName(name); err != nil {
		return err
	}
	return ctx.Err()
}

// path is only given names that passed blob.ValidateName.
func (s *Store) path(name string) string { return filepath.Join(s.root, name[:2], name) }

// fill writes r to file, makes it durable and closes it.
func (s *Store) fill(ctx context.Context, file *os.File, r io.Reader) (int64, error) {
	size, err := io.Copy(file, untilDone(ctx, r))
	if err == nil {
		err = s.syncFile(file)
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = ctx.Err() // the sync can take long
	}
	return size, err
}

// publish gives the finished file its name, durably.
func (s *Store) publish(temp, name string) error {
	if err := s.ensureShard(name[:2]); err != nil {
		return err
	}
	path := s.path(name)
	if err := os.Link(temp, path); errors.Is(err, fs.ErrExist) {
		return blob.ErrExists
	} else if err != nil {
		return err
	}
	if err := s.syncDir(filepath.Dir(path)); err != nil {
		// The name may not survive a crash, so no caller may rely on it.
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// untilDone returns r with reads that fail once ctx is done.
func untilDone(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}
