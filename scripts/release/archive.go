package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// writeArchive packs the program with its licences and its service file. The order and the metadata are fixed.
func (r *release) writeArchive(ctx context.Context, path, program string, info *debug.BuildInfo) error {
	licences, err := r.licences(ctx, info)
	if err != nil {
		return err
	}
	dir := strings.TrimSuffix(filepath.Base(path), ".tar.gz")
	files := []archived{{name: "THIRD_PARTY_LICENCES.txt", mode: 0o644, text: licences}}
	for _, from := range slices.Sorted(maps.Keys(extras)) {
		text, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return err
		}
		files = append(files, archived{name: extras[from], mode: 0o644, text: text})
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	files = append(files, archived{name: "penstock", mode: 0o755, text: text})
	slices.SortFunc(files, func(a, b archived) int { return strings.Compare(a.name, b.name) })

	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pack(file, packing{dir: dir, time: r.time}, files), file.Close())
}

type archived struct {
	name string
	mode int64
	text []byte
}

// packing is what all files of an archive share.
type packing struct {
	dir  string
	time time.Time
}

func pack(w io.Writer, p packing, files []archived) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has no name and no time
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: p.dir + "/" + f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: p.time, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

// licenceName matches the files that modules keep their licences and notices in.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licences are the texts that the licences of the program's modules ask to be passed on.
func (r *release) licences(ctx context.Context, info *debug.BuildInfo) ([]byte, error) {
	var all bytes.Buffer
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		dir, err := r.command(ctx, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("the licence of %s: %w", m.Path, err)
		}
		found := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenceName.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&all, "== %s %s: %s\n\n%s\n\n", m.Path, m.Version, e.Name(), strings.TrimSpace(string(text)))
		}
		if !found {
			return nil, fmt.Errorf("%s %s has no licence file", m.Path, m.Version)
		}
	}
	return all.Bytes(), nil
}
