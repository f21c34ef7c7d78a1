package directory

import (
	"strings"
	"testing"

	"penstock/internal/config"
)

func TestProofShowsKnowledgeOfTheKey(t *testing.T) {
	t.Parallel()
	secret := NewSecret()
	admin, err := LoadAdminKey(secret, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := config.NewSnapshot(config.File{Tenants: map[string]config.TenantConfig{
		"t": {Keys: []config.KeyConfig{{Name: "k", Secret: config.NewSecret("psk_file_7gq2xk9dmw4ztfv8hsb3rnj6cp")}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := &Operators{Admin: admin, Directory: New(Deps{Config: config.NewLive(snapshot)})}
	for name, tt := range map[string]struct {
		secret string
		want   bool
	}{
		"the admin key":     {secret, true},
		"a key of the file": {"psk_file_7gq2xk9dmw4ztfv8hsb3rnj6cp", true},
		"another key":       {NewSecret(), false},
	} {
		c, ok := NewChallenge(tt.secret)
		if !ok {
			t.Fatal("not a key")
		}
		proof := server.Prove(c.String())
		if c.Met(proof) != tt.want || strings.Contains(c.String()+proof, tt.secret) {
			t.Errorf("%s: proof %q", name, proof)
		}
		again, _ := NewChallenge(tt.secret)
		if again.Met(proof) {
			t.Errorf("%s: the proof of one challenge meets another", name)
		}
	}
	for _, challenge := range []string{"", ".", "zz", strings.Repeat("0", 16), strings.Repeat("0", 16) + "." + strings.Repeat("0", 62), strings.Repeat("g", 16) + "." + strings.Repeat("0", 64)} {
		if proof := server.Prove(challenge); proof != "" {
			t.Errorf("%q gets the proof %q", challenge, proof)
		}
	}
	if _, ok := NewChallenge("short"); ok {
		t.Error("a short text is taken for a key")
	}
}
