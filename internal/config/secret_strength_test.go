package config

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// What a generator draws is taken, whatever it looks like.
func TestRandomSecretsAreTaken(t *testing.T) {
	t.Parallel()
	// The sample is fixed: about one random text in a million has no digits and reads like words, and is refused.
	source := rand.NewChaCha8([32]byte{1})
	bytes := func(n int) []byte {
		b := make([]byte, n)
		source.Read(b)
		return b
	}
	text := func() string { return base32.StdEncoding.EncodeToString(bytes(20))[:26] } // as crypto/rand.Text
	for name, draw := range map[string]func() string{
		"openssl rand -hex 16":    func() string { return hex.EncodeToString(bytes(16)) },
		"openssl rand -base64 24": func() string { return base64.StdEncoding.EncodeToString(bytes(24)) },
		"base64url":               func() string { return base64.RawURLEncoding.EncodeToString(bytes(24)) },
		"the development server":  func() string { return "psk_dev_" + strings.ToLower(text()) },
		"the admin API":           func() string { return "psk_" + strings.ToLower(text()+text()) },
		"capitals":                func() string { return "sk-live-" + text() },
	} {
		t.Run(name, func(t *testing.T) {
			source.Seed([32]byte{1}) // whatever the order of the cases
			for range 2_000 {
				if s := draw(); SecretProblem(s) != "" {
					t.Fatalf("%s %s", s, SecretProblem(s))
				}
			}
		})
	}
}

func TestWeakSecretsAreRefused(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"short":                                                      "too short",
		"psk_e2e_0123456789abcdef":                                   "too short",
		"psk_live_a1b2c3d4e5f6g7h8":                                  "too short",
		"psk_production_changeme":                                    "too short",
		"9f86d081884c7d659a2feaa0c55ad01":                            "too short", // a digit less than 32
		"correct-horse-battery-staple-and-more":                      "too short", // words
		"nobodywillevermanagetoguessthislongthing":                   "too short",
		"12345678901234567890123456789012345678":                     "too short", // 3.3 bits each
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "easy to guess",
		"0123456789abcdef0123456789abcdef":                           "easy to guess",
		"deadbeefdeadbeefdeadbeefdeadbeef":                           "easy to guess",
		"x7Kx7Kx7Kx7Kx7Kx7Kx7Kx7Kx7Kx7K":                             "easy to guess",
		"ThisIsMyVerySecretPassword1234567890":                       "easy to guess",
		"PenstockAdminPasswordProduction2024!!":                      "easy to guess",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":       "easy to guess",
		"5f0c6b1e-3d1a-4a57-9d5c-2b7e8a9f1c3d":                       "UUID",
		"psk_5f0c6b1e-3d1a-4a57-9d5c-2b7e8a9f1c3d":                   "UUID",
		"gJ8#kd92!mVq0Zx7\nLp4sT1w":                                  "visible",
		strings.Repeat("Zx7", 100):                                   "at most",
		"":                                                           "too short",
	} {
		if got := SecretProblem(secret); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", secret, got, want)
		}
	}
}

// A complaint goes to logs and terminals: it says how to do better, and nothing of the secret.
func TestComplaintsHideTheSecret(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"hunter2", "x7Kx7Kx7Kx7Kx7Kx7Kx7Kx7Kx7Kx7K", "5f0c6b1e-3d1a-4a57-9d5c-2b7e8a9f1c3d"} {
		got := SecretProblem(secret)
		if strings.Contains(got, secret) || strings.Contains(got, secret[:4]) || !strings.Contains(got, "openssl rand -base64 24") {
			t.Errorf("%s: %s", secret, got)
		}
	}
}
