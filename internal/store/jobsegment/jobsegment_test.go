package jobsegment

import (
	"fmt"
	"testing"
	"time"

	"penstock"
	"penstock/internal/store"
)

func sampleJobs(n int) []Job {
	jobs := make([]Job, n)
	statuses := []penstock.Status{penstock.StatusSucceeded, penstock.StatusFailed, penstock.StatusQueued}
	for i := range jobs {
		jobs[i] = Job{
			ID:      penstock.FirstID(time.UnixMilli(int64(i))),
			Group:   Group{Status: statuses[i%3], Lane: penstock.LaneBulk, Model: fmt.Sprintf("m%d", i%5), Key: "app"},
			Tags:    fmt.Sprintf(`{"n":"%d"}`, i%7),
			Created: int64(1000*i - i%2*5000), // not in the order of the ids
		}
	}
	return jobs
}

// TestSelect compares what a segment selects with what the jobs say, for filters of every kind.
func TestSelect(t *testing.T) {
	t.Parallel()
	jobs := sampleJobs(500)
	facts, ids := Encode(jobs)
	s, err := Decode(facts)
	if err != nil || s.Jobs != len(jobs) {
		t.Fatalf("%d jobs, %v", s.Jobs, err)
	}
	for name, f := range map[string]store.JobFilter{
		"all":     {},
		"status":  {Statuses: []penstock.Status{penstock.StatusFailed}},
		"models":  {Models: []string{"m1", "m3"}},
		"tag":     {TagKey: "n", TagValue: "4"},
		"no tag":  {TagKey: "n", TagValue: "44"},
		"created": {CreatedAfter: time.UnixMicro(100_000), CreatedUntil: time.UnixMicro(200_000)},
		"several": {Statuses: []penstock.Status{penstock.StatusSucceeded}, Models: []string{"m0"}, Keys: []string{"app"}, TagKey: "n", TagValue: "3"},
	} {
		m, err := NewMatcher(f)
		if err != nil {
			t.Fatal(err)
		}
		var got []Found
		if err := s.Select(m, func(x Found) { got = append(got, x) }); err != nil {
			t.Fatal(err)
		}
		n := 0
		for i, j := range jobs {
			want := min(m.group(&j.Group), tagMatch(f, i))
			if f.CreatedAfter != (time.Time{}) && (j.Created <= 100_000 || j.Created > 200_000) {
				want = No
			}
			if want == No {
				continue
			}
			if n >= len(got) || got[n] != (Found{i, got[n].Group, j.Created, want}) || s.Groups[got[n].Group] != j.Group {
				t.Fatalf("%s: job %d is not found as %v: %+v", name, i, want, got[n:min(n+1, len(got))])
			}
			if id, err := ID(ids, i); err != nil || id != j.ID {
				t.Fatalf("%s: id %d is %s, %v", name, i, id, err)
			}
			n++
		}
		if n != len(got) {
			t.Errorf("%s: %d jobs, want %d", name, len(got), n)
		}
	}
}

func tagMatch(f store.JobFilter, i int) Match {
	if f.TagKey == "" || fmt.Sprint(i%7) == f.TagValue {
		return Yes
	}
	return No
}

// TestTagsAreMatchedByMeaning holds that a text that only looks like the tag does not match.
func TestTagsAreMatchedByMeaning(t *testing.T) {
	t.Parallel()
	facts, _ := Encode([]Job{{ID: penstock.FirstID(time.UnixMilli(1)), Tags: `{"1":"x,",":":"y"}`}, {ID: penstock.FirstID(time.UnixMilli(2)), Tags: `{"a":"\"b\":\"c\""}`}})
	s, err := Decode(facts)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range [][2]string{{",", ":"}, {"b", "c"}} {
		m, err := NewMatcher(store.JobFilter{TagKey: tag[0], TagValue: tag[1]})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Select(m, func(x Found) { t.Errorf("tag %q matches job %d", tag, x.Position) }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyTagsAreLeftOut holds that tags that differ from job to job do not make the facts large, and that such jobs may match.
func TestManyTagsAreLeftOut(t *testing.T) {
	t.Parallel()
	jobs := sampleJobs(Size)
	for i := range jobs {
		jobs[i].Tags = fmt.Sprintf(`{"run":"%032d"}`, i)
	}
	facts, _ := Encode(jobs)
	if len(facts) > 16*Size {
		t.Errorf("%d jobs take %d bytes", Size, len(facts))
	}
	s, err := Decode(facts)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMatcher(store.JobFilter{TagKey: "run", TagValue: "1"})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s.Select(m, func(x Found) {
		if n++; x.Match != Maybe {
			t.Fatalf("job %d matches as %d", x.Position, x.Match)
		}
	}); err != nil || n != Size {
		t.Errorf("%d jobs may match, %v", n, err)
	}
}

// FuzzDecode holds that broken facts are an error and not a panic.
func FuzzDecode(f *testing.F) {
	facts, _ := Encode(sampleJobs(20))
	f.Add(facts)
	f.Add(facts[:len(facts)-3])
	f.Fuzz(func(t *testing.T, facts []byte) {
		s, err := Decode(facts)
		if err != nil {
			return
		}
		m, err := NewMatcher(store.JobFilter{TagKey: "n", TagValue: "1"})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Select(m, func(Found) {}) // an error, or none
	})
}
