package payload

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

var someone = Owner{Tenant: "search", ID: "item_01", Part: "input"}

func newKeyset(t testing.TB) *Keyset {
	t.Helper()
	keys, err := LoadOrCreate(filepath.Join(t.TempDir(), "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func newCodec(t testing.TB, options ...Option) *Codec {
	t.Helper()
	codec, err := New(newKeyset(t), options...)
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

func mustSeal(t testing.TB, codec *Codec, owner Owner, plain []byte) []byte {
	t.Helper()
	sealed, err := codec.Seal(owner, plain)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// prompt returns n bytes that compress about as well as a chat request does.
func prompt(n int) []byte {
	words := strings.Fields("the model answers when a prompt asks it to explain how water turns wheels at night")
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`{"model":"fast","messages":[{"role":"user","content":"`)
	for b.Len() < n {
		fmt.Fprintf(&b, "%s %d ", words[random.IntN(len(words))], random.IntN(1000))
	}
	return b.Bytes()[:n]
}

// noise returns n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{7})
	random.Read(b)
	return b
}

func TestRoundTripProperty(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	nonEmpty := rapid.StringN(1, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		owner := Owner{nonEmpty.Draw(t, "tenant"), nonEmpty.Draw(t, "id"), nonEmpty.Draw(t, "part")}
		// Repetition takes the plaintext across the compression threshold, and to both of its outcomes.
		plain := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "plain"), rapid.IntRange(0, 50).Draw(t, "repeat"))
		before := bytes.Clone(plain)

		sealed, err := codec.Seal(owner, plain)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := codec.Open(owner, sealed)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(opened, before) || !bytes.Equal(plain, before) {
			t.Fatalf("sealed %q, opened %q, argument is now %q", before, opened, plain)
		}
		if len(sealed) > len(plain)+Overhead {
			t.Fatalf("%d bytes grew to %d", len(plain), len(sealed))
		}
	})
}

func TestCompressesWhenItPays(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	tests := map[string]struct {
		plain      []byte
		compressed bool
	}{
		"empty":          {nil, false},
		"short":          {prompt(minCompressBytes)[:minCompressBytes-1], false},
		"text":           {prompt(4096), true},
		"noise":          {noise(4096), false},
		"many blocks":    {prompt(1 << 20), true},
		"noise in bulk":  {noise(1 << 20), false},
		"a single block": {bytes.Repeat([]byte("a"), minCompressBytes), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed := mustSeal(t, codec, someone, test.plain)
			if got := sealed[1] == flagCompressed; got != test.compressed {
				t.Errorf("compressed = %v, want %v", got, test.compressed)
			}
			if !test.compressed && len(sealed) != len(test.plain)+Overhead {
				t.Errorf("%d bytes sealed to %d, want %d more", len(test.plain), len(sealed), Overhead)
			}
			if test.compressed && len(sealed) > len(test.plain) {
				t.Errorf("%d bytes grew to %d", len(test.plain), len(sealed))
			}
			opened, err := codec.Open(someone, sealed)
			if err != nil || !bytes.Equal(opened, test.plain) {
				t.Errorf("opened %d bytes (%v), want the %d that were sealed", len(opened), err, len(test.plain))
			}
		})
	}
}

func TestCiphertextHidesPlaintext(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	plain := []byte("attack at dawn")
	first, second := mustSeal(t, codec, someone, plain), mustSeal(t, codec, someone, plain)
	if bytes.Contains(first, plain) {
		t.Error("the plaintext is readable in the sealed payload")
	}
	if bytes.Equal(first[headerBytes:headerBytes+nonceBytes], second[headerBytes:headerBytes+nonceBytes]) {
		t.Error("two payloads share a nonce")
	}
}

