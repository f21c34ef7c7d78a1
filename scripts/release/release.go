package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platform is a system that Penstock is released for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

var platforms = []platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}

// extras are the files of an archive besides the program, by their place in the repository.
var extras = map[string]string{
	"LICENSE":                         "LICENSE",
	"README.md":                       "README.md",
	"deploy/systemd/penstock.service": "penstock.service",
	"deploy/systemd/penstock.yaml":    "penstock.yaml",
}

// release is one set of archives.
type release struct {
	version string
	pkg     string // the package of the program
	root    string // of the repository
	out     string
	dirty   bool

	time time.Time // of the commit: the time of everything in the archives
}

func (r *release) run(ctx context.Context, wanted []platform) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, p := range wanted {
		names, err := r.build(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
		}
		fmt.Println(strings.Join(names, " "))
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), sums.Bytes(), 0o644)
}

// prepare checks the source and the directory of the result.
func (r *release) prepare(ctx context.Context) error {
	changed, err := r.command(ctx, nil, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" && !r.dirty {
		return fmt.Errorf("the source differs from the commit, so the result could not be reproduced; commit these changes, or use -dirty:\n%s", changed)
	}
	seconds, err := r.command(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of the commit: %w", err)
	}
	r.time = time.Unix(at, 0).UTC()
	if old, err := os.ReadDir(r.out); err == nil && len(old) > 0 {
		return fmt.Errorf("%s has files already; remove it, or choose another directory with -out", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	r.out, err = filepath.Abs(r.out)
	return err
}

// build writes the files of one platform and returns their names.
func (r *release) build(ctx context.Context, p platform) ([]string, error) {
	dir, err := os.MkdirTemp("", "penstock-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "penstock")
	// GOFLAGS could change the program; GOAMD64 and GOARM64 choose the oldest processors, the default.
	env := []string{"GOOS=" + p.os, "GOARCH=" + p.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}
	if _, err := r.command(ctx, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", program, r.pkg); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the modules of the program: %w", err)
	}
	base := "penstock_" + r.version + "_" + p.String()
	archive, bill := base+".tar.gz", base+".cdx.json"
	return []string{archive, bill}, errors.Join(
		r.writeArchive(ctx, filepath.Join(r.out, archive), program, info),
		r.writeBill(filepath.Join(r.out, bill), sha256.Sum256(text), info))
}

// command runs a program in the repository and returns its output, without the last newline.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
