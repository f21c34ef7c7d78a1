package api

import "penstock"

var (
	webhookParam  = param{Name: "id", In: "path", About: "The endpoint's id, whk_….", Required: true}
	matchParam    = param{Name: "If-Match", In: "header", About: "An ETag of the endpoint; 412, and nothing is done, if it was changed since."}
	deliveryPages = []param{limitPage, {Name: "after", In: "query", About: "The last id of the page before."},
		{Name: "status", In: "query", About: "Only those that are pending, delivered or failed."}}
)

// webhookRoutes are the routes of endpoints and deliveries.
var webhookRoutes = []route{
	{Method: "POST", Path: "/v1/webhooks", Scope: penstock.ScopeWebhooks, Summary: "Add an endpoint that is told of events", Body: webhookOrder{},
		Answers: []answer{{Status: 201, About: "The endpoint, with the secret that signs its messages: it is not shown again.", Body: webhookView{}}},
		serve:   (*call).createWebhook},
	{Method: "GET", Path: "/v1/webhooks", Scope: penstock.ScopeWebhooks, Summary: "List endpoints, oldest first",
		Params:  []param{limitPage, {Name: "after", In: "query", About: "The last id of the page before."}},
		Answers: []answer{{Status: 200, About: "A page of endpoints.", Body: page[webhookView]{}}}, serve: (*call).listWebhooks},
	{Method: "POST", Path: "/v1/webhooks/secret", Scope: penstock.ScopeWebhooks,
		Summary: "Make or rotate the tenant's own secret, which signs the webhooks that jobs bring along",
		Answers: []answer{{Status: 200, About: "The secret: it is not shown again. The one before it signs for another 24 hours.", Body: secretView{}}},
		serve:   (*call).rotateSecret},
	{Method: "GET", Path: "/v1/webhooks/{id}", Scope: penstock.ScopeWebhooks, Summary: "Read an endpoint", Params: []param{webhookParam},
		Answers: []answer{{Status: 200, About: "The endpoint, with an ETag.", Body: webhookView{}}}, serve: (*call).readWebhook},
	{Method: "PATCH", Path: "/v1/webhooks/{id}", Scope: penstock.ScopeWebhooks, Summary: "Change, enable or disable an endpoint",
		Params: []param{webhookParam, matchParam}, Body: webhookOrder{},
		Answers: []answer{{Status: 200, About: "The endpoint as it is now. Messages that wait go to its new URL.", Body: webhookView{}}},
		serve:   (*call).changeWebhook},
	{Method: "DELETE", Path: "/v1/webhooks/{id}", Scope: penstock.ScopeWebhooks, Summary: "Delete an endpoint", Params: []param{webhookParam, matchParam},
		Answers: []answer{{Status: 200, About: "It is gone, and what was to be sent there is not sent.", Body: deletedView{}}},
		serve:   (*call).deleteWebhook},
	{Method: "POST", Path: "/v1/webhooks/{id}/rotate", Scope: penstock.ScopeWebhooks, Summary: "Give an endpoint a new secret",
		Params:  []param{webhookParam, matchParam},
		Answers: []answer{{Status: 200, About: "The endpoint with its new secret. The one before it signs for another 24 hours.", Body: webhookView{}}},
		serve:   (*call).rotateWebhook},
	{Method: "POST", Path: "/v1/webhooks/{id}/test", Scope: penstock.ScopeWebhooks, Summary: "Send an endpoint a webhook.test", Params: []param{webhookParam},
		Answers: []answer{{Status: 202, About: "The delivery, which is on its way.", Body: deliveryView{}}}, serve: (*call).testWebhook},
	{Method: "GET", Path: "/v1/webhooks/{id}/deliveries", Scope: penstock.ScopeWebhooks, Summary: "List what was sent to an endpoint, newest first",
		Params:  append([]param{webhookParam}, deliveryPages...),
		Answers: []answer{{Status: 200, About: "A page of deliveries.", Body: page[deliveryView]{}}}, serve: (*call).listWebhookDeliveries},
	{Method: "GET", Path: "/v1/deliveries", Scope: penstock.ScopeWebhooks, Summary: "List what was sent to the webhooks that jobs brought along, newest first",
		Params:  deliveryPages,
		Answers: []answer{{Status: 200, About: "A page of deliveries.", Body: page[deliveryView]{}}}, serve: (*call).listJobDeliveries},
	{Method: "POST", Path: "/v1/deliveries/{id}/redeliver", Scope: penstock.ScopeWebhooks, Summary: "Send a message again, whatever became of it",
		Params:  []param{{Name: "id", In: "path", About: "The delivery's id, dlv_….", Required: true}},
		Answers: []answer{{Status: 202, About: "The delivery, with the same webhook-id and a whole new schedule.", Body: deliveryView{}}},
		serve:   (*call).redeliver},
}
