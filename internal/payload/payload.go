// Package payload is the one codec that every prompt and every result passes on its way into the
// store and out of it. Because nothing goes around it, compression and encryption are decided here
// and nowhere else.
//
// It owns the sealed format, the keys that seal (see [Keyset]) and the binding of a sealed payload to
// its [Owner]. It does not own storage, it never sees a database row, and it does not log.
//
// # Format, version 1
//
//	1 byte   format version
//	1 byte   flags: bit 0 is set when the plaintext was compressed with zstd
//	4 bytes  id of the keyset key, big endian
//	12 bytes random nonce
//	…        AES-256-GCM ciphertext
//	16 bytes tag
//
// The additional data is the first six bytes followed by tenant, id and part of the owner, each with
// its length in front, so that no two owners share an encoding. A sealed payload that is copied to
// another row, column or tenant therefore does not open.
//
// # Keys and nonces
//
// One GCM key should seal at most 2^32 messages under random nonces: past that the chance that two of
// them share a nonce, which would expose both and allow forgeries, exceeds 2^-32. A single key for
// everyone could be there within days: 5,000 items a second, a prompt and a result each, take five.
// Every tenant therefore has a key of its own, derived with HKDF-SHA256 from the keyset's secret, and
// spends only its own allowance: at 100 payloads a second it lasts for 16 months. [Rotate] starts a new
// allowance for every tenant. The derivation also means that a payload of one tenant is noise under the
// key of another, whatever the additional data says.
//
// # Compression
//
// The length of a compressed payload reveals something about its content, but only to a reader of the store itself. One
// payload holds the data of one tenant, so no tenant can use its own text to probe for another's.
//
// # Bounds and concurrency
//
// Plaintexts are bounded when sealed and, against small payloads that expand without end, again when
// opened. Compression runs on at most GOMAXPROCS payloads at a time, which bounds its memory. A Codec
// is safe for concurrent use; a Keyset never changes.
package payload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Why a payload does not seal or open.
var (
	// ErrTampered means that the payload was altered or cut, or was sealed for another owner. The codec
	// cannot distinguish the two.
	ErrTampered = errors.New("payload was altered or belongs to another owner")
	// ErrUnknownKey means that the keyset lacks the key that sealed the payload.
	ErrUnknownKey = errors.New("keyset lacks the key of this payload")
	// ErrUnknownVersion means that another release of Penstock wrote the payload, or that it is none.
	ErrUnknownVersion = errors.New("unknown payload format version")
	// ErrTooLarge means that the plaintext is over the codec's bound.
	ErrTooLarge = errors.New("payload is too large")
)

const (
	// DefaultMaxPlainBytes bounds a plaintext unless [WithMaxPlainBytes] says otherwise.
	DefaultMaxPlainBytes = 64 << 20

	formatVersion  = 1
	flagCompressed = 1 << 0

	headerBytes = 6 // version, flags, key id
	nonceBytes  = 12
	tagBytes    = 16
	// Overhead is how many bytes sealing adds to a payload at the most.
	Overhead = headerBytes + nonceBytes + tagBytes

	// Below this the bytes that zstd saves are not worth the time it takes, which is then most of what
	// sealing costs.
	minCompressBytes = 512
	// A payload is stored compressed when that saves at least one part in minSavedPart: less is not
	// worth the decompression at every read.
	minSavedPart = 8
	// Payloads larger than this live in blobs, where a slightly better ratio is not worth the memory
	// that a larger window costs in each encoder.
	windowBytes = 128 << 10

	// maxScratchBytes is the largest buffer kept for reuse, so that one huge payload does not pin its
	// size in memory for good.
	maxScratchBytes = 128 << 10
)

// Owner is what a sealed payload belongs to. All fields are required: one left empty would let two
// owners exchange their payloads unnoticed.
type Owner struct {
	Tenant string // who the payload belongs to
	ID     string // the row: an item, request or file id
	Part   string // the column or role inside the row: "input", "result"
}

func (o Owner) String() string { return fmt.Sprintf("%s of %s (tenant %s)", o.Part, o.ID, o.Tenant) }

