package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

const configurationPage = "../../docs/reference/configuration.md"

// TestConfigurationReference keeps the page of the file's keys true: -update writes it from the types and their comments.
func TestConfigurationReference(t *testing.T) {
	t.Parallel()
	p := &referencePage{t: t, comments: fieldComments(t)}
	p.text.WriteString("# Configuration\n\n<!-- Made from the code by `make docs`. Do not edit. -->\n\n" +
		"`penstock serve --config penstock.yaml` reads these keys. Every key is optional unless its text says *required*. Any string may contain `${NAME}`, " +
		"which the environment replaces. A secret is `${NAME}` or `file:/path`. Durations look like `90s` or `24h`. Unknown keys are errors. " +
		"`penstock config schema` prints a JSON Schema for editors. " +
		"[Start a production server](../how-to/start-a-server.md) has a complete example.\n")
	p.section("", reflect.TypeFor[File]())
	got, err := os.ReadFile(configurationPage)
	switch {
	case *update:
		if err := os.WriteFile(configurationPage, []byte(p.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	case string(got) != p.text.String():
		t.Errorf("%s is stale; run: make docs", configurationPage)
	}
}

// fieldComments reads the comments of all fields, as "Type.Field".
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range decl.Specs {
				typ, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				comments[typ.Name.Name] = decl.Doc.Text()
				fields, ok := typ.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, f := range fields.Fields.List {
					for _, id := range f.Names {
						comments[typ.Name.Name+"."+id.Name] = f.Doc.Text() + f.Comment.Text()
					}
				}
			}
			return true
		})
	}
	return comments
}

type referencePage struct {
	t        *testing.T
	comments map[string]string
	text     strings.Builder
}

// nested is a struct below a key, for a section of its own.
type nested struct {
	key string
	typ reflect.Type
}

// section writes a struct's own keys as a table, and the structs below it as further sections.
func (p *referencePage) section(at string, typ reflect.Type) {
	title, note := "Top level", ""
	if at != "" {
		title = "`" + at + "`"
		note = p.prose(typ, p.comments[typ.Name()])
	}
	fmt.Fprintf(&p.text, "\n## %s\n\n", title)
	if note != "" {
		fmt.Fprintf(&p.text, "%s\n\n", note)
	}
	rows, below := p.fields(at, typ)
	if len(rows) > 0 {
		fmt.Fprintf(&p.text, "| key | type | meaning |\n|---|---|---|\n%s", strings.Join(rows, ""))
	}
	for _, b := range below {
		p.section(b.key, b.typ)
	}
}

func (p *referencePage) fields(at string, typ reflect.Type) (rows []string, below []nested) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Anonymous {
			inner, deeper := p.fields(at, f.Type)
			rows, below = append(rows, inner...), append(below, deeper...)
			continue
		}
		name := yamlName(f)
		if name == "" || f.Tag.Get("refuse") != "" {
			continue
		}
		comment := p.comments[typ.Name()+"."+f.Name]
		key := strings.TrimPrefix(at+"."+name, ".")
		inner, suffix := structBelow(f.Type)
		if inner != nil {
			below = append(below, nested{key + suffix, inner})
			if comment == "" {
				comment = p.comments[inner.Name()]
			}
		} else if comment == "" {
			p.t.Errorf("%s.%s has no comment", typ.Name(), f.Name)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", name, typeName(f.Type), strings.ReplaceAll(p.prose(typ, comment), "|", `\|`)))
	}
	return rows, below
}

// structBelow is the struct that a type holds, and how a key reaches it.
func structBelow(typ reflect.Type) (reflect.Type, string) {
	switch typ.Kind() {
	case reflect.Struct:
		if typ == reflect.TypeFor[Secret]() || typ.PkgPath() != reflect.TypeFor[File]().PkgPath() {
			return nil, ""
		}
		return typ, ""
	case reflect.Pointer:
		return structBelow(typ.Elem())
	case reflect.Map:
		inner, suffix := structBelow(typ.Elem())
		return inner, ".NAME" + suffix
	case reflect.Slice:
		inner, suffix := structBelow(typ.Elem())
		return inner, "[]" + suffix
	}
	return nil, ""
}

func typeName(typ reflect.Type) string {
	switch {
	case typ == reflect.TypeFor[Secret]():
		return "secret"
	case typ == reflect.TypeFor[time.Duration]():
		return "duration"
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return typeName(typ.Elem())
	case reflect.Map:
		return "map of names to " + plural(typeName(typ.Elem()))
	case reflect.Slice:
		return "list of " + plural(typeName(typ.Elem()))
	case reflect.Struct:
		return "section"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "string"
	}
	return "number"
}

func plural(name string) string { return name + "s" }

var (
	openingName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]* (?:is|are|says|say) (?:that )?`)
	goName      = regexp.MustCompile(`[^ ] [A-Z][A-Za-z0-9]*-?`) // inside a sentence, with the two characters before it
)

// foreignKeys are keys of other sections that comments refer to.
var foreignKeys = map[string]string{
	"MaxBodyBytes": "limits.max_body_bytes", "MaxJobBytes": "limits.max_job_bytes", "LeaseTimeout": "work.lease_timeout", "Data": "data",
}

// prose makes a comment the text of the page: names of fields become keys, and the zero value becomes the default.
func (p *referencePage) prose(typ reflect.Type, comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	keys := map[string]string{}
	for i := range typ.NumField() {
		if f := typ.Field(i); yamlName(f) != "" {
			keys[f.Name] = yamlName(f)
		}
	}
	maps.Copy(keys, foreignKeys)
	text = openingName.ReplaceAllString(text, "")
	text = goName.ReplaceAllStringFunc(text, func(match string) string {
		before, name := match[:2], match[2:]
		if keys[name] == "" || strings.ContainsAny(before, ".:") {
			return match
		}
		return before + "`" + keys[name] + "`"
	})
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	text = strings.ReplaceAll(text, "Zero: the default, ", "Default: ")
	return strings.ReplaceAll(text, "Zero: ", "Default: ")
}
