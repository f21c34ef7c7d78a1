package admit

import (
	"slices"
	"testing"

	"penstock"
)

func TestRegions(t *testing.T) {
	t.Parallel()
	model := penstock.Model{Name: "m", Targets: []string{"eu", "us", "anywhere"}}
	targets := map[string]penstock.Target{"eu": {Region: "eu"}, "us": {Region: "us"}, "anywhere": {}}
	for _, tt := range []struct{ regions, want []string }{
		{nil, model.Targets}, {[]string{"eu"}, []string{"eu"}}, {[]string{"us", "eu"}, []string{"eu", "us"}}, {[]string{"mars"}, nil},
	} {
		got, err := inRegions(model, targets, tt.regions)
		if !slices.Equal(got, tt.want) || (tt.want == nil) != (penstock.ErrorCode(err) == penstock.CodeInvalidRequest) {
			t.Errorf("in %v: %v, %v; want %v", tt.regions, got, err, tt.want)
		}
	}
}
