package api

import (
	"maps"
	"net/http"
	"slices"

	"penstock"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/openai"
)

func (c *call) listModels() error {
	names := slices.Sorted(maps.Keys(c.Config.Current().Models))
	names = slices.DeleteFunc(names, func(name string) bool { return !c.caller.Tenant.MayUse(name) })
	if !c.anthropic() {
		return c.json(http.StatusOK, openai.NewModelList(names))
	}
	const most, usual = 1000, 20
	limit, err := c.queryInt("limit", usual)
	if err != nil {
		return err
	}
	if limit < 1 || limit > most {
		return penstock.InvalidParam("limit", "limit must be from 1 to %d.", most)
	}
	query := c.r.URL.Query()
	return c.json(http.StatusOK, anthropic.NewModelPage(names, anthropic.Page{
		AfterID: query.Get("after_id"), BeforeID: query.Get("before_id"), Limit: int(limit),
	}))
}

func (c *call) readModel() error {
	name := c.r.PathValue("model")
	if _, ok := c.Config.Current().Models[name]; !ok || !c.caller.Tenant.MayUse(name) {
		return penstock.Errorf(penstock.CodeModelNotFound, "There is no model %q; GET /v1/models lists what there is.", clip(name))
	}
	if c.anthropic() {
		return c.json(http.StatusOK, anthropic.NewModelInfo(name))
	}
	return c.json(http.StatusOK, openai.NewModel(name))
}
