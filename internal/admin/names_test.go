package admin

import (
	"reflect"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
)

// tagged lists the names of a struct's fields by a tag, those of embedded structs included.
func tagged(t reflect.Type, tag string) map[string]bool {
	names := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for name := range tagged(f.Type, tag) {
				names[name] = true
			}
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get(tag), ","); name != "" && f.Tag.Get("refuse") == "" {
			names[name] = true
		}
	}
	return names
}

// A setting of a tenant or a key has one name, in the file and in the admin API.
func TestSameNamesInFileAndAPI(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		file, api reflect.Type
		onlyFile  string // with the reason in the comment
	}{
		{reflect.TypeFor[config.TenantConfig](), reflect.TypeFor[tenantView](), "keys playground"}, // keys are resources of their own; tenants of the admin API have the global playground
		{reflect.TypeFor[config.Retention](), reflect.TypeFor[tenantRetention](), ""},
		{reflect.TypeFor[config.TenantLimits](), reflect.TypeFor[tenantLimits](), "queued_items queued_bytes"}, // of the process that queues
		{reflect.TypeFor[config.RateLimits](), reflect.TypeFor[penstock.Limits](), ""},
		{reflect.TypeFor[config.KeyConfig](), reflect.TypeFor[keyView](), "cache"}, // only the file has it
		{reflect.TypeFor[config.Budget](), reflect.TypeFor[config.Budget](), ""},
	} {
		api := tagged(pair.api, "json")
		for name := range tagged(pair.file, "yaml") {
			if !api[name] && !strings.Contains(" "+pair.onlyFile+" ", " "+name+" ") {
				t.Errorf("%s has %q, and %s does not", pair.file, name, pair.api)
			}
		}
	}
}
