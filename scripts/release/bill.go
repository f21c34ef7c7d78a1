package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// bill is a bill of materials in the format CycloneDX 1.6.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Purl       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// writeBill lists the modules that the compiler wrote into the program: those that are in it, not all of go.mod.
func (r *release) writeBill(path string, sum [sha256.Size]byte, info *debug.BuildInfo) error {
	b, err := r.bill(sum, info)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (r *release) bill(sum [sha256.Size]byte, info *debug.BuildInfo) (bill, error) {
	program := component{
		Ref: "penstock", Type: "application", Name: "penstock", Version: r.version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
	}
	standard := strings.TrimPrefix(info.GoVersion, "go")
	parts := []component{{Ref: "pkg:golang/std@" + standard, Type: "library", Name: "std", Version: standard, Purl: "pkg:golang/std@" + standard}}
	for _, m := range info.Deps {
		part, err := newPart(m)
		if err != nil {
			return bill{}, err
		}
		parts = append(parts, part)
	}
	uses := dependency{Ref: program.Ref}
	for _, p := range parts {
		uses.DependsOn = append(uses.DependsOn, p.Ref)
	}
	return bill{
		Format: "CycloneDX", Spec: "1.6", Serial: serial(sum), Version: 1,
		Metadata:   metadata{Timestamp: r.time.Format(time.RFC3339), Component: program},
		Components: parts, Dependencies: []dependency{uses},
	}, nil
}

func newPart(m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + (&url.URL{Path: m.Path}).EscapedPath() + "@" + url.QueryEscape(m.Version)
	c := component{Ref: purl, Type: "library", Name: m.Path, Version: m.Version, Purl: purl}
	if m.Sum == "" {
		return c, nil
	}
	// "h1:" is the base64 of a SHA-256 over the module's files, as in go.sum.
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(raw) != sha256.Size {
		return component{}, fmt.Errorf("%s has the checksum %q, which is not of the kind h1", m.Path, m.Sum)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	return c, nil
}

// serial is a UUID that follows from the program: another build of the same commit gets the same.
func serial(sum [sha256.Size]byte) string {
	id := sum[:16:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8, the variant of RFC 9562
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
