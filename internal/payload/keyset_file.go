package payload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxKeysetFileBytes is ample for MaxKeys keys.
const maxKeysetFileBytes = 1 << 20

// LoadOrCreate loads the keyset at path, first creating one if there is none. Any number of processes
// may start at once: all get the same keyset. When it returns, the file survives a power failure, so
// that no payload can become durable before the key that opens it.
func LoadOrCreate(path string) (*Keyset, error) {
	keys, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, fmt.Errorf("create keyset: %w", err)
		}
		keys, err = Load(path)
	}
	if err != nil {
		return nil, err
	}
	// The process that created the file may have stopped just before this.
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return keys, nil
}

// Load reads the keyset at path. It returns [fs.ErrNotExist] if there is none, [ErrKeysetExposed] if
// other users have access to it and [ErrKeysetDamaged] if it cannot be used.
func Load(path string) (*Keyset, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open keyset: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("inspect keyset: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%w (mode %#o): run `chmod 600 %s`", ErrKeysetExposed, mode, path)
	}
	return readKeyset(file, path)
}

// readKeyset decodes the keyset in file, which is at path.
func readKeyset(file io.Reader, path string) (*Keyset, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxKeysetFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read keyset: %w", err)
	}
	if len(text) > maxKeysetFileBytes {
		return nil, fmt.Errorf("%w: %s is over %d bytes", ErrKeysetDamaged, path, maxKeysetFileBytes)
	}
	keys, err := decodeKeyset(text)
	if err != nil {
		return nil, fmt.Errorf("%w: restore %s from a backup, nothing sealed with its keys opens without it: %w",
			ErrKeysetDamaged, path, err)
	}
	return keys, nil
}

// Install puts the keyset in the file from at path and returns it. The mode of from is not checked: a mounted secret is
// readable for a group. A keyset at path is replaced only by one that has all of its keys, so that nothing sealed
// becomes unreadable.
func Install(from, path string) (*Keyset, error) {
	source, err := os.Open(from)
	if err != nil {
		return nil, fmt.Errorf("install keyset: %w", err)
	}
	defer source.Close()
	keys, err := readKeyset(source, from)
	if err != nil {
		return nil, fmt.Errorf("install keyset: %w", err)
	}
	switch old, err := Load(path); {
	case err == nil && !keys.covers(old):
		return nil, fmt.Errorf("%s has keys that %s lacks: payloads in the database may need them; install the keyset that belongs to the database, or use an empty data directory", path, from)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err := replace(path, keys); err != nil {
		return nil, fmt.Errorf("install keyset: %w", err)
	}
	return keys, nil
}

// covers reports whether every key of old is in k, with the same secret.
func (k *Keyset) covers(old *Keyset) bool {
	return !slices.ContainsFunc(old.keys, func(key key) bool {
		secret, ok := k.secret(key.ID)
		return !ok || !bytes.Equal(secret, key.Secret)
	})
}

// replace puts keys at path in one step, in place of the keyset there.
func replace(path string, keys *Keyset) error {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".keyset-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails after the rename, which is fine
	if err := writeKeyset(temp, keys); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// Rotate adds a new primary key to the keyset at path and returns the result. Older keys stay and go
// on opening what they sealed. A process that shares the file cannot open what is sealed with the new
// key before it has reloaded the file: see [Codec.Use].
func Rotate(path string) (*Keyset, error) {
	// The next version of the file is also the lock that keeps a second rotation from overwriting the
	// key of this one. The rename publishes it and releases the lock in one step.
	next := path + ".next"
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("rotate keyset: another rotation is under way; if it was interrupted, remove %s: %w",
			next, err)
	}
	if err != nil {
		return nil, fmt.Errorf("rotate keyset: %w", err)
	}
	keys, err := writeRotated(file, path)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("rotate keyset: %w", err), os.Remove(next))
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return keys, nil
}

func writeRotated(file *os.File, path string) (*Keyset, error) {
	keys, err := Load(path)
	if err == nil {
		keys, err = keys.withNewPrimary()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return keys, writeKeyset(file, keys)
}

// create puts a new keyset at path unless another process puts one there first.
func create(path string) error {
	keys, err := new(Keyset).withNewPrimary()
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".keyset-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // one left by a crash holds a key that nothing was sealed with
	if err := writeKeyset(temp, keys); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces: the first process wins and the file is whole at once.
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeKeyset writes keys to file, makes them durable and closes the file.
func writeKeyset(file *os.File, keys *Keyset) error {
	text, err := keys.encode()
	if err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// makeDir creates dir and the missing directories above it, and makes them durable.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
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
