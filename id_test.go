package penstock

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testMoment = time.Date(2026, 11, 15, 6, 0, 0, 123_000_000, time.UTC)

func TestIDsOfOneMomentAscend(t *testing.T) {
	t.Parallel()
	var g IDs
	last := g.New(testMoment)
	for range 10_000 {
		id := g.New(testMoment)
		if id <= last {
			t.Fatalf("%s came after %s", id, last)
		}
		if !id.Valid() || !id.Time().Equal(testMoment) {
			t.Fatalf("%s: valid %v, time %v; want a ULID of %v", id, id.Valid(), id.Time(), testMoment)
		}
		last = id
	}
}

func TestIDsAscendWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	var g IDs
	last := g.New(testMoment)
	for _, step := range []time.Duration{time.Millisecond, -time.Hour, 0, time.Minute, -time.Second, time.Hour} {
		id := g.New(testMoment.Add(step))
		if id <= last {
			t.Errorf("clock at %+v: %s came after %s", step, id, last)
		}
		last = id
	}
}

func TestIDsAreUniqueUnderConcurrency(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 2_000
	var g IDs
	var wg sync.WaitGroup
	made := make([][]ID, goroutines)
	for i := range made {
		wg.Go(func() {
			for range each {
				made[i] = append(made[i], g.New(testMoment))
			}
		})
	}
	wg.Wait()
	for i, ids := range made {
		if !slices.IsSorted(ids) {
			t.Errorf("goroutine %d saw IDs go back", i)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(made...)))
	if got := len(slices.Compact(all)); got != goroutines*each {
		t.Errorf("%d different IDs, want %d", got, goroutines*each)
	}
}

func TestIDTimeIsThatOfItsMoment(t *testing.T) {
	t.Parallel()
	for _, moment := range []time.Time{
		time.UnixMilli(1), testMoment, time.Date(9999, 12, 31, 23, 59, 59, 999_000_000, time.UTC),
	} {
		var g IDs
		if got := g.New(moment).Time(); !got.Equal(moment) {
			t.Errorf("ID of %v says %v", moment, got)
		}
	}
	if got := ID("not an id").Time(); !got.IsZero() {
		t.Errorf("a malformed ID says %v", got)
	}
}

// maxItems is how many items a job can have before the last one reaches the next ID.
const maxItems = 1<<32 - 1

func TestItemIDsOfTwoJobsNeverOverlap(t *testing.T) {
	t.Parallel()
	var g IDs
	before := g.New(testMoment)
	for range 1_000 {
		job := g.New(testMoment)
		if first, last := ItemID(before, 0), ItemID(before, maxItems-1); first <= before || last >= job {
			t.Fatalf("items of %s are %s to %s, which does not lie before the next job %s", before, first, last, job)
		}
		before = job
	}
}

func TestItemIDsAreContiguousAndInTheirJobsMillisecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var g IDs
		job := g.New(time.UnixMilli(rapid.Int64Range(1, 1<<47).Draw(t, "ms")))
		n := rapid.IntRange(0, maxItems-2).Draw(t, "n")
		item, next := ItemID(job, n), ItemID(job, n+1)
		a, _ := item.number()
		b, _ := next.number()
		if a.plus(1) != b || item <= job || next <= item {
			t.Fatalf("items %d and %d of %s are %s and %s", n, n+1, job, item, next)
		}
		if !item.Valid() || !item.Time().Equal(job.Time()) {
			t.Fatalf("item %s of job %s is of %v, not %v", item, job, item.Time(), job.Time())
		}
	})
}

func TestItemIDsAreThoseOfTheSingleItems(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var g IDs
		job := g.New(testMoment)
		first, count := rapid.IntRange(0, maxItems-100).Draw(t, "first"), rapid.IntRange(0, 80).Draw(t, "count")
		ids := ItemIDs(job, first, count)
		if len(ids) != count {
			t.Fatalf("%d ids, want %d", len(ids), count)
		}
		for n, id := range ids {
			if want := ItemID(job, first+n); id != want {
				t.Fatalf("item %d is %s, want %s", first+n, id, want)
			}
		}
	})
}

