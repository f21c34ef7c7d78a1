package api

import (
	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

var responseParam = rest.Param{Name: "id", In: "path", About: "The response's id, resp_….", Required: true}

// responseRoutes are the routes of stored responses.
var responseRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/responses/{id}", Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "Read a stored response, or follow the events of a response in the background",
		Params: []rest.Param{responseParam, {Name: "stream", In: "query", About: "true: follow its events, if it was created with background: true and stream: true."},
			{Name: "starting_after", In: "query", About: "With stream: resume after this sequence_number, for as long as events are stored."}},
		Answers: []rest.Answer{{Status: 200, About: "The current state of the response; once it is complete, the upstream's answer.", Body: responseAnswer{}},
			{Status: 200, About: "Its events.", Type: rest.TypeSSE, Body: rest.AnyObject{}}}, Words: &responsesWording, Serve: on(responses.readResponse)},
	{Method: "POST", Path: "/v1/responses/{id}/cancel", Audit: auditJob, People: developers, Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "Cancel a response",
		Params: []rest.Param{responseParam}, Answers: []rest.Answer{{Status: 200, About: "The response: cancelled, or as it ended before.", Body: responseAnswer{}}},
		Words: &responsesWording, Serve: on(responses.cancelResponse)},
	{Method: "GET", Path: "/v1/responses/{id}/input_items", Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "List the items that the model of a response was given",
		Params: append([]rest.Param{responseParam}, itemPageParams...), Answers: []rest.Answer{{Status: 200, About: "A page of items, earlier turns included.", Body: itemListView{}}},
		Words: &responsesWording, Serve: on(responses.inputItems)},
	{Method: "POST", Path: "/v1/responses/input_tokens", Audit: auditNothing, Scope: penstock.ScopeInference, Summary: "Estimate the tokens of a response's input",
		Body: rest.AnyObject{}, Answers: []rest.Answer{{Status: 200, Body: inputTokensView{}, About: "An estimate: counted with a tokenizer that may not be the model's own, " +
			"marked by the header x-penstock-estimate: true. Earlier turns and references are included."}},
		Words: &responsesWording, Serve: on(responses.countInputTokens)},
	{Method: "DELETE", Path: "/v1/responses/{id}", Audit: rest.Audit{Action: store.ActionDeleteJob}, Scope: penstock.ScopeInference, Summary: "Delete a response that has ended",
		Params: []rest.Param{responseParam}, Answers: []rest.Answer{{Status: 200, About: "The response is deleted.", Body: deletedView{}}},
		Words: &responsesWording, Serve: on(responses.deleteResponse)},
}
