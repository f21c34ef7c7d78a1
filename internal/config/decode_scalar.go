package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// scalar fills anything that is written as a single word or text. What does not fit leaves it zero.
func (d *decoder) scalar(into reflect.Value, n ast.Node, at path) {
	switch n.(type) {
	case nil, *ast.NullNode:
		d.fail(at, "has no value: give it one, or remove it")
		return
	}
	switch target := into.Addr().Interface().(type) {
	case *Secret:
		*target = d.secret(n, at)
		return
	case *time.Duration:
		*target = d.duration(n, at)
		return
	}
	switch into.Kind() {
	case reflect.String:
		text, _ := d.text(n, at)
		into.SetString(text)
	case reflect.Int, reflect.Int64:
		into.SetInt(d.integer(n, at))
	case reflect.Float64:
		into.SetFloat(d.float(n, at))
	case reflect.Bool:
		into.SetBool(d.truth(n, at))
	default:
		panic("config: no decoder for " + into.Type().String())
	}
}

func (d *decoder) text(n ast.Node, at path) (string, bool) {
	raw, ok := stringOf(n)
	if !ok {
		hint := ""
		if written := wordOf(n); written != "" {
			hint = fmt.Sprintf(": put it in quotes, as %q", clip(written, 60))
		}
		if at == "listen" || at == "admin_listen" {
			hint = `: write host and port, such as "127.0.0.1:8080"`
		}
		d.fail(at, "must be a string, not %s%s", describe(n), hint)
		return "", false
	}
	return d.expand(raw, at)
}

func (d *decoder) integer(n ast.Node, at path) int64 {
	text, ok := d.number(n, at)
	if !ok {
		return 0
	}
	// Always in tens: YAML readers disagree on whether 010 is eight.
	v, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil {
		d.fail(at, "must be a whole number, such as 64")
		return 0
	}
	return v
}

func (d *decoder) float(n ast.Node, at path) float64 {
	text, ok := d.number(n, at)
	if !ok {
		return 0
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d.fail(at, "must be a number, such as 0.5")
		return 0
	}
	return v
}

func (d *decoder) truth(n ast.Node, at path) bool {
	if b, ok := n.(*ast.BoolNode); ok {
		return b.Value
	}
	if raw, ok := stringOf(n); ok && strings.Contains(raw, "${") {
		if text, ok := d.expand(raw, at); ok && (text == "true" || text == "false") {
			return text == "true"
		}
	}
	d.fail(at, "must be true or false, not %s", describe(n))
	return false
}

// number returns the digits of a number. One from the environment arrives as a string.
func (d *decoder) number(n ast.Node, at path) (string, bool) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return wordOf(n), true
	}
	if raw, ok := stringOf(n); ok && strings.Contains(raw, "${") {
		return d.expand(raw, at)
	}
	d.fail(at, "must be a number, not %s", describe(n))
	return "", false
}

func (d *decoder) duration(n ast.Node, at path) time.Duration {
	const example = `a duration with its unit, such as 30s, 10m or 168h`
	raw, ok := stringOf(n)
	if !ok {
		d.fail(at, "must be %s", example)
		return 0
	}
	text, ok := d.expand(raw, at)
	if !ok {
		return 0
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		if strings.HasSuffix(text, "d") {
			d.fail(at, "must be %s, not %s: write days as hours, 24h for one day", example, quote(raw))
			return 0
		}
		d.fail(at, "must be %s, not %s", example, quote(raw))
		return 0
	}
	return v
}

// maxSecretFileBytes bounds what is read for one secret.
const maxSecretFileBytes = 64 << 10

// secret reads a secret from where the file says it is. No message of it shows what was found or
// written: a literal secret is a mistake, but still a secret.
func (d *decoder) secret(n ast.Node, at path) Secret {
	raw, ok := stringOf(n)
	fromFile := strings.HasPrefix(raw, "file:")
	if !ok || !fromFile && !strings.Contains(raw, "${") {
		d.fail(at, `must not be written here: use "${NAME}" for an environment variable, or "file:/path" for a file`)
		return Secret{}
	}
	text, ok := d.expand(raw, at)
	if !ok {
		return Secret{}
	}
	if fromFile {
		var err error
		if text, err = readSecret(strings.TrimPrefix(text, "file:")); err != nil {
			d.fail(at, "%v", err)
			return Secret{}
		}
	}
	if text == "" {
		d.fail(at, "is empty: %s holds nothing", quote(raw))
	}
	return NewSecret(text)
}

// readSecret returns a file's text without the line break that editors put at its end.
func readSecret(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", errors.New(`must be an absolute path, such as "file:/run/secrets/name"`)
	}
	// Opening something else than a file, such as a pipe, could wait forever.
	if info, err := os.Stat(name); err != nil {
		return "", fmt.Errorf("read secret: %w; create the file, or correct the path", err)
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read secret: %s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFileBytes+1))
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	if len(data) > maxSecretFileBytes {
		return "", fmt.Errorf("read secret: %s is larger than %d bytes", name, maxSecretFileBytes)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces every ${NAME}. What a variable holds is not expanded again.
func (d *decoder) expand(raw string, at path) (string, bool) {
	var b strings.Builder
	for rest := raw; ; {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed || !variableName.MatchString(name) {
			d.fail(at, "${ and } must hold the name of an environment variable and nothing else, as in ${NAME}; a default such as ${NAME:-value} is not supported")
			return "", false
		}
		value, ok := d.env(name)
		if !ok {
			d.fail(at, "the environment variable %s is not set; set it where Penstock starts", clip(name, 60))
			return "", false
		}
		b.WriteString(value)
		rest = tail
	}
}

// stringOf returns the text of a node that YAML reads as a string.
func stringOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// wordOf returns how a number or a boolean is written, "" for any other node.
func wordOf(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	return ""
}
