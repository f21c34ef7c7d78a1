package api

import "penstock"

// requestSamples are pages of calls.
func requestSamples() []any {
	failed := penstock.Request{Status: penstock.StatusFailed, ErrorCode: penstock.CodeOverloaded, Labels: penstock.Labels{Tags: map[string]string{"team": "search"}, Subject: "ann"}}
	return []any{
		requestPageView{Object: "list", Data: []requestSummaryView{}},
		requestPageView{Object: "list", Data: []requestSummaryView{newRequestSummary(failed)}, HasMore: true, NextAfter: text("req_01JQ0000000000000000000000")},
	}
}
