// Package config turns an operator's YAML file into the immutable snapshot that the rest of
// Penstock reads.
//
// It owns the file's vocabulary ([File]), its defaults, its bounds, how secrets enter, and the hash of a configuration.
// It does not open the database, call a provider or listen anywhere, and it does not store snapshots: [Snapshot.Body]
// is for the packages that do.
//
// Invariants:
//   - An option that has no effect is refused, never accepted and ignored.
//   - Every problem of a file is reported at once, each with its path and its place.
//   - A secret comes from the environment or from a file, never from the YAML itself, and no
//     printer, marshaller or logger shows it.
//   - Two files that resolve alike have the same hash: the order of keys, spelled-out defaults,
//     secrets and the settings of one process do not change it.
//
// A [Snapshot] is never written to after it was made, so any number of goroutines may read it.
// [Live] swaps one for another without making readers wait.
package config

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"penstock"
)

// Env looks up an environment variable, as os.LookupEnv does.
type Env func(name string) (value string, found bool)

// EnvPrefix begins the variables that set keys of the file (see [File.Override]).
const EnvPrefix = "PENSTOCK_"

// Pretend is an environment in which every variable has a value, some a given one, to check files before their secrets
// are set. Variables that set keys of the file have none.
func Pretend(given map[string]string) Env {
	return func(name string) (string, bool) {
		if strings.HasPrefix(name, EnvPrefix) {
			return "", false
		}
		return cmp.Or(given[name], "psk_not_set_7gq2xk9dmw4ztfv8hsb3rnj6cp"), true
	}
}

// Snapshot is one valid configuration. All of it is read-only, the maps and slices included.
type Snapshot struct {
	// Hash names the configuration: "cfg_" and twelve hex digits over Body.
	Hash string
	// Body is the canonical JSON of everything that decides how an inference resolves. It holds no
	// secret and nothing of a single process.
	Body []byte

	Targets   map[string]*penstock.Target // every PriceVersion begins with Hash
	Models    map[string]penstock.Model
	Tenants   map[penstock.TenantID]penstock.Tenant
	Providers map[string]ProviderConfig
	// FallbackModel answers for model names that are not configured; "" for none.
	FallbackModel string
	// MediaHosts are those that targets may fetch from for tenants that do not say; nil for the default.
	MediaHosts []string
	// Retention holds for tenants that are not configured; [Snapshot.RetentionOf] knows for any. It
	// decides nothing about an inference, so the hash does not cover it.
	Retention penstock.Retention

	// StoreResponses says which responses are stored: [StoreByDefault] or [StoreOnRequest]. It decides nothing about an inference,
	// so the hash does not cover it.
	StoreResponses string

	// Playground bounds the calls of the playground; [Snapshot.PlaygroundDaily] knows the budget of a tenant's people. It decides
	// nothing about an inference, so the hash does not cover it.
	Playground Playground

	// Queue and Lanes bound and weigh what waits. They decide nothing about an inference, so the hash does
	// not cover them; [Snapshot.QueueLimits] knows the bounds of a tenant.
	Queue Queue
	Lanes Lanes

	// ClientTokens and ClientCertificates say who may call without a key. They decide nothing about an inference, so the
	// hash does not cover them.
	ClientTokens       map[string]TokenIssuer
	ClientCertificates ClientCertificates

	// Process holds the settings of this process, with defaults filled in.
	Process Process

	candidates map[string][]*penstock.Target // by model
	prefixes   []string                      // of models whose names end with a star, the longest first
	facts      facts                         // what targets took from the catalogue
	callers    map[uint64][]keyed            // by the first bytes of the digest of the secret
	places     places                        // of what Inspect looks at
	blank      bool                          // it was read from a file without any key
	file       File                          // the effective file, for YAML and Diff; its key secrets are digests
}

// NewSnapshot validates a configuration made in memory exactly as if it had been read from a
// file, except that its secrets may come from anywhere. Zero fields take their defaults. The error
// is a [Problems].
func NewSnapshot(file File) (*Snapshot, error) {
	return build(draft{file: file})
}

// Load reads and validates the file at path. When the file itself is at fault, the error wraps
// [Problems].
func Load(path string, env Env) (*Snapshot, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, env)
}

// readFile reads a configuration file, and not much more than one may have.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	return data, nil
}

