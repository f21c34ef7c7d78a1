package admin

import (
	"context"
	"errors"
	"net/http"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/reload"
	"penstock/internal/rest"
)

// configRoutes show the configuration.
var configRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/config", Roles: managers, Summary: "Show the configuration in force, without secrets, and how the file differs from it",
		Answers: []rest.Answer{{Status: 200, About: "The configuration of the process that answers. Each process reads its own file.", Body: configView{}}}, Serve: on(process.showConfig)},
}

// configView is the configuration in force.
type configView struct {
	Object   string        `json:"object"`
	Hash     string        `json:"hash" about:"Of the configuration in force: the config of jobs and attempts that run under it."`
	YAML     string        `json:"yaml" about:"The whole configuration as a file, with defaults. Secrets are hidden."`
	Notices  []string      `json:"notices" about:"Facts that are no problems: prices from the catalogue, models that end soon."`
	File     fileState     `json:"file" about:"The file as it is now."`
	Problems []problemView `json:"problems" about:"Problems of the configuration in force, such as a certificate that ended."`
}

// fileState is the file compared with the configuration in force.
type fileState struct {
	Readable bool          `json:"readable" about:"false if the process has no file, or the file is invalid: see problems."`
	Hash     *string       `json:"hash" about:"Of the configuration that a reload would put in force."`
	Changes  []string      `json:"changes" about:"How the file differs from the configuration in force, one sentence each."`
	Refusal  *string       `json:"refusal" about:"Why a reload would be refused without force."`
	Problems []problemView `json:"problems" about:"Why a reload would fail."`
}

// problemView is a problem of a configuration, with its place in the file.
type problemView struct {
	Path    string `json:"path" about:"The setting, such as targets.main.price.input; empty for the whole file."`
	Line    int    `json:"line" about:"0 if the problem is at no line."`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func newProblemViews(all config.Problems) []problemView {
	views := make([]problemView, len(all))
	for i, p := range all {
		views[i] = problemView(p)
	}
	return views
}

func (c process) showConfig() error {
	current := c.Config.Current()
	text, err := current.YAML()
	if err != nil {
		return err
	}
	now := c.Clock()
	v := configView{
		Object: "config", Hash: current.Hash, YAML: string(text), Notices: append([]string{}, current.Notices(now)...),
		Problems: newProblemViews(current.Inspect(now)), File: c.fileState(c.R.Context()),
	}
	return c.JSON(http.StatusOK, v)
}

// fileState reads the file as a reload would, and changes nothing.
func (c process) fileState(ctx context.Context) fileState {
	s := fileState{Changes: []string{}, Problems: []problemView{}}
	plan, err := c.Reloader.Reload(ctx, reload.Order{DryRun: true})
	if err != nil {
		if found, ok := errors.AsType[config.Problems](err); ok {
			s.Problems = newProblemViews(found)
		} else {
			s.Problems = []problemView{{Message: penstock.AsError(err).Message}}
		}
		return s
	}
	s.Readable, s.Hash, s.Refusal = true, &plan.Config, named(plan.Refusal)
	s.Changes = append(s.Changes, plan.Changes...)
	return s
}
