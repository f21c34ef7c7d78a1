package api

import (
	"net/http"
	"strings"

	"penstock"
)

// lookupView names an object.
type lookupView struct {
	Object string  `json:"object" about:"The kind: job, item, request, file, batch, message_batch, response, webhook or delivery."`
	ID     string  `json:"id"`
	JobID  *string `json:"job_id" about:"The job that the object belongs to; null for an object without a job."`
	Path   *string `json:"path" about:"Where the object is read; null if objects of the kind are only listed."`
}

// lookupKind is a kind of object that can be found by its id.
type lookupKind struct {
	view   penstock.View
	object string
	path   string // that the id is added to, "" for none
	scope  penstock.Scope
	// find returns the job that the object belongs to, "" for none. Codes: not_found.
	find func(c lookups, id penstock.ID) (penstock.ID, error)
}

// lookupKinds are the kinds, in the order in which an id without a prefix is looked for. A batch and a response in the
// background are views of a job, so such an id finds the job.
func lookupKinds() []lookupKind {
	ofJob := func(c lookups, id penstock.ID) (penstock.ID, error) {
		job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
		return job.ID, err
	}
	ofBatch := func(c lookups, id penstock.ID) (penstock.ID, error) {
		_, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, id)
		return id, err
	}
	return []lookupKind{
		{penstock.ViewJob, "job", "/v1/jobs/", penstock.ScopeJobsRead, ofJob},
		{penstock.ViewRequest, "request", "/v1/requests/", penstock.ScopeInference, func(c lookups, id penstock.ID) (penstock.ID, error) {
			_, err := c.Requests.Request(c.R.Context(), c.Principal.Tenant.ID, id)
			return "", err
		}},
		{penstock.ViewItem, "item", "/v1/items/", penstock.ScopeJobsRead, func(c lookups, id penstock.ID) (penstock.ID, error) {
			item, err := c.Jobs.Item(c.R.Context(), c.Principal.Tenant.ID, id)
			return item.Job, err
		}},
		{penstock.ViewFile, "file", "/v1/files/", penstock.ScopeJobsRead, func(c lookups, id penstock.ID) (penstock.ID, error) {
			_, err := c.Files.File(c.R.Context(), c.Principal.Tenant.ID, id)
			return "", err
		}},
		{penstock.ViewWebhook, "webhook", "/v1/webhooks/", penstock.ScopeWebhooks, func(c lookups, id penstock.ID) (penstock.ID, error) {
			_, err := c.Webhooks.Endpoint(c.R.Context(), c.Principal.Tenant.ID, id)
			return "", err
		}},
		{penstock.ViewDelivery, "delivery", "/v1/deliveries/", penstock.ScopeWebhooks, func(c lookups, id penstock.ID) (penstock.ID, error) {
			d, err := c.Webhooks.Delivery(c.R.Context(), c.Principal.Tenant.ID, id)
			return d.Job, err
		}},
		{penstock.ViewResponse, "response", "/v1/responses/", penstock.ScopeInference, func(c lookups, id penstock.ID) (penstock.ID, error) {
			if _, kept, err := responses(c).keptResponse(id); err != nil || kept {
				return "", err
			}
			job, err := responses(c).findResponse(id)
			return job.ID, err
		}},
		{penstock.ViewBatch, "batch", "/v1/batches/", penstock.ScopeJobsRead, ofBatch},
		{penstock.ViewMessageBatch, "message_batch", "/v1/messages/batches/", penstock.ScopeJobsRead, ofBatch},
	}
}

// find answers with the object that has an id.
func (c lookups) find() error {
	given := c.R.PathValue("id")
	prefix, _, named := strings.Cut(given, "_")
	for _, kind := range lookupKinds() {
		if named && prefix != string(kind.view) || !c.mayLookUp(kind.scope) {
			continue
		}
		id, err := kind.view.Parse(string(kind.view) + "_" + strings.TrimPrefix(given, string(kind.view)+"_"))
		if err != nil {
			break // it cannot be the id of anything
		}
		job, err := kind.find(c, id)
		if penstock.ErrorCode(err) == penstock.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		v := lookupView{Object: kind.object, ID: kind.view.Format(id)}
		if job != "" {
			v.JobID = text(penstock.ViewJob.Format(job))
		}
		if kind.path != "" {
			v.Path = text(kind.path + v.ID)
		}
		return c.JSON(http.StatusOK, v)
	}
	return &penstock.Error{Code: penstock.CodeNotFound, Param: "id", Message: "No object that this caller may read has this id; give the whole id, such as job_01JQ…."}
}

// mayLookUp says whether the caller may know of objects of a kind: a key needs the scope of their routes. The roles of other
// principals allow them all, as the route does.
func (c lookups) mayLookUp(scope penstock.Scope) bool {
	return c.Principal.Kind != penstock.PrincipalKey || c.Principal.May(scope)
}
