package api

import "penstock"

var responseParam = param{Name: "id", In: "path", About: "The response's id, resp_….", Required: true}

// responseRoutes are those of responses that are kept.
var responseRoutes = []route{
	{Method: "GET", Path: "/v1/responses/{id}", Scope: penstock.ScopeInference, Summary: "Read a response that was created with store or background, or follow its events",
		Params: []param{responseParam, {Name: "stream", In: "query", About: "true: follow its events, if it was created with stream: true."},
			{Name: "starting_after", In: "query", About: "With stream: resume behind this sequence_number, for as long as events are kept."}},
		Answers: []answer{{Status: 200, About: "The response as it is; once it is complete, what the upstream answered.", Body: anyObject{}},
			{Status: 200, About: "Its events.", Type: typeSSE, Body: anyObject{}}}, words: &responsesWording, serve: (*call).readResponse},
	{Method: "POST", Path: "/v1/responses/{id}/cancel", Scope: penstock.ScopeInference, Summary: "Cancel a response",
		Params: []param{responseParam}, Answers: []answer{{Status: 200, About: "The response as it is: cancelled, or as it ended before.", Body: anyObject{}}},
		words: &responsesWording, serve: (*call).cancelResponse},
	{Method: "DELETE", Path: "/v1/responses/{id}", Scope: penstock.ScopeInference, Summary: "Delete a response that has ended",
		Params: []param{responseParam}, Answers: []answer{{Status: 200, About: "It is gone.", Body: deletedView{}}},
		words: &responsesWording, serve: (*call).deleteResponse},
}
