package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	probeBytes = 64
	// probeCleanup bounds how long a probe that ran out of time may take to remove its blob.
	probeCleanup = 2 * time.Second
)

// Probe is the body of an adapter's Check: it takes a blob through its whole life, and so finds a full
// disk, a lost mount or a revoked permission that a look at the configuration would not.
func Probe(ctx context.Context, store Store) error {
	name := NewName()
	content := make([]byte, probeBytes)
	rand.Read(content)

	err := probeContent(ctx, store, name, content)
	// The blob may exist even if it could not be read back, and when ctx is done already.
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeCleanup)
	defer cancel()
	if deleteErr := store.Delete(cleanup, name); deleteErr != nil {
		return errors.Join(err, fmt.Errorf("remove probe blob: %w", deleteErr))
	}
	if err != nil {
		return err
	}
	reader, err := store.Open(ctx, name)
	if err == nil {
		return errors.Join(fmt.Errorf("probe blob %s is still there after its removal", name), reader.Close())
	}
	if !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("look for removed probe blob: %w", err)
	}
	return nil
}

func probeContent(ctx context.Context, store Store, name string, content []byte) error {
	if _, err := store.Put(ctx, name, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("store probe blob: %w", err)
	}
	reader, err := store.Open(ctx, name)
	if err != nil {
		return fmt.Errorf("open probe blob: %w", err)
	}
	got, err := io.ReadAll(io.LimitReader(reader, probeBytes+1))
	if err := errors.Join(err, reader.Close()); err != nil {
		return fmt.Errorf("read probe blob: %w", err)
	}
	if !bytes.Equal(got, content) {
		return fmt.Errorf("probe blob %s came back different: %d bytes instead of %d", name, len(got), probeBytes)
	}
	return nil
}
