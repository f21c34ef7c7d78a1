package api

import (
	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

var responseParam = rest.Param{Name: "id", In: "path", About: "The response's id, resp_….", Required: true}

// responseRoutes are the routes of stored responses.
var responseRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/responses/{id}", Scope: penstock.ScopeInference, Summary: "Read a response that was created with store or background, or follow its events",
		Params: []rest.Param{responseParam, {Name: "stream", In: "query", About: "true: follow its events, if it was created with stream: true."},
			{Name: "starting_after", In: "query", About: "With stream: resume after this sequence_number, for as long as events are stored."}},
		Answers: []rest.Answer{{Status: 200, About: "The current state of the response; once it is complete, the upstream's answer.", Body: rest.AnyObject{}},
			{Status: 200, About: "Its events.", Type: rest.TypeSSE, Body: rest.AnyObject{}}}, Words: &responsesWording, Serve: on(responses.readResponse)},
	{Method: "POST", Path: "/v1/responses/{id}/cancel", Audit: auditJob, Scope: penstock.ScopeInference, Summary: "Cancel a response",
		Params: []rest.Param{responseParam}, Answers: []rest.Answer{{Status: 200, About: "The response: cancelled, or as it ended before.", Body: rest.AnyObject{}}},
		Words: &responsesWording, Serve: on(responses.cancelResponse)},
	{Method: "DELETE", Path: "/v1/responses/{id}", Audit: rest.Audit{Action: store.ActionDeleteJob}, Scope: penstock.ScopeInference, Summary: "Delete a response that has ended",
		Params: []rest.Param{responseParam}, Answers: []rest.Answer{{Status: 200, About: "The response is deleted.", Body: deletedView{}}},
		Words: &responsesWording, Serve: on(responses.deleteResponse)},
}