// A clear bit below the clock's leaves space for item numbers: counting up never reaches the next millisecond.
func TestItemNumbersNeverReachTheClock(t *testing.T) {
	t.Parallel()
	for range 200 {
		var g IDs
		n, err := g.New(testMoment).number()
		if err != nil {
			t.Fatal(err)
		}
		if random := n.hi & 0xffff; random&0x8000 != 0 {
			t.Fatalf("the top random bit of %s is set", n.id())
		}
	}
}

func TestItemOfMalformedJobPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a malformed job has an item")
		}
	}()
	ItemID("job_01", 0)
}

func TestKnownIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n  u128
		id ID
	}{
		{u128{0, 0}, "00000000000000000000000000"},
		{u128{0, 1}, "00000000000000000000000001"},
		{u128{0, 31}, "0000000000000000000000000Z"},
		{u128{0, 32}, "00000000000000000000000010"},
		{u128{1, 0}, "0000000000000G000000000000"},
		{u128{^uint64(0), ^uint64(0)}, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
	} {
		if got := tt.n.id(); got != tt.id {
			t.Errorf("%x is %s, want %s", tt.n, got, tt.id)
		}
		if got, err := tt.id.number(); err != nil || got != tt.n {
			t.Errorf("%s is %x, %v; want %x", tt.id, got, err, tt.n)
		}
	}
}

func TestViewParseRejects(t *testing.T) {
	t.Parallel()
	const good = "01JQ0000000000000000000000"
	for name, s := range map[string]string{
		"nothing":                   "",
		"no prefix":                 good,
		"another view":              "item_" + good,
		"prefix alone":              "job_",
		"prefix twice":              "job_job_" + good,
		"too short":                 "job_" + good[1:],
		"too long":                  "job_" + good + "0",
		"lower case":                "job_" + strings.ToLower(good),
		"character outside base 32": "job_" + good[:25] + "U",
		"an I":                      "job_" + good[:25] + "I",
		"an O":                      "job_" + good[:25] + "O",
		"more than 128 bits":        "job_8" + good[1:],
		"a sign before zero":        "job_/" + good[1:],
		"space behind":              "job_" + good[:25] + " ",
		"upper-case prefix":         "JOB_" + good,
		"many bytes, 26 runes":      "job_" + strings.Repeat("é", 26),
		"a zero byte":               "job_" + good[:25] + "\x00",
	} {
		if id, err := ViewJob.Parse(s); err == nil || id != "" {
			t.Errorf("%s: %q was read as %q, %v", name, s, id, err)
		}
	}
}

func TestViewParseErrorsAreBounded(t *testing.T) {
	t.Parallel()
	for _, s := range []string{strings.Repeat("x", 1<<20), "job_" + strings.Repeat("é", 1<<20)} {
		if _, err := ViewJob.Parse(s); err == nil || len(err.Error()) > 400 {
			t.Errorf("error of %d bytes for %d bytes of input", len(err.Error()), len(s))
		}
	}
}

func TestViewsKeepIDsApart(t *testing.T) {
	t.Parallel()
	views := []View{ViewJob, ViewItem, ViewRequest, ViewAttempt, ViewEvent}
	var g IDs
	id := g.New(testMoment)
	for _, formatted := range views {
		for _, parsed := range views {
			got, err := parsed.Parse(formatted.Format(id))
			if same := parsed == formatted; (err == nil) != same || same && got != id {
				t.Errorf("%s read as %s: %q, %v", formatted.Format(id), parsed, got, err)
			}
		}
	}
}

func FuzzViewParse(f *testing.F) {
	for _, seed := range []string{
		"job_01JQ0000000000000000000000", "job_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "job_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "job_", "item_x", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ViewJob.Parse(s)
		if err != nil {
			return
		}
		if ViewJob.Format(id) != s {
			t.Errorf("%q was read as %q", s, id)
		}
		n, err := id.number()
		if err != nil || n.id() != id {
			t.Errorf("%q does not survive a round trip: %q, %v", id, n.id(), err)
		}
	})
}

// Messages have the word for the object, not the prefix of its IDs.
func TestViewParseNamesTheObject(t *testing.T) {
	t.Parallel()
	for view, want := range map[View]string{ViewRequest: "request", ViewJob: "job", ViewDelivery: "delivery", ViewMessageBatch: "message batch"} {
		if _, err := view.Parse("nope"); err == nil || !strings.Contains(err.Error(), "is not a valid "+want+" id") {
			t.Errorf("%s: %v", view, err)
		}
	}
}
