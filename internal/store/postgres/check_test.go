package postgres

import (
	"strings"
	"testing"
)

// near stands for the caller's own function: it finds a known name that begins with the name.
func near(name string, known []string) string {
	for _, k := range known {
		if strings.HasPrefix(k, name) {
			return "; did you mean " + k + "?"
		}
	}
	return ""
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]string{
		"postgres://u:p@db:5432/penstock":                                      "",
		"postgres:///penstock?host=/run/postgresql":                            "",
		"postgres://u:hidden@db:5432":                                          "names no database",
		"postgres://u:hidd@n#x@db/penstock":                                    "percent-encode",
		"postgres://u:hidd@n/x@db/penstock":                                    "percent-encode",
		"postgres://u:hid%zzden@db/x":                                          "percent-encode",
		"postgres://u:hidden@db:port/x":                                        "percent-encode",
		"postgres://u:hidden@db/x?sslmode=sometimes":                           "sslmode is invalid",
		"postgres://u:hidden@db/x?sslmode=verify-full&sslrootcert=/none/x.pem": "/none/x.pem",
		"postgres://u:hidden@db/x?sslmod=require":                              `has the unknown parameter "sslmod"; did you mean sslmode?`,
		"postgres://u:hidden@db/x?SSLMODE=require":                             `has the unknown parameter "SSLMODE"; did you mean sslmode?`,
		"postgres://u:hidden@db/x?sslmode=require&work_mem=64MB&TimeZone=UTC":  "",
		"postgres://u:hidden@db/x?pool_max_conns=many":                         "cannot be",
	} {
		err := CheckURL(at, near)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hid") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
