package check

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// images answers for the registry: every image exists and is of linux.
type images struct{}

func (images) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := []byte(`{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/bin"]}}`)
	return ref, digest.FromBytes(config), config, nil
}

// lintDockerfile returns what `docker build --check` reports.
func lintDockerfile(t *testing.T, text []byte) []string {
	t.Helper()
	platforms := []ocispecs.Platform{{OS: "linux", Architecture: "amd64"}}
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", text)
	source.Definition = new(llb.Definition)
	var warnings []string
	results, err := dockerfile2llb.DockerfileLint(t.Context(), text, dockerfile2llb.ConvertOpt{
		Config:       dockerui.Config{BuildPlatforms: platforms, TargetPlatforms: platforms},
		MetaResolver: images{}, TargetPlatform: &platforms[0],
		SourceMap: source,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range results.Warnings {
		warnings = append(warnings, w.RuleName+": "+w.Detail)
	}
	if results.Error != nil {
		warnings = append(warnings, results.Error.Message)
	}
	return warnings
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range lintDockerfile(t, text) {
		t.Error(w)
	}
	// A check that cannot fail proves nothing.
	for name, bad := range map[string]string{
		"JSONArgsRecommended": "FROM scratch\nCMD penstock dev\n",
		"UndefinedVar":        "FROM scratch\nCOPY $nothing /\n",
		"unknown instruction": "FROM scratch\nRUM true\n",
	} {
		if got := strings.Join(lintDockerfile(t, []byte(bad)), "\n"); !strings.Contains(got, name) {
			t.Errorf("the linter says %q about %q, want %s", got, bad, name)
		}
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	details := types.ConfigDetails{WorkingDir: "../..", ConfigFiles: []types.ConfigFile{{Filename: "../../compose.yaml"}}, Environment: types.Mapping{}}
	if _, err := loader.LoadWithContext(t.Context(), details); err == nil || !strings.Contains(err.Error(), "deploy/compose/init") {
		t.Errorf("without secrets: %v, want an error that names deploy/compose/init", err)
	}
	for _, name := range []string{"POSTGRES_PASSWORD", "PENSTOCK_ADMIN_KEY", "PENSTOCK_METRICS_KEY", "PENSTOCK_API_KEY", "S3_SECRET_KEY", "GRAFANA_PASSWORD"} {
		details.Environment[name] = "secret"
	}
	project, err := loader.LoadWithContext(t.Context(), details)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range project.Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("port %s of %s is open to the network", p.Published, s.Name)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts %s: %v", s.Name, v.Source, err)
			}
		}
		if tag := s.Image[strings.LastIndex(s.Image, ":")+1:]; !strings.Contains(s.Image, ":") || tag == "latest" {
			t.Errorf("%s has the image %q, which changes", s.Name, s.Image)
		}
	}
	names := fmt.Sprint(project.ServiceNames())
	if want := []string{"grafana", "penstock", "postgres", "prometheus", "s3", "sim"}; !slices.Equal(project.ServiceNames(), want) {
		t.Errorf("the services are %s, want %v", names, want)
	}
}