func (o Owner) validate() error {
	if o.Tenant == "" || o.ID == "" || o.Part == "" {
		return fmt.Errorf("payload owner %+q needs a tenant, an id and a part", [...]string{o.Tenant, o.ID, o.Part})
	}
	return nil
}

func (o Owner) appendTo(b []byte) []byte {
	for _, field := range [...]string{o.Tenant, o.ID, o.Part} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}

// Codec seals and opens payloads.
type Codec struct {
	ring     atomic.Pointer[keyring]
	encoder  *zstd.Encoder
	decoder  *zstd.Decoder
	scratch  sync.Pool // of *scratch
	maxPlain int
}

// scratch holds the buffers of one call that do not leave it.
type scratch struct {
	bound []byte // additional data
	body  []byte // compressed plaintext
}

// Option changes a default of a Codec.
type Option func(*Codec)

// WithMaxPlainBytes bounds plaintexts to n bytes, from 1 KiB to 512 MiB, the range in which zstd can hold the bound.
func WithMaxPlainBytes(n int) Option { return func(c *Codec) { c.maxPlain = n } }

// New makes a codec that seals with the primary key of keys and opens with any of them.
func New(keys *Keyset, options ...Option) (*Codec, error) {
	if keys == nil {
		return nil, errors.New("payload codec needs a keyset")
	}
	c := &Codec{maxPlain: DefaultMaxPlainBytes}
	for _, option := range options {
		option(c)
	}
	if c.maxPlain < zstd.MinWindowSize || c.maxPlain > zstd.MaxWindowSize {
		return nil, fmt.Errorf("payload bound of %d bytes is not between %d and %d",
			c.maxPlain, zstd.MinWindowSize, zstd.MaxWindowSize)
	}
	var err error
	c.encoder, err = zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
		zstd.WithWindowSize(windowBytes),
		zstd.WithLowerEncoderMem(true),
		zstd.WithSingleSegment(true), // payloads are opened whole: the bound applies to them, not to a window
		zstd.WithEncoderCRC(false))   // the GCM tag covers it
	if err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	if c.decoder, err = newDecoder(runtime.GOMAXPROCS(0), c.maxPlain); err != nil {
		return nil, err
	}
	c.scratch.New = func() any { return new(scratch) }
	c.Use(keys)
	return c, nil
}

// Use replaces the keyset, so that a rotation takes effect without a restart. Calls under way finish
// with the keys they began with.
func (c *Codec) Use(keys *Keyset) { c.ring.Store(newKeyring(keys)) }

// Seal compresses plain where that pays and encrypts it for owner alone. The result is newly
// allocated; plain is not kept. It returns [ErrTooLarge] for a plaintext over the codec's bound.
func (c *Codec) Seal(owner Owner, plain []byte) ([]byte, error) {
	return c.AppendSealed(nil, owner, plain)
}

// AppendSealed is Seal behind what dst has already.
func (c *Codec) AppendSealed(dst []byte, owner Owner, plain []byte) ([]byte, error) {
	if err := owner.validate(); err != nil {
		return nil, err
	}
	if len(plain) > c.maxPlain {
		return nil, fmt.Errorf("seal %s: %w: %d bytes, at most %d are allowed",
			owner, ErrTooLarge, len(plain), c.maxPlain)
	}
	ring := c.ring.Load()
	keyID := ring.keys.PrimaryID()
	aead, err := ring.cipher(keyID, owner.Tenant)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", owner, err)
	}

	s := c.borrow()
	defer c.giveBack(s)
	body, flags := c.compress(s, plain)
	sealed := append(slices.Grow(dst, len(body)+Overhead), formatVersion, flags)
	sealed = binary.BigEndian.AppendUint32(sealed, keyID)
	s.bound = owner.appendTo(append(s.bound[:0], sealed[len(dst):]...))
	return aead.Seal(sealed, nil, body, s.bound), nil
}

