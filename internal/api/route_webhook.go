package api

import (
	"penstock"
	"penstock/internal/rest"
	"penstock/internal/webhook"
)

var (
	deliveryParam = rest.Param{Name: "id", In: "path", About: "The delivery's id, dlv_….", Required: true}
	webhookParam  = rest.Param{Name: "id", In: "path", About: "The endpoint's id, whk_….", Required: true}
	matchParam    = rest.Param{Name: "If-Match", In: "header", About: "An ETag of the endpoint. If the endpoint was changed since, the answer is 412 and nothing is done."}
	deliveryPages = []rest.Param{limitPage, {Name: "after", In: "query", About: "The last id of the previous page."},
		{Name: "status", In: "query", About: "Only those that are pending, delivered or failed."}}
)

// webhookRoutes are the routes of endpoints and deliveries.
var webhookRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/webhooks", Audit: rest.Audit{Action: webhook.ActionCreate}, Scope: penstock.ScopeWebhooks, Summary: "Add an endpoint that receives events", Body: webhookOrder{},
		Answers: []rest.Answer{{Status: 201, About: "The endpoint, with the secret that signs its messages: it is not shown again.", Body: webhookView{}}},
		Serve:   on(webhooks.createWebhook)},
	{Method: "GET", Path: "/v1/webhooks", Scope: penstock.ScopeWebhooks, Summary: "List endpoints, oldest first",
		Params:  []rest.Param{limitPage, {Name: "after", In: "query", About: "The last id of the previous page."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of endpoints.", Body: rest.Page[webhookView]{}}}, Serve: on(webhooks.listWebhooks)},
	{Method: "POST", Path: "/v1/webhooks/secret", Audit: rest.Audit{Action: webhook.ActionRotate}, Scope: penstock.ScopeWebhooks,
		Summary: "Make or rotate the tenant's own secret, which signs the webhooks of jobs",
		Answers: []rest.Answer{{Status: 200, About: "The secret: it is not shown again. The previous secret also signs for another 24 hours.", Body: secretView{}}},
		Serve:   on(webhooks.rotateSecret)},
	{Method: "GET", Path: "/v1/webhooks/{id}", Scope: penstock.ScopeWebhooks, Summary: "Read an endpoint", Params: []rest.Param{webhookParam},
		Answers: []rest.Answer{{Status: 200, About: "The endpoint, with an ETag.", Body: webhookView{}}}, Serve: on(webhooks.readWebhook)},
	{Method: "PATCH", Path: "/v1/webhooks/{id}", Audit: rest.Audit{Action: webhook.ActionChange}, Scope: penstock.ScopeWebhooks, Summary: "Change, enable or disable an endpoint",
		Params: []rest.Param{webhookParam, matchParam}, Body: webhookOrder{},
		Answers: []rest.Answer{{Status: 200, About: "The changed endpoint. Pending messages go to its new URL.", Body: webhookView{}}},
		Serve:   on(webhooks.changeWebhook)},
	{Method: "DELETE", Path: "/v1/webhooks/{id}", Audit: rest.Audit{Action: webhook.ActionDelete}, Scope: penstock.ScopeWebhooks, Summary: "Delete an endpoint", Params: []rest.Param{webhookParam, matchParam},
		Answers: []rest.Answer{{Status: 200, About: "The endpoint is deleted; its pending messages are not sent.", Body: deletedView{}}},
		Serve:   on(webhooks.deleteWebhook)},
	{Method: "POST", Path: "/v1/webhooks/{id}/rotate", Audit: rest.Audit{Action: webhook.ActionRotate}, Scope: penstock.ScopeWebhooks, Summary: "Give an endpoint a new secret",
		Params:  []rest.Param{webhookParam, matchParam},
		Answers: []rest.Answer{{Status: 200, About: "The endpoint with its new secret. The previous secret also signs for another 24 hours.", Body: webhookView{}}},
		Serve:   on(webhooks.rotateWebhook)},
	{Method: "POST", Path: "/v1/webhooks/{id}/test", Audit: auditDelivery, Scope: penstock.ScopeWebhooks, Summary: "Send an endpoint a webhook.test", Params: []rest.Param{webhookParam},
		Answers: []rest.Answer{{Status: 202, About: "The pending delivery.", Body: deliveryView{}}}, Serve: on(webhooks.testWebhook)},
	{Method: "GET", Path: "/v1/webhooks/{id}/deliveries", Scope: penstock.ScopeWebhooks, Summary: "List the deliveries to an endpoint, newest first",
		Params:  append([]rest.Param{webhookParam}, deliveryPages...),
		Answers: []rest.Answer{{Status: 200, About: "A page of deliveries.", Body: rest.CursorPage[deliveryView]{}}}, Serve: on(webhooks.listWebhookDeliveries)},
	{Method: "GET", Path: "/v1/deliveries", Scope: penstock.ScopeWebhooks, Summary: "List the deliveries to the webhooks of jobs, newest first",
		Params:  append([]rest.Param{{Name: "job_id", In: "query", About: "Only those of this job, and those to the tenant's endpoints as well."}}, deliveryPages...),
		Answers: []rest.Answer{{Status: 200, About: "A page of deliveries.", Body: rest.CursorPage[deliveryView]{}}}, Serve: on(webhooks.listJobDeliveries)},
	{Method: "GET", Path: "/v1/deliveries/{id}", Scope: penstock.ScopeWebhooks, Summary: "Read a delivery and its attempts", Params: []rest.Param{deliveryParam},
		Answers: []rest.Answer{{Status: 200, About: "The delivery.", Body: deliveryView{}}}, Serve: on(webhooks.readDelivery)},
	{Method: "POST", Path: "/v1/deliveries/{id}/redeliver", Audit: auditDelivery, People: stoppers, Scope: penstock.ScopeWebhooks, Summary: "Send a message again, in any status",
		Params:  []rest.Param{deliveryParam},
		Answers: []rest.Answer{{Status: 202, About: "The delivery, with the same webhook-id and a new retry schedule.", Body: deliveryView{}}},
		Serve:   on(webhooks.redeliver)},
}
