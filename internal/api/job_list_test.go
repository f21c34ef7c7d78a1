package api

// listSamples are answers of the routes that count and find objects.
func listSamples() []any {
	return []any{
		jobSummaryView{Object: "job_summary"},
		jobSummaryView{Object: "job_summary", AsOf: sampleTime, Exact: true, Total: 3, Counts: jobCountsView{Succeeded: 3}, Histogram: &jobHistogramView{From: sampleTime, BucketSeconds: 60, Buckets: []jobCountsView{{Succeeded: 3}}}},
		lookupView{Object: "delivery", ID: "dlv_1", JobID: text("job_1")}, lookupView{Object: "file", ID: "file_1", Path: text("/v1/files/file_1")},
	}
}