// Open returns the plaintext that was sealed for owner. The result is newly allocated; sealed is not
// changed. It returns [ErrTampered], [ErrUnknownKey], [ErrUnknownVersion] or [ErrTooLarge].
func (c *Codec) Open(owner Owner, sealed []byte) ([]byte, error) {
	return c.AppendOpened(nil, owner, sealed)
}

// AppendOpened is Open behind what dst has already.
func (c *Codec) AppendOpened(dst []byte, owner Owner, sealed []byte) ([]byte, error) {
	if err := owner.validate(); err != nil {
		return nil, err
	}
	plain, err := c.appendOpened(dst, owner, sealed)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", owner, err)
	}
	return plain, nil
}

func (c *Codec) appendOpened(dst []byte, owner Owner, sealed []byte) ([]byte, error) {
	if len(sealed) > 0 && sealed[0] != formatVersion {
		return nil, fmt.Errorf("%w %d: this release reads version %d", ErrUnknownVersion, sealed[0], formatVersion)
	}
	if len(sealed) < Overhead {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrTampered, len(sealed))
	}
	if len(sealed)-Overhead > c.maxPlain {
		return nil, fmt.Errorf("%w: %d bytes sealed, at most %d are allowed",
			ErrTooLarge, len(sealed), c.maxPlain+Overhead)
	}
	header, box := sealed[:headerBytes], sealed[headerBytes:]
	aead, err := c.ring.Load().cipher(binary.BigEndian.Uint32(header[2:]), owner.Tenant)
	if err != nil {
		return nil, err
	}

	s := c.borrow()
	defer c.giveBack(s)
	s.bound = owner.appendTo(append(s.bound[:0], header...))
	switch header[1] {
	case 0:
		plain, err := aead.Open(dst, nil, box, s.bound)
		if err != nil {
			return nil, ErrTampered
		}
		return plain, nil
	case flagCompressed:
		body, err := aead.Open(s.body[:0], nil, box, s.bound)
		if err != nil {
			return nil, ErrTampered
		}
		s.body = body
		plain, err := c.decompress(body)
		if err != nil || len(dst) == 0 {
			return plain, err
		}
		return append(dst, plain...), nil
	default:
		return nil, fmt.Errorf("%w: unknown flags %#x", ErrTampered, header[1])
	}
}

// compress returns what to encrypt and the flags that say what was done to it.
func (c *Codec) compress(s *scratch, plain []byte) (body []byte, flags byte) {
	if len(plain) < minCompressBytes {
		return plain, 0
	}
	s.body = c.encoder.EncodeAll(plain, s.body[:0])
	if len(s.body) > len(plain)-len(plain)/minSavedPart {
		return plain, 0
	}
	return s.body, flagCompressed
}

func (c *Codec) decompress(body []byte) ([]byte, error) {
	decoder := c.decoder
	var frame zstd.Header
	if err := frame.Decode(body); err != nil || !frame.HasFCS || frame.FrameContentSize > maxScratchBytes {
		// A decoder keeps its last plaintext reachable until the next one. For a large plaintext a decoder
		// of its own is cheap, and leaves nothing behind.
		single, err := newDecoder(1, c.maxPlain)
		if err != nil {
			return nil, err
		}
		defer single.Close()
		decoder = single
	}
	plain, err := decoder.DecodeAll(body, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, fmt.Errorf("%w: it expands to more than %d bytes", ErrTooLarge, c.maxPlain)
	case err != nil:
		return nil, fmt.Errorf("decompress authentic payload: %w", err)
	}
	return plain, nil
}

func newDecoder(concurrency, maxPlain int) (*zstd.Decoder, error) {
	decoder, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(concurrency),
		zstd.WithDecoderMaxMemory(uint64(maxPlain)))
	if err != nil {
		return nil, fmt.Errorf("set up decompression: %w", err)
	}
	return decoder, nil
}

func (c *Codec) borrow() *scratch { return c.scratch.Get().(*scratch) }

func (c *Codec) giveBack(s *scratch) {
	if cap(s.bound)+cap(s.body) <= maxScratchBytes {
		c.scratch.Put(s)
	}
}