func TestEveryBitFlipFails(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	for name, plain := range map[string][]byte{"plain": []byte("hello"), "compressed": prompt(600), "empty": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed := mustSeal(t, codec, someone, plain)
			for bit := range len(sealed) * 8 {
				flipped := bytes.Clone(sealed)
				flipped[bit/8] ^= 1 << (bit % 8)
				want := ErrTampered
				switch at := bit / 8; {
				case at == 0:
					want = ErrUnknownVersion
				case at >= 2 && at < headerBytes:
					want = ErrUnknownKey
				}
				if opened, err := codec.Open(someone, flipped); !errors.Is(err, want) || opened != nil {
					t.Fatalf("bit %d of byte %d: got %q, %v; want %v", bit%8, bit/8, opened, err, want)
				}
			}
		})
	}
}

func TestEveryTruncationFails(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	sealed := mustSeal(t, codec, someone, prompt(600))
	for n := range sealed {
		if _, err := codec.Open(someone, sealed[:n]); !errors.Is(err, ErrTampered) {
			t.Fatalf("first %d bytes: %v, want ErrTampered", n, err)
		}
	}
	if _, err := codec.Open(someone, append(bytes.Clone(sealed), 0)); !errors.Is(err, ErrTampered) {
		t.Fatalf("one byte more: %v, want ErrTampered", err)
	}
}

func TestOnlyItsOwnerOpens(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	owner := Owner{Tenant: "ab", ID: "cd", Part: "ef"}
	sealed := mustSeal(t, codec, owner, []byte("hello"))
	strangers := map[string]Owner{
		"other tenant":      {"xx", "cd", "ef"},
		"other row":         {"ab", "xx", "ef"},
		"other column":      {"ab", "cd", "xx"},
		"border moved":      {"abc", "d", "ef"},
		"other border":      {"ab", "cde", "f"},
		"fields exchanged":  {"ab", "ef", "cd"},
		"length in content": {"ab", "cd\x02", "ef"},
	}
	for name, stranger := range strangers {
		if _, err := codec.Open(stranger, sealed); !errors.Is(err, ErrTampered) {
			t.Errorf("%s: %v, want ErrTampered", name, err)
		}
	}
}

// The tenant's key alone must keep tenants apart, even where additional data is equal.
func TestTenantsHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	ring := newKeyring(newKeyset(t))
	ours, theirs := mustCipher(t, ring, "ours"), mustCipher(t, ring, "theirs")
	if _, err := theirs.Open(nil, nil, ours.Seal(nil, nil, []byte("hello"), nil), nil); err == nil {
		t.Error("one tenant's key opens the payload of another")
	}
}

