package config

import (
	"crypto/sha256"
	"encoding/hex"
)

const redacted = "[redacted]"

// Secret is text that must not be shown. Whatever prints, marshals or logs it sees "[redacted]", or
// nothing when it is empty; only [Secret.Reveal] returns it. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt does not call the methods of unexported fields: it would print a
	// string that lies inside one, and of a pointer it prints the address.
	text *string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the hidden text, for the one place that has to send it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether both hide the same text.
func (s Secret) Equal(t Secret) bool { return s.Reveal() == t.Reveal() }

// String hides the text from fmt.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return "config.Secret(" + s.String() + ")" }

// MarshalText hides the text from JSON, YAML and slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// digest replaces the text where only equality matters, so that the text itself need not be kept.
func (s Secret) digest() keyDigest { return sha256.Sum256([]byte(s.Reveal())) }

func (d keyDigest) secret() Secret { return NewSecret(hex.EncodeToString(d[:])) }
