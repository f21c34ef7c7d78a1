package app

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"penstock"
	"penstock/internal/config"
)

// AdminKeyFile keeps the admin key that was drawn, in the data directory.
const AdminKeyFile = "admin-key"

// loadAdminKey finds the key that operators begin with: the configured one, the one that was drawn before, or a
// new one. The data directory is ours or shared by now, so a key is drawn once for all.
func (a *app) loadAdminKey() error {
	secret := a.Config.Process.Admin.Key.Reveal()
	if secret == "" {
		kept, drawn, err := keepAdminKey(filepath.Join(a.Config.Process.Data, AdminKeyFile))
		if err != nil {
			return err
		}
		if secret = kept; drawn && a.NewAdminKey != nil {
			a.NewAdminKey(secret)
		}
	}
	if problem := config.SecretProblem(secret); problem != "" {
		return fmt.Errorf("the admin key in the file %s %s, or remove the file to have one drawn", AdminKeyFile, problem)
	}
	a.adminKey, _ = config.Digest(secret)
	return nil
}

// keepAdminKey reads the key in a file, or draws one and keeps it there for its owner alone.
func keepAdminKey(path string) (secret string, drawn bool, err error) {
	kept, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(kept)), false, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", false, fmt.Errorf("reading the admin key: %w", err)
	}
	secret = newSecret()
	draft := path + "." + strings.ToLower(rand.Text()[:8])
	defer os.Remove(draft)
	if err := os.WriteFile(draft, []byte(secret+"\n"), 0o600); err != nil {
		return "", false, fmt.Errorf("keeping the admin key: %w", err)
	}
	// Processes that share the directory may all be drawing: linking lets one of them win, with a whole file.
	err = os.Link(draft, path)
	if errors.Is(err, os.ErrExist) {
		return keepAdminKey(path)
	}
	if err != nil {
		return "", false, fmt.Errorf("keeping the admin key: %w", err)
	}
	return secret, true, nil
}

// newSecret draws the secret of a key: 260 random bits.
func newSecret() string { return keyPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// recognizable is how much of a secret is shown to tell keys apart.
const recognizable = len(keyPrefix) + 6

// isAdminKey compares in constant time.
func (a *app) isAdminKey(secret string) bool {
	digest, ok := config.Digest(secret)
	return ok && subtle.ConstantTimeCompare(digest[:], a.adminKey[:]) == 1
}

// operator is who calls the admin door.
type operator struct {
	key string // tenant and name of a key with the scope admin; "" for the key that operators begin with
}

// operatorOf finds out who calls the admin door. Codes: invalid_key, scope_missing, rate_limited.
func (a *app) operatorOf(secret, address string) (operator, error) {
	if secret == "" {
		return operator{}, penstock.Errorf(penstock.CodeInvalidKey, "No admin key was given; send it as \"Authorization: Bearer …\". "+
			"It is admin.key of the configuration, or else in the file %s of the data directory.", AdminKeyFile)
	}
	pass, err := a.adminStrangers.Admit(address, secret)
	if err != nil {
		return operator{}, err
	}
	if a.isAdminKey(secret) {
		pass.Good()
		return operator{}, nil
	}
	caller, err := a.directory.Caller(secret)
	if err != nil {
		pass.Wrong()
		return operator{}, err
	}
	pass.Good()
	return operator{key: string(caller.Tenant.ID) + "/" + caller.Key}, requireAdmin(caller)
}
