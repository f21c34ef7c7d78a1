package sqlite_test

import (
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// BenchmarkSubmit is the durable part of accepting a job of 1 KiB, alone and in a crowd that shares
// commits.
func BenchmarkSubmit(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		s := open(b, time.Now)
		var ids penstock.IDs
		b.ReportAllocs()
		for b.Loop() {
			submitOne(b, s, ids.New(time.Now()))
		}
	})
	b.Run("crowd", func(b *testing.B) {
		s := open(b, time.Now)
		var ids penstock.IDs
		b.SetParallelism(32)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				submitOne(b, s, ids.New(time.Now()))
			}
		})
	})
}

func submitOne(b *testing.B, s store.Store, id penstock.ID) {
	_, err := s.SubmitJob(b.Context(), "acme", store.Submission{
		Job: penstock.Job{ID: id, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneStandard,
			MaxAttempts: 4, ItemTimeout: time.Minute},
		Items:      []store.NewItem{{Body: []byte(strings.Repeat("weir ", 200)), Reserved: 1}},
		DeadlineIn: time.Hour,
	})
	if err != nil {
		b.Error(err)
	}
}
