package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
)

// YAML renders the effective configuration, defaults included and secrets redacted.
func (s *Snapshot) YAML() ([]byte, error) {
	text, err := yaml.MarshalWithOptions(s.file, yaml.IndentSequence(true),
		yaml.CustomMarshaler(func(d time.Duration) ([]byte, error) { return []byte(durationText(d)), nil }))
	if err != nil {
		return nil, fmt.Errorf("render config: %w", err)
	}
	return text, nil
}

// Change is one difference between two configurations.
type Change struct {
	Path string
	// What happened to it: added, removed, changed, or the old and the new value. Secrets are never
	// shown.
	What string
	// AtRestart is set for what a running process does not take over: its own settings.
	AtRestart bool
}

// String renders the change on one line.
func (c Change) String() string {
	if c.AtRestart {
		return c.Path + ": " + c.What + " (takes effect at the next start)"
	}
	return c.Path + ": " + c.What
}

// Diff lists what differs between two snapshots, by path.
func Diff(from, to *Snapshot) []Change {
	var d differ
	d.compare(reflect.ValueOf(from.file), reflect.ValueOf(to.file), "")
	slices.SortFunc(d.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return d.changes
}

// differ compares two files value by value.
type differ struct {
	changes   []Change
	atRestart bool // inside Process
}

func (d *differ) add(at path, format string, args ...any) {
	d.changes = append(d.changes, Change{Path: string(at), What: fmt.Sprintf(format, args...), AtRestart: d.atRestart})
}

func (d *differ) compare(a, b reflect.Value, at path) {
	switch old := a.Interface().(type) {
	case Secret:
		if !old.Equal(b.Interface().(Secret)) {
			d.add(at, "changed")
		}
		return
	case []KeyConfig:
		// By name rather than by position, which changes when another key is added.
		d.table(reflect.ValueOf(keysByName(old)), reflect.ValueOf(keysByName(b.Interface().([]KeyConfig))), at)
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		d.fields(a, b, at)
	case reflect.Map:
		d.table(a, b, at)
	default:
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			d.add(at, "%s → %s", leaf(a), leaf(b))
		}
	}
}

func (d *differ) fields(a, b reflect.Value, at path) {
	for i := range a.NumField() {
		switch f := a.Type().Field(i); {
		case f.Anonymous:
			was := d.atRestart
			d.atRestart = was || f.Type == reflect.TypeFor[Process]()
			d.compare(a.Field(i), b.Field(i), at)
			d.atRestart = was
		case f.IsExported():
			d.compare(a.Field(i), b.Field(i), at.key(yamlName(f)))
		}
	}
}

func (d *differ) table(a, b reflect.Value, at path) {
	for _, key := range a.MapKeys() {
		if at := at.key(key.String()); b.MapIndex(key).IsValid() {
			d.compare(a.MapIndex(key), b.MapIndex(key), at)
		} else {
			d.add(at, "removed")
		}
	}
	for _, key := range b.MapKeys() {
		if !a.MapIndex(key).IsValid() {
			d.add(at.key(key.String()), "added")
		}
	}
}

func keysByName(keys []KeyConfig) map[string]KeyConfig {
	byName := map[string]KeyConfig{}
	for _, k := range keys {
		byName[k.Name] = k
	}
	return byName
}

func leaf(v reflect.Value) string {
	if s := show(v.Interface()); s != "" {
		return clip(s, 60)
	}
	return "nothing"
}
