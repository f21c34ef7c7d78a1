package dialecttest

import (
	"testing"

	"penstock/internal/dialect"
)

// Price is a body, and the first feature in it whose price it does not bound.
type Price struct {
	Read      Read
	Body      string
	Betas     string
	Path      string // "" for a body whose price is bounded
	Name      string
	Uses      int64
	UsesPath  string
	Documents int64
}

// Prices holds that bodies have these features, and no others.
func Prices(t *testing.T, table []Price) {
	t.Helper()
	for _, tt := range table {
		inf, err := tt.Read([]byte(tt.Body))
		if err != nil {
			t.Errorf("%s: %v", tt.Body, err)
			continue
		}
		inf.Betas = tt.Betas
		priced := inf.Price()
		if priced.Documents != tt.Documents {
			t.Errorf("%s has %d documents, want %d", tt.Body, priced.Documents, tt.Documents)
		}
		want := dialect.Feature{Path: tt.Path, Name: tt.Name, Uses: tt.Uses, UsesPath: tt.UsesPath}
		switch {
		case tt.Path == "" && len(priced.Features) > 0:
			t.Errorf("%s is refused for %+v", tt.Body, priced.Features)
		case tt.Path != "" && (len(priced.Features) != 1 || priced.Features[0] != want):
			t.Errorf("%s: %+v, want %+v", tt.Body, priced.Features, want)
		}
	}
}
