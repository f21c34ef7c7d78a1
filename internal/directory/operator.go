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
	// KeyPrefix begins every key that is drawn.
	KeyPrefix = "psk_"
	// AdminKeyFile is the file of the admin key that was drawn, in the data directory.
	AdminKeyFile = "admin-key"
	// recognizable is how much of a secret is shown to tell keys apart.
	recognizable = len(KeyPrefix) + 6
)

// NewSecret draws the secret of a key: 260 random bits.
func NewSecret() string { return KeyPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// AdminKey is the key that operators begin with.
type AdminKey struct {
	Secret string
	Drawn  bool // it was drawn just now, and nobody has seen it
	digest store.KeyHash
}

// LoadAdminKey returns the configured admin key, or else the one in the data directory, which is drawn if there is none. The
// directory is this process's own or shared by now, so a key is drawn once for all.
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

// keepAdminKey reads the key in a file, or draws one and keeps it there for its owner alone.
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

// Operators authenticates the callers of the admin API.
type Operators struct {
	Admin     AdminKey
	Directory *Directory
	// Throttle slows down those who guess keys. It is not that of the public API: wrong keys there, where a proxy may give all
	// callers one address, must lock no operator out.
	Throttle *Throttle
}

// Authenticate returns who a secret belongs to: an operator with the role admin for the admin key and for keys with the scope
// admin, or a key without a role. Codes: invalid_key, rate_limited.
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
