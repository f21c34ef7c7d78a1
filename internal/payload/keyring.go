package payload

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// maxCachedCiphers bounds the ciphers kept ready, about 1 KiB each.
	maxCachedCiphers = 4096

	// derivationLabel keeps these keys apart from any other use of the same secret.
	derivationLabel = "penstock payload v1 tenant "
)

// keyring derives the ciphers of one keyset and keeps those in use, because deriving one costs more
// than sealing a short prompt with it.
type keyring struct {
	keys *Keyset
	last atomic.Pointer[cachedCipher] // the one that was asked for last: groups of payloads have one tenant

	mu      sync.RWMutex
	ciphers map[cipherID]*cachedCipher
}

type cipherID struct {
	key    uint32
	tenant string
}

type cachedCipher struct {
	cipherID
	cipher.AEAD
}

func newKeyring(keys *Keyset) *keyring {
	return &keyring{keys: keys, ciphers: make(map[cipherID]*cachedCipher)}
}

// cipher returns the tenant's cipher under the key with this id, or ErrUnknownKey.
func (r *keyring) cipher(key uint32, tenant string) (cipher.AEAD, error) {
	id := cipherID{key: key, tenant: tenant}
	if last := r.last.Load(); last != nil && last.cipherID == id {
		return last.AEAD, nil
	}
	r.mu.RLock()
	cached, ok := r.ciphers[id]
	r.mu.RUnlock()
	if ok {
		r.last.Store(cached)
		return cached.AEAD, nil
	}

	secret, ok := r.keys.secret(key)
	if !ok {
		return nil, fmt.Errorf("%w: it was sealed with key %d; restore that key to the keyset, or reload the "+
			"keyset if it was rotated", ErrUnknownKey, key)
	}
	// Two callers may derive the same cipher at once. Both get a correct one, and neither waits.
	aead, err := deriveCipher(secret, tenant)
	if err != nil {
		return nil, err
	}
	// The caller's tenant may be a piece of a large request, which the cache must not keep alive.
	id.tenant = strings.Clone(tenant)
	r.keep(id, aead)
	return aead, nil
}

// keep evicts an arbitrary cipher when the cache is full. Unlike least recently used, that needs no write on
// a hit, and a walk over many tenants cannot flush all the busy ones.
func (r *keyring) keep(id cipherID, aead cipher.AEAD) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ciphers) >= maxCachedCiphers {
		for victim := range r.ciphers {
			delete(r.ciphers, victim)
			break
		}
	}
	r.ciphers[id] = &cachedCipher{id, aead}
}

// deriveCipher returns a cipher that draws its own nonce for every message, so that no caller can
// repeat one.
func deriveCipher(secret []byte, tenant string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, derivationLabel+tenant, secretBytes)
	if err != nil {
		return nil, fmt.Errorf("derive tenant key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("set up AES: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("set up GCM: %w", err)
	}
	return aead, nil
}
