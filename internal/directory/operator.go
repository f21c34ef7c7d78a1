package directory

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
	"penstock/internal/store"
)

const (
	// KeyPrefix is the prefix of every generated key.
	KeyPrefix = "psk_"
	// AdminKeyFile is the file of the generated admin key, in the data directory.
	AdminKeyFile = "admin-key"
	// recognizable is how many characters of a secret are shown, so that operators can recognise a key.
	recognizable = len(KeyPrefix) + 6
)

// NewSecret generates the secret of a key: 260 random bits.
func NewSecret() string { return KeyPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// AdminKey is the first key of operators.
type AdminKey struct {
	Secret string
	Drawn  bool // it was generated at this start, and must be shown once
	digest store.KeyHash
}

// LoadAdminKey returns the configured admin key, or else the key in the data directory, which is generated if there is
// none. All processes that share the directory use the same key.
func LoadAdminKey(configured, dir string) (AdminKey, error) {
	k := AdminKey{Secret: configured}
	if configured == "" {
		var err error
		if k.Secret, k.Drawn, err = keepAdminKey(filepath.Join(dir, AdminKeyFile)); err != nil {
			return k, err
		}
	}
	if problem := config.SecretProblem(k.Secret); problem != "" {
		return k, fmt.Errorf("the admin key in the file %s %s, or remove the file to have one drawn", AdminKeyFile, problem)
	}
	k.digest, _ = config.Digest(k.Secret)
	return k, nil
}

// keepAdminKey reads the key in a file, or generates a key and writes it to the file, readable only by its owner.
func keepAdminKey(path string) (secret string, drawn bool, err error) {
	kept, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(kept)), false, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", false, fmt.Errorf("reading the admin key: %w", err)
	}
	secret = NewSecret()
	draft := path + "." + strings.ToLower(rand.Text()[:8])
	defer os.Remove(draft)
	if err := os.WriteFile(draft, []byte(secret+"\n"), 0o600); err != nil {
		return "", false, fmt.Errorf("keeping the admin key: %w", err)
	}
	// Processes that share the directory may all generate a key: a hard link lets one of them win, with a complete
	// file.
	err = os.Link(draft, path)
	if errors.Is(err, os.ErrExist) {
		return keepAdminKey(path)
	}
	if err != nil {
		return "", false, fmt.Errorf("keeping the admin key: %w", err)
	}
	return secret, true, nil
}

// Operators authenticates the callers of the admin API.
type Operators struct {
	Admin     AdminKey
	Directory *Directory
	// Throttle slows down addresses that guess keys. It is separate from that of the public API, where a proxy may give
	// all callers one address: wrong keys there must not lock out operators.
	Throttle *Throttle
}

// Authenticate returns the principal of a secret: an operator with the role admin for the admin key and for keys with
// the scope admin, or a key without a role. Codes: invalid_key, rate_limited.
func (o *Operators) Authenticate(secret, address string) (penstock.Principal, error) {
	if secret == "" {
		return penstock.Principal{}, penstock.Errorf(penstock.CodeInvalidKey, "No admin key was given; send it as \"Authorization: Bearer …\". "+
			"It is admin.key of the configuration, or else in the file %s of the data directory.", AdminKeyFile)
	}
	pass, err := o.Throttle.Admit(address, secret)
	if err != nil {
		return penstock.Principal{}, err
	}
	if digest, ok := config.Digest(secret); ok && subtle.ConstantTimeCompare(digest[:], o.Admin.digest[:]) == 1 {
		pass.Good()
		return penstock.Principal{Kind: penstock.PrincipalOperator, Roles: []penstock.Role{penstock.RoleAdmin}}, nil
	}
	p, err := o.Directory.Principal(secret)
	if err != nil {
		pass.Wrong()
		return penstock.Principal{}, err
	}
	pass.Good()
	if p.May(penstock.ScopeAdmin) {
		p.Kind, p.Roles = penstock.PrincipalOperator, []penstock.Role{penstock.RoleAdmin}
	}
	return p, nil
}

// Admits reports whether the key of a digest is accepted now, with the role admin.
func (o *Operators) Admits(digest store.KeyHash) bool {
	if subtle.ConstantTimeCompare(digest[:], o.Admin.digest[:]) == 1 {
		return true
	}
	p, _, err := o.Directory.lookUp(digest)
	return err == nil && p.May(penstock.ScopeAdmin)
}
