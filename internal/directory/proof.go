package directory

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"penstock/internal/config"
	"penstock/internal/store"
)

// A client of the admin API asks a server to prove that it knows a key before it sends the key: another program may
// listen at the address. The challenge names the key by the first bytes of its digest, which reveal nothing that helps
// to guess a secret of 128 random bits, or to compute the proof.
const (
	// HeaderChallenge is the header of a call to /healthz that asks for a proof.
	HeaderChallenge = "Penstock-Challenge"
	// HeaderProof is the header of the answer.
	HeaderProof = "Penstock-Proof"

	challengeKeyBytes   = 8
	challengeNonceBytes = 32
)

// Challenge asks for a proof of one key.
type Challenge struct {
	digest store.KeyHash
	nonce  [challengeNonceBytes]byte
}

// NewChallenge returns a fresh challenge for a key; ok is false for a text that cannot be a key.
func NewChallenge(secret string) (c Challenge, ok bool) {
	c.digest, ok = config.Digest(secret)
	_, _ = rand.Read(c.nonce[:]) // it never fails
	return c, ok
}

// String is the challenge as the header carries it.
func (c Challenge) String() string {
	return hex.EncodeToString(c.digest[:challengeKeyBytes]) + "." + hex.EncodeToString(c.nonce[:])
}

// Met reports whether a proof shows that the server knows the key.
func (c Challenge) Met(proof string) bool {
	return hmac.Equal([]byte(proof), []byte(prove(c.digest, c.nonce[:])))
}

// prove is what only a holder of the digest can compute for a nonce.
func prove(digest store.KeyHash, nonce []byte) string {
	mac := hmac.New(sha256.New, digest[:])
	mac.Write([]byte("penstock admin proof\n"))
	mac.Write(nonce)
	return hex.EncodeToString(mac.Sum(nil))
}

// Prove answers a challenge, with "" if the server does not know the key or the challenge is malformed. It works without
// a key of the caller: a proof can only be checked by a caller who has the key.
func (o *Operators) Prove(challenge string) string {
	id, nonce, _ := strings.Cut(challenge, ".")
	prefix, err := hex.DecodeString(id)
	if err != nil || len(prefix) != challengeKeyBytes {
		return ""
	}
	given, err := hex.DecodeString(nonce)
	if err != nil || len(given) != challengeNonceBytes {
		return ""
	}
	digest, ok := o.known([challengeKeyBytes]byte(prefix))
	if !ok {
		return ""
	}
	return prove(digest, given)
}

// known is the digest of the key that begins with these bytes.
func (o *Operators) known(prefix [challengeKeyBytes]byte) (store.KeyHash, bool) {
	if prefix == [challengeKeyBytes]byte(o.Admin.digest[:challengeKeyBytes]) {
		return o.Admin.digest, true
	}
	if o.Directory == nil {
		return store.KeyHash{}, false
	}
	if digest, ok := o.Directory.Config.Current().DigestOf(prefix); ok {
		return digest, true
	}
	var first store.KeyHash
	copy(first[:], prefix[:])
	if k := o.Directory.known.Load().keys[indexOf(first)]; k != nil {
		return k.Hash, true
	}
	return store.KeyHash{}, false
}