// Parse validates the text of a file, which name stands for in errors. It takes defaults, then the
// file, then the environment (see [File.Override]). The error wraps [Problems].
func Parse(name string, data []byte, env Env) (*Snapshot, error) {
	d := decode(data, env)
	d.override(env)
	s, err := build(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// draft is a file on its way to becoming a snapshot, with what its reader learned about it.
type draft struct {
	file       File
	places     places    // where each path was written; nil for a file made in memory
	overridden overrides // which paths the environment decided
	problems   Problems  // what the reader could not make sense of
	fatal      bool      // the text could not be read at all: nothing else is worth checking
}

func build(d draft) (*Snapshot, error) {
	if d.fatal {
		return nil, d.problems
	}
	file := d.file.clone()
	known := openCatalogue(file.Catalogue, &d)
	file.fillDefaults(d.places, known)
	if problems := check(&file, d, known); len(problems) > 0 {
		return nil, problems
	}
	s := newSnapshot(file, known)
	s.places, s.blank = d.places.only(file.inspected()), d.places != nil && len(d.places) == 0
	return s, nil
}

// Model returns the model that answers for name. A name that is not configured finds the model with the longest prefix
// of it, then the fallback model: a model whose Name is not the name that was asked for is one of these.
func (s *Snapshot) Model(name string) (penstock.Model, bool) {
	m, ok := s.Models[s.answers(name)]
	return m, ok
}

// answers is the name of the model that answers for a name, or a name that is not configured.
func (s *Snapshot) answers(name string) string {
	if _, ok := s.Models[name]; ok {
		return name
	}
	for _, prefix := range s.prefixes {
		if strings.HasPrefix(name, prefix) {
			return prefix + anySuffix
		}
	}
	return s.FallbackModel
}

// anySuffix ends the name of a model that answers for all names with the same beginning.
const anySuffix = "*"

// IsPrefix reports whether a model answers for all names that begin like its own, so that its own name cannot be called.
func IsPrefix(model string) bool { return strings.HasSuffix(model, anySuffix) }

// Lists reports whether a model is in the list of models. A prefix cannot be called, and the own name of a catch-all means nothing to an upstream: a
// catch-all is the fallback model whose targets forward the requested name.
func (s *Snapshot) Lists(model string) bool {
	if IsPrefix(model) || model != s.FallbackModel {
		return !IsPrefix(model)
	}
	return slices.ContainsFunc(s.candidates[model], func(t *penstock.Target) bool { return t.UpstreamModel != penstock.UpstreamModelAsAsked })
}

// Names are those of the model that answers for a name. Where none does, or none is asked for, there is no answering one.
func (s *Snapshot) Names(asked string) penstock.ModelNames {
	names := penstock.ModelNames{Asked: asked}
	if asked != "" {
		names.Answers = s.answers(asked)
	}
	return names
}

// TargetsOf returns the targets of a configured model, in its order.
func (s *Snapshot) TargetsOf(model string) []*penstock.Target { return s.candidates[model] }

// OutputTokens bounds the answers of a model in a dialect that demands a bound: the least that one of its targets generates at the
// most, so that every target accepts it.
func (s *Snapshot) OutputTokens(model string) (least int64) {
	const usual = 4096
	named, _ := s.Model(model) // admission refuses an unknown model
	for _, t := range s.TargetsOf(named.Name) {
		if t.MaxOutputTokens > 0 && (least == 0 || t.MaxOutputTokens < least) {
			least = t.MaxOutputTokens
		}
	}
	if least == 0 {
		return usual
	}
	return least
}

// RetentionOf returns how long a tenant's work is kept. One that is not configured any more may have left
// work behind: the global default applies to it.
func (s *Snapshot) RetentionOf(id penstock.TenantID) penstock.Retention {
	if t, ok := s.Tenants[id]; ok {
		return t.Retention
	}
	return s.Retention
}

// keyDigest is the SHA-256 of a key's secret: all that is kept of it.
type keyDigest [sha256.Size]byte

// keyed is a key of the file.
type keyed struct {
	digest keyDigest
	caller penstock.Principal
}

// Digest is the SHA-256 of a presented secret, and whether it can be one at all.
//
// Keys need no slow hash: unlike passwords they are long and random, and this runs on every request.
func Digest(secret string) (digest [sha256.Size]byte, ok bool) {
	// The caller knows the length of its own guess: refusing it early reveals nothing, and bounds the work.
	if len(secret) < MinKeySecretLength || len(secret) > MaxKeySecretLength {
		return digest, false
	}
	// Copying to the stack spares the allocation of a conversion from string.
	var buf [MaxKeySecretLength]byte
	n := copy(buf[:], secret)
	return sha256.Sum256(buf[:n]), true
}

// Principal returns who a presented secret belongs to.
func (s *Snapshot) Principal(secret string) (penstock.Principal, bool) {
	digest, ok := Digest(secret)
	if !ok {
		return penstock.Principal{}, false
	}
	return s.PrincipalOf(digest)
}

// PrincipalOf returns who the secret with a digest belongs to. The first bytes of the digest find candidates;
// the whole of it is compared in constant time.
func (s *Snapshot) PrincipalOf(digest [sha256.Size]byte) (penstock.Principal, bool) {
	alike := s.callers[binary.LittleEndian.Uint64(digest[:])]
	for i := range alike {
		k := &alike[i]
		if subtle.ConstantTimeCompare(k.digest[:], digest[:]) == 1 {
			return k.caller, true
		}
	}
	return penstock.Principal{}, false
}

// DigestOf returns the digest of the key of the file whose digest begins with these bytes.
func (s *Snapshot) DigestOf(prefix [8]byte) (digest [sha256.Size]byte, ok bool) {
	alike := s.callers[binary.LittleEndian.Uint64(prefix[:])]
	if len(alike) == 0 {
		return digest, false
	}
	return alike[0].digest, true
}

// FileKey is a key of the file without its secret.
type FileKey struct {
	Name   string
	Scopes []penstock.Scope
	Limits penstock.Limits
	Budget Budget
}

// KeysOf lists the keys that the file gives a tenant, by name.
func (s *Snapshot) KeysOf(id penstock.TenantID) []FileKey {
	var keys []FileKey
	for _, k := range s.file.Tenants[string(id)].Keys {
		keys = append(keys, FileKey{k.Name, k.Scopes, k.Limits.limits(), k.Budget})
	}
	return keys
}