func mustCipher(t *testing.T, ring *keyring, tenant string) cipher.AEAD {
	t.Helper()
	aead, err := ring.cipher(ring.keys.PrimaryID(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

func TestCipherCacheIsBounded(t *testing.T) {
	t.Parallel()
	ring := newKeyring(newKeyset(t))
	first := mustCipher(t, ring, "tenant 0")
	if again := mustCipher(t, ring, "tenant 0"); again != first {
		t.Error("the second use derived the cipher again")
	}
	for i := range maxCachedCiphers + 100 {
		mustCipher(t, ring, fmt.Sprintf("tenant %d", i))
	}
	if got := len(ring.ciphers); got != maxCachedCiphers {
		t.Errorf("%d ciphers are cached, want %d", got, maxCachedCiphers)
	}
}

func TestIncompleteOwnerIsRefused(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	for _, owner := range []Owner{{}, {"", "id", "part"}, {"tenant", "", "part"}, {"tenant", "id", ""}} {
		if _, err := codec.Seal(owner, []byte("hello")); err == nil {
			t.Errorf("Seal accepted %+v", owner)
		}
		if _, err := codec.Open(owner, make([]byte, Overhead)); err == nil {
			t.Errorf("Open accepted %+v", owner)
		}
	}
}

func TestUnknownKeyNamesTheKey(t *testing.T) {
	t.Parallel()
	writer, reader := newCodec(t), newCodec(t)
	_, err := reader.Open(someone, mustSeal(t, writer, someone, []byte("hello")))
	id := fmt.Sprintf("key %d", writer.ring.Load().keys.PrimaryID())
	if !errors.Is(err, ErrUnknownKey) || !strings.Contains(err.Error(), id) {
		t.Errorf("got %v, want ErrUnknownKey that names %s", err, id)
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	t.Parallel()
	if _, err := New(nil); err == nil {
		t.Error("New accepted no keyset")
	}
	for _, n := range []int{-1, 0, 1<<10 - 1, 1<<29 + 1} {
		if _, err := New(newKeyset(t), WithMaxPlainBytes(n)); err == nil {
			t.Errorf("New accepted a bound of %d bytes", n)
		}
	}
}

func TestSizeBoundIsExact(t *testing.T) {
	t.Parallel()
	for _, bound := range []int{1 << 10, 3000, 300_000} {
		codec := newCodec(t, WithMaxPlainBytes(bound))
		for name, plain := range map[string][]byte{"text": prompt(bound + 1), "noise": noise(bound + 1)} {
			sealed := mustSeal(t, codec, someone, plain[:bound])
			if opened, err := codec.Open(someone, sealed); err != nil || len(opened) != bound {
				t.Errorf("%s at %d bytes: %d bytes, %v", name, bound, len(opened), err)
			}
			if _, err := codec.Seal(someone, plain); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s over %d bytes: Seal returned %v, want ErrTooLarge", name, bound, err)
			}
		}
	}
}

// A payload sealed under a larger bound must not get past a smaller one, compressed or not.
func TestOpenBoundsWhatOthersSealed(t *testing.T) {
	t.Parallel()
	keys := newKeyset(t)
	generous, err := New(keys)
	if err != nil {
		t.Fatal(err)
	}
	strict, err := New(keys, WithMaxPlainBytes(4096))
	if err != nil {
		t.Fatal(err)
	}
	for name, plain := range map[string][]byte{"text": prompt(4097), "noise": noise(4097)} {
		if _, err := strict.Open(someone, mustSeal(t, generous, someone, plain)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
}

// sealBody seals body as if it were the outcome of compression, as only a holder of the key could.
func sealBody(t testing.TB, codec *Codec, body []byte) []byte {
	t.Helper()
	keys := codec.ring.Load().keys
	header := binary.BigEndian.AppendUint32([]byte{formatVersion, flagCompressed}, keys.PrimaryID())
	aead, err := codec.ring.Load().cipher(keys.PrimaryID(), someone.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	return aead.Seal(header, nil, body, someone.appendTo(bytes.Clone(header)))
}

func TestBombIsRefused(t *testing.T) {
	t.Parallel()
	const bound = 1 << 20
	codec := newCodec(t, WithMaxPlainBytes(bound))
	zeros := make([]byte, 16*bound)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	var undeclared bytes.Buffer
	encoder.Reset(&undeclared)
	for chunk := range slices.Chunk(zeros, 1<<16) {
		encoder.Write(chunk)
	}
	if err := encoder.Close(); err != nil {
		t.Fatal(err)
	}
	bombs := map[string][]byte{
		"declares its size": encoder.EncodeAll(zeros, nil),
		"hides its size":    undeclared.Bytes(),
		"many frames":       bytes.Repeat(encoder.EncodeAll(zeros[:bound/2], nil), 3),
	}
	for name, bomb := range bombs {
		if len(bomb) > 8<<10 {
			t.Fatalf("%s: a bomb of %d bytes is no bomb", name, len(bomb))
		}
		if opened, err := codec.Open(someone, sealBody(t, codec, bomb)); !errors.Is(err, ErrTooLarge) || opened != nil {
			t.Errorf("%s: %d bytes, %v; want ErrTooLarge", name, len(opened), err)
		}
	}
}

func TestUseTakesEffect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	old, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := New(old)
	if err != nil {
		t.Fatal(err)
	}
	before := mustSeal(t, codec, someone, []byte("before"))
	rotated, err := Rotate(path)
	if err != nil {
		t.Fatal(err)
	}
	codec.Use(rotated)
	after := mustSeal(t, codec, someone, []byte("after"))

	if id := binary.BigEndian.Uint32(after[2:]); id != rotated.PrimaryID() || id == old.PrimaryID() {
		t.Errorf("sealed with key %d, want the new primary %d", id, rotated.PrimaryID())
	}
	for want, sealed := range map[string][]byte{"before": before, "after": after} {
		if opened, err := codec.Open(someone, sealed); err != nil || string(opened) != want {
			t.Errorf("opened %q, %v; want %q", opened, err, want)
		}
	}
	codec.Use(old)
	if _, err := codec.Open(someone, after); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("the old keyset opened a payload of the new one: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	codec := newCodec(t)
	keys := codec.ring.Load().keys
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 200 {
				owner := Owner{Tenant: fmt.Sprint(i % 5), ID: fmt.Sprint(worker, i), Part: "input"}
				plain := prompt(100 + 37*i)
				sealed, err := codec.Seal(owner, plain)
				if err != nil {
					t.Error(err)
					return
				}
				if i%50 == 0 {
					codec.Use(keys)
				}
				if opened, err := codec.Open(owner, sealed); err != nil || !bytes.Equal(opened, plain) {
					t.Errorf("opened %d bytes, %v; want %d", len(opened), err, len(plain))
					return
				}
			}
		})
	}
	group.Wait()
}

// TestMemoryPerCodec keeps the compressor from growing back to its default windows.
func TestMemoryPerCodec(t *testing.T) {
	codec := newCodec(t)
	large := prompt(4 << 20)
	before := heapInUse()
	for range 2 * runtime.GOMAXPROCS(0) { // every encoder and decoder has its turn
		if _, err := codec.Open(someone, mustSeal(t, codec, someone, large)); err != nil {
			t.Fatal(err)
		}
	}
	grown := heapInUse() - before
	runtime.KeepAlive(codec)
	runtime.KeepAlive(large)
	t.Logf("%d KiB for %d encoders and decoders", grown>>10, runtime.GOMAXPROCS(0))
	if limit := int64(runtime.GOMAXPROCS(0)) << 20; grown > limit {
		t.Errorf("an idle codec holds %d bytes, want at most %d", grown, limit)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // twice, so that pooled buffers are gone too
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// fuzzCodec has a fixed key, because every fuzzing process makes its own codec.
func fuzzCodec(f *testing.F, maxPlain int) *Codec {
	f.Helper()
	codec, err := New(&Keyset{primary: 1, keys: []key{{ID: 1, Secret: noise(secretBytes)}}}, WithMaxPlainBytes(maxPlain))
	if err != nil {
		f.Fatal(err)
	}
	return codec
}

func FuzzOpen(f *testing.F) {
	codec := fuzzCodec(f, 1<<20)
	text, word := prompt(600), []byte("hello")
	f.Add(mustSeal(f, codec, someone, text))
	f.Add(mustSeal(f, codec, someone, word))
	f.Add([]byte{formatVersion, flagCompressed, 0, 0, 0, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		opened, err := codec.Open(someone, sealed)
		if err != nil && opened != nil {
			t.Errorf("returned %d bytes beside %v", len(opened), err)
		}
		if err == nil && !bytes.Equal(opened, text) && !bytes.Equal(opened, word) {
			t.Errorf("opened a forgery: %q", opened)
		}
	})
}

// FuzzOpenAuthenticBody reaches the decompressor, which a fuzzer without the key never does.
func FuzzOpenAuthenticBody(f *testing.F) {
	const bound = 1 << 20
	codec := fuzzCodec(f, bound)
	f.Add(codec.encoder.EncodeAll(prompt(600), nil))
	f.Add(codec.encoder.EncodeAll(noise(600), nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		opened, err := codec.Open(someone, sealBody(t, codec, body))
		if len(opened) > bound || err != nil && opened != nil {
			t.Errorf("opened %d bytes with error %v", len(opened), err)
		}
	})
}
