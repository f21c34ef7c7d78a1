package payload

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// What can be wrong with a keyset file.
var (
	// ErrKeysetDamaged means that the file is not a keyset, or not a whole one.
	ErrKeysetDamaged = errors.New("keyset file is damaged")
	// ErrKeysetExposed means that users other than its owner have access to the file.
	ErrKeysetExposed = errors.New("keyset file is open to other users")
)

const (
	// MaxKeys bounds a keyset: a rotation a week for nearly twenty years.
	MaxKeys = 1000

	keysetVersion = 1
	secretBytes   = 32 // AES-256
)

// Keyset is the secrets that payloads are sealed with: one primary that seals, and older ones that
// still open what they sealed. It never changes; [Rotate] makes a new one. Losing it loses every
// payload, so it belongs in the backup, apart from the database.
type Keyset struct {
	primary uint32
	keys    []key
}

type key struct {
	// ID is random, so that a payload sealed under a lost keyset is reported as such and not mistaken
	// for one that was tampered with.
	ID        uint32    `json:"id"`
	Secret    []byte    `json:"secret"`
	CreatedAt time.Time `json:"created_at"`
}

// keysetFile is the form on disk.
type keysetFile struct {
	Version int    `json:"version"`
	Primary uint32 `json:"primary_key_id"`
	Keys    []key  `json:"keys"`
}

// PrimaryID returns the id of the key that seals.
func (k *Keyset) PrimaryID() uint32 { return k.primary }

// Format writes a summary whatever the verb, so that no log line or panic can show a secret.
func (k *Keyset) Format(s fmt.State, _ rune) {
	fmt.Fprintf(s, "keyset(primary %d, %d keys)", k.primary, len(k.keys))
}

func (k *Keyset) secret(id uint32) ([]byte, bool) {
	i := slices.IndexFunc(k.keys, func(key key) bool { return key.ID == id })
	if i < 0 {
		return nil, false
	}
	return k.keys[i].Secret, true
}

// Derive returns a key for each of the keyset's, by id, for a use other than sealing payloads. The label names
// the use: keys of two labels have nothing in common.
func (k *Keyset) Derive(label string) (map[uint32][]byte, error) {
	derived := make(map[uint32][]byte, len(k.keys))
	for _, key := range k.keys {
		secret, err := hkdf.Key(sha256.New, key.Secret, nil, label, secretBytes)
		if err != nil {
			return nil, fmt.Errorf("derive key for %q: %w", label, err)
		}
		derived[key.ID] = secret
	}
	return derived, nil
}

// withNewPrimary returns a keyset that seals with a new key and opens with all the old ones too.
func (k *Keyset) withNewPrimary() (*Keyset, error) {
	if len(k.keys) >= MaxKeys {
		return nil, fmt.Errorf("keyset holds %d keys already, the most it can hold", len(k.keys))
	}
	fresh := key{ID: k.newID(), Secret: make([]byte, secretBytes), CreatedAt: time.Now().UTC().Truncate(time.Second)}
	rand.Read(fresh.Secret) // never returns an error: the program stops if the system has no randomness
	return &Keyset{primary: fresh.ID, keys: append(slices.Clone(k.keys), fresh)}, nil
}

func (k *Keyset) newID() uint32 {
	for {
		var b [4]byte
		rand.Read(b[:])
		id := binary.BigEndian.Uint32(b[:])
		if _, taken := k.secret(id); id != 0 && !taken {
			return id
		}
	}
}

// Export is the keyset for another process of the same program, secrets and all. It belongs on a pipe and nowhere else.
func (k *Keyset) Export() ([]byte, error) { return k.encode() }

// Import is the keyset that Export made.
func Import(text []byte) (*Keyset, error) {
	keys, err := decodeKeyset(text)
	if err != nil {
		return nil, fmt.Errorf("decode keyset: %w", err)
	}
	return keys, nil
}

func (k *Keyset) encode() ([]byte, error) {
	text, err := json.MarshalIndent(keysetFile{Version: keysetVersion, Primary: k.primary, Keys: k.keys}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode keyset: %w", err)
	}
	return append(text, '\n'), nil
}

func decodeKeyset(text []byte) (*Keyset, error) {
	var file keysetFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Version != keysetVersion {
		return nil, fmt.Errorf("its version is %d and this release reads version %d", file.Version, keysetVersion)
	}
	if len(file.Keys) > MaxKeys {
		return nil, fmt.Errorf("it holds %d keys and at most %d are allowed", len(file.Keys), MaxKeys)
	}
	seen := make(map[uint32]bool, len(file.Keys))
	for _, key := range file.Keys {
		switch {
		case key.ID == 0:
			return nil, errors.New("a key has no id")
		case seen[key.ID]:
			return nil, fmt.Errorf("key %d is there twice", key.ID)
		case len(key.Secret) != secretBytes:
			return nil, fmt.Errorf("the secret of key %d has %d bytes instead of %d", key.ID, len(key.Secret), secretBytes)
		}
		seen[key.ID] = true
	}
	if !seen[file.Primary] {
		return nil, fmt.Errorf("its primary key %d is missing", file.Primary)
	}
	return &Keyset{primary: file.Primary, keys: file.Keys}, nil
}
