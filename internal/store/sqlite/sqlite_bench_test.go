package sqlite_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

// BenchmarkSubmit is the durable part of accepting a job of 1 KiB, alone and with concurrent callers that share
// commits.
func BenchmarkSubmit(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		s, _ := open(b, time.Now)
		var ids penstock.IDs
		b.ReportAllocs()
		for b.Loop() {
			submitOne(b, s, ids.New(time.Now()))
		}
	})
	b.Run("crowd", func(b *testing.B) {
		s, _ := open(b, time.Now)
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

// BenchmarkWork takes items from the queue to their outcome, in groups as a worker does, out of a
// backlog of the given size.
func BenchmarkWork(b *testing.B) {
	for _, queued := range []int{2_000, 50_000} {
		b.Run(strconv.Itoa(queued), func(b *testing.B) {
			s, _ := open(b, time.Now)
			var ids penstock.IDs
			fill := func() {
				for n := 0; n < queued; n += jobItems {
					submitMany(b, s, ids.New(time.Now()))
				}
			}
			fill()
			lease, err := s.AcquireLease(b.Context(), "local", time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			left := queued
			b.ResetTimer()
			for done := 0; done < b.N; {
				if left < 1000 {
					b.StopTimer()
					fill()
					left += queued
					b.StartTimer()
				}
				n := workGroup(b, s, lease)
				done, left = done+n, left-n
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

const jobItems = 250

func submitMany(b *testing.B, s store.Store, id penstock.ID) {
	sub := store.Submission{
		Job: penstock.Job{ID: id, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneStandard,
			MaxAttempts: 4, ItemTimeout: time.Minute},
		DeadlineIn: time.Hour,
	}
	for range jobItems {
		sub.Items = append(sub.Items, store.NewItem{Body: []byte(`{"messages":[]}`), EstimateTokens: 100, Reserved: 1})
	}
	if _, err := s.SubmitJob(b.Context(), "acme", sub); err != nil {
		b.Fatal(err)
	}
}

func workGroup(b *testing.B, s store.Store, l store.Lease) int {
	claims, err := s.ClaimItems(b.Context(), l, store.Want{Lanes: penstock.Lanes, Limit: 128})
	if err != nil {
		b.Fatal(err)
	}
	group := make([]store.Finish, len(claims))
	var ids penstock.IDs
	for i, c := range claims {
		group[i] = store.Finish{
			Item: c.Item, Job: c.Job, Tenant: c.Tenant, Fence: c.Fence, Transition: penstock.TransitionSucceed, Counted: 1,
			Attempts: []penstock.Attempt{{ID: ids.New(time.Now()), Subject: c.Item, Target: "a"}}, Target: "a", StatusCode: 200,
			Result: []byte(`{"choices":[]}`), Usage: penstock.Usage{InputTokens: 1, OutputTokens: 1}, Cost: 1,
		}
	}
	if _, err := s.FinishItems(b.Context(), group); err != nil {
		b.Fatal(err)
	}
	return len(claims)
}

// BenchmarkRecord writes down synchronous calls, in groups as they gather behind their answers.
func BenchmarkRecord(b *testing.B) {
	const group = 300
	s, _ := open(b, time.Now)
	var ids penstock.IDs
	b.ReportAllocs()
	for b.Loop() {
		now := time.Now()
		rs := make([]penstock.Request, group)
		for i := range rs {
			id := ids.New(now)
			usage := penstock.Usage{InputTokens: 250, OutputTokens: 100}
			rs[i] = penstock.Request{
				ID: id, Tenant: "acme", Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Status: penstock.StatusSucceeded, StatusCode: 200,
				Target: "main", Usage: usage, Cost: 97_500, StartedAt: now, FirstTokenAt: now, FinishedAt: now,
				Attempts: []penstock.Attempt{{
					ID: ids.New(now), Subject: id, Number: 1, Target: "main", Reason: "first in order", Config: "cfg_0123456789ab", StatusCode: 200,
					Usage: usage, UsageKnown: true, Cost: 97_500, StartedAt: now, FirstTokenAt: now, FinishedAt: now,
				}},
			}
		}
		if err := s.RecordRequests(b.Context(), rs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*group), "µs/call")
}
