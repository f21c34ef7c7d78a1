package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
)

func (c models) listModels() error {
	current := c.Config.Current()
	names := slices.Sorted(maps.Keys(current.Models))
	names = slices.DeleteFunc(names, func(name string) bool { return !current.Lists(name) || !c.Principal.Tenant.MayUse(name) })
	query := c.R.URL.Query()
	if !c.anthropic() {
		for _, name := range []string{"after_id", "before_id"} { // ignored, they would give the same list again and again
			if query.Has(name) {
				return penstock.InvalidParam(name, "Unknown query parameter %q; this list has no pages. Send the header anthropic-version for lists in Anthropic's dialect.", name)
			}
		}
		list := openai.NewModelList(names)
		for i := range list.Data {
			setOwner(&list.Data[i], current.Owner(current.Models[names[i]]))
		}
		return c.JSON(http.StatusOK, list)
	}
	const most, usual = 1000, 20
	limit, err := c.PageLimit(rest.PageSize{Most: most, Usual: usual})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, anthropic.NewModelPage(names, anthropic.Page{
		AfterID: query.Get("after_id"), BeforeID: query.Get("before_id"), Limit: limit,
	}))
}

func (c models) readModel() error {
	name := c.R.PathValue("model")
	if err := admit.CheckModel(name); err != nil {
		return err
	}
	current := c.Config.Current()
	model, ok := current.Model(name) // as a call finds it: by its name, its beginning, or as the fallback
	if !ok || !c.Principal.Tenant.MayUse(model.Name) {
		return penstock.Errorf(penstock.CodeModelNotFound, "There is no model %q; GET /v1/models lists the models.", rest.Clip(name))
	}
	if c.anthropic() {
		return c.JSON(http.StatusOK, anthropic.NewModelInfo(name))
	}
	one := openai.NewModel(name)
	setOwner(&one, current.Owner(model))
	return c.JSON(http.StatusOK, one)
}

// setOwner names the vendor of a model. A model whose vendor is not known stays our own.
func setOwner(m *openai.Model, vendor string) { m.OwnedBy = cmp.Or(vendor, m.OwnedBy) }
