package itemstore

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/store/sqldb"
)

// compareAll compares what is not exported, too; no fields and empty fields are the same.
var compareAll = cmp.Options{cmp.AllowUnexported(Row{}, Fact{}, groupPlace{}, resultGroupKey{}, span{}), cmpopts.EquateEmpty()}

func drawTime(t *rapid.T) time.Time {
	return sqldb.FromMicros(rapid.Int64Range(0, 1<<52).Draw(t, "at"))
}

func drawUsage(t *rapid.T) (u penstock.Usage) {
	for i, n := range u.Counts() {
		if i < fixedCounts || rapid.Bool().Draw(t, "counted") {
			*n = rapid.Int64().Draw(t, penstock.UsageNames[i])
		}
	}
	return u
}

// drawLater is fields of a later release: none of their tags is known.
func drawLater(t *rapid.T) (f fields) {
	for range rapid.IntRange(0, 3).Draw(t, "later fields") {
		tag := rapid.Uint64Range(uint64(attemptCountTag)+maxCounts, 1<<40).Draw(t, "tag")
		f = f.add(fieldTag(tag), rapid.SliceOf(rapid.Byte()).Draw(t, "value"))
	}
	return f
}

// drawEnded is an item that ended so that it may be in a result group.
func drawEnded(t *rapid.T) *Row {
	word := rapid.SampledFrom([]string{"", "first", "second", "a longer word"})
	a := &penstock.Attempt{
		ID: penstock.ID(rapid.String().Draw(t, "id")), Number: 1, Fence: 1, Target: word.Draw(t, "target"), Reason: word.Draw(t, "reason"),
		Config: word.Draw(t, "config"), StatusCode: rapid.Int().Draw(t, "code"), Usage: drawUsage(t), UsageKnown: rapid.Bool().Draw(t, "known"),
		Cost: penstock.NanoUSD(rapid.Int64().Draw(t, "cost")), PriceVersion: word.Draw(t, "price"),
		StartedAt: drawTime(t), FirstTokenAt: drawTime(t), FinishedAt: drawTime(t),
	}
	r := &Row{Last: a, PriceVersion: a.PriceVersion, Reserved: penstock.NanoUSD(rapid.Int64().Draw(t, "reserved")), unknown: drawLater(t)}
	r.Index, r.CustomID = rapid.IntRange(0, resultGroupSpan-1).Draw(t, "n"), rapid.String().Draw(t, "custom id")
	r.Attempts, r.Target, r.StatusCode, r.Usage, r.Cost = rapid.IntRange(0, 1).Draw(t, "counted"), a.Target, a.StatusCode, a.Usage, a.Cost
	if rapid.Bool().Draw(t, "charged otherwise") {
		r.Target, r.Cost, r.Usage = word.Draw(t, "its target"), r.Cost+1, drawUsage(t)
	}
	r.Sealed.Inline = rapid.SliceOf(rapid.Byte()).Draw(t, "result")
	return r
}

// drawResults is a result group and its items as they are read.
func drawResults(t *rapid.T) (g *resultGroup, want []Row) {
	g = &resultGroup{facts: newResultFacts(1)}
	for range rapid.IntRange(1, 20).Draw(t, "items") {
		r := drawEnded(t)
		g.add(r)
		read := *r
		read.Sealed, read.group.result = Sealed{}, span{int64(len(g.results.bytes) - len(r.Sealed.Inline)), int64(len(g.results.bytes))}
		want = append(want, read)
	}
	return g, want
}

func drawFacts(t *rapid.T) (facts []Fact) {
	count := rapid.Int64Range(0, 1<<60)
	var at int64
	for range rapid.IntRange(0, 20).Draw(t, "items") {
		next := at + rapid.Int64Range(0, 1<<20).Draw(t, "sealed bytes")
		facts = append(facts, Fact{
			CustomID: rapid.String().Draw(t, "custom id"), Estimate: count.Draw(t, "estimate"), InputBytes: count.Draw(t, "bytes"),
			Reserved: penstock.NanoUSD(count.Draw(t, "reserved")), input: span{at, next}, blob: rapid.SampledFrom([]string{"", "b10b"}).Draw(t, "blob"),
			unknown: drawLater(t),
		})
		at = next
	}
	return facts
}

// TestResultFacts holds that what goes into the facts of a result group comes out of them, and that facts which were cut
// off or are of another number of items are refused.
func TestResultFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, want := drawResults(t)
		got, err := decodeResults(g.facts.buf, int64(g.items))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compareAll); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if cut := rapid.IntRange(0, len(g.facts.buf)-1).Draw(t, "cut"); cut > 0 {
			if _, err := decodeResults(g.facts.buf[:cut], int64(g.items)); err == nil {
				t.Fatalf("the first %d of %d bytes are read as a result group", cut, len(g.facts.buf))
			}
		}
		for _, items := range []int{g.items - 1, g.items + 1} {
			if _, err := decodeResults(g.facts.buf, int64(items)); err == nil {
				t.Fatalf("facts of %d items are read as those of %d", g.items, items)
			}
		}
	})
}

// TestInputFacts holds the same of input groups.
func TestInputFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawFacts(t)
		encoded := encodeInputs(want)
		got, err := decodeInputs(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compareAll); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if cut := rapid.IntRange(0, len(encoded)-1).Draw(t, "cut"); cut > 0 {
			if _, err := decodeInputs(encoded[:cut]); err == nil {
				t.Fatalf("the first %d of %d bytes are read as an input group", cut, len(encoded))
			}
		}
	})
}

// TestNewTokenClass adds token classes that a release does not know: a reader that knows fewer counts of a usage reads
// everything else, and what it writes again has lost nothing for a reader that knows them.
func TestNewTokenClass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, want := drawResults(t)
		known := rapid.IntRange(fixedCounts, len(penstock.UsageNames)).Draw(t, "counts that the release knows")
		earlier := resultReader{factReader: factReader{buf: g.facts.buf}, counts: known}
		got, err := earlier.decode(int64(g.items))
		if err != nil {
			t.Fatal(err)
		}
		again := newResultFacts(len(got))
		for i := range got {
			r := &got[i]
			if diff := cmp.Diff(firstCounts(want[i], known), firstCounts(*r, len(penstock.UsageNames)), compareAll, cmpopts.IgnoreUnexported(Row{})); diff != "" {
				t.Fatalf("a release that knows %d counts reads (-written +read):\n%s", known, diff)
			}
			r.Sealed.Inline = make([]byte, want[i].group.result.len())
			again.ended(r)
		}
		latest, err := decodeResults(again.buf, int64(g.items))
		if err != nil {
			t.Fatal(err)
		}
		for i := range latest {
			if latest[i].Usage != want[i].Usage {
				t.Fatalf("item %d used %+v; after a release that knows %d counts it is %+v", i, want[i].Usage, known, latest[i].Usage)
			}
		}
	})
}

// firstCounts is a row whose usages have only the first counts.
func firstCounts(r Row, known int) Row {
	a := *r.Last
	for _, u := range []*penstock.Usage{&r.Usage, &a.Usage} {
		counts := u.Counts()
		for _, n := range counts[known:] {
			*n = 0
		}
	}
	r.Last = &a
	return r
}

// TestFieldsAreSkipped holds that a reader keeps the fields whose tags it does not know, in their order, and reads the
// others.
func TestFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const known fieldTag = 7
		var all, later fields
		var want []int64
		for range rapid.IntRange(0, 8).Draw(t, "fields") {
			tag := fieldTag(rapid.Uint64Range(1, 9).Draw(t, "tag"))
			n := rapid.Int64().Draw(t, "value")
			all = all.addNumber(tag, n)
			if tag == known {
				want = append(want, n)
			} else {
				later = later.addNumber(tag, n)
			}
		}
		w := factWriter{}
		w.fields(all)
		w.text("behind")
		r := factReader{buf: w.buf}
		var got []int64
		unknown := r.fields(func(tag fieldTag, value *factReader) bool {
			if tag == known {
				got = append(got, value.number())
			}
			return tag == known
		})
		if r.text() != "behind" || r.broken || !slices.Equal(got, want) || string(unknown) != string(later) {
			t.Fatalf("of %x: read %v, want %v; kept %x, want %x; broken: %v", all, got, want, unknown, later, r.broken)
		}
	})
}

// TestFieldMustFit holds that a known field with another value than its tag can have breaks the facts.
func TestFieldMustFit(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fields{
		"value with bytes behind it": fields(nil).add(itemCountTag+fixedCounts, []byte{2, 2}),
		"value that is cut off":      fields(nil).add(itemCountTag+fixedCounts, []byte{0x80}),
		"length past the fields":     {0x70, 9, 1},
		"tag without a length":       {0x70},
	} {
		r := &Row{Last: &penstock.Attempt{}, unknown: f}
		w := newResultFacts(1)
		w.ended(r)
		if _, err := decodeResults(w.buf, 1); err == nil {
			t.Errorf("%s: the facts were read", name)
		}
	}
}

// TestLayouts holds what both layouts look like in bytes: a group that was written is read by every later release. If
// this fails, the layout changed and needs a number of its own.
func TestLayouts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := newResultFacts(2)
	for i, id := range []string{"row-0", "row-1"} {
		u := penstock.Usage{InputTokens: 1200 + int64(i), CachedInputTokens: 300, CacheWriteTokens: 64, OutputTokens: 90, ReasoningTokens: 7, AudioInputTokens: int64(i) * 50}
		a := &penstock.Attempt{
			ID: penstock.ID("att" + id[4:]), Target: "mini", Reason: "only", StatusCode: 200, Usage: u, UsageKnown: true, Cost: 41_200, PriceVersion: "cfg_1", Config: "cfg_1",
			StartedAt: at, FirstTokenAt: at.Add(200 * time.Millisecond), FinishedAt: at.Add(time.Second),
		}
		r := &Row{Last: a, Reserved: 90_000, PriceVersion: "cfg_1", Sealed: Sealed{Inline: []byte("sealed")}}
		r.Index, r.CustomID, r.Attempts, r.Target, r.StatusCode, r.Usage, r.Cost = i, id, 1, a.Target, a.StatusCode, u, a.Cost
		w.ended(r)
	}
	const results = "020005726f772d3002a0fe0a0c00046d696e69900301056366675f31e012d8048001b4010ee0830503046174743002046f6e6c790180c0f8daa6fda50680b51880897a00" +
		"0205726f772d3102a0fe0a0c00900301e212d8048001b4010ee08305030461747431020180c0f8daa6fda50680b51880897a03260164"
	inputs := encodeInputs([]Fact{
		{CustomID: "row-0", Estimate: 1300, InputBytes: 5000, Reserved: 90_000, input: span{0, 1800}},
		{CustomID: "row-1", Estimate: 9, InputBytes: 70_000, blob: "b10b", input: span{1800, 1800}, unknown: fields(nil).add(1, []byte("later"))},
	})
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"result group", w.buf, results},
		{"input group", inputs, "020205726f772d30940a882790bf05880e000005726f772d3109f0a204000004623130620701056c61746572"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// FuzzResultFacts holds that no bytes make the reader panic, or read more than a result group has.
func FuzzResultFacts(f *testing.F) {
	f.Add([]byte{resultLayout}, int64(1))
	f.Add([]byte{resultLayout, 2, 0, 2, 2, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 3, 0x25, 1, 2}, int64(1))
	f.Fuzz(func(t *testing.T, facts []byte, n int64) {
		items, err := decodeResults(facts, n)
		if (err == nil) == (len(items) == 0) || len(items) > resultGroupItems {
			t.Errorf("%d items, %v", len(items), err)
		}
		var at int64
		for _, r := range items {
			if r.group.result.from != at || r.group.result.to < at {
				t.Errorf("result at %+v, the one before ends at %d", r.group.result, at)
			}
			at = r.group.result.to
		}
	})
}

// FuzzInputFacts holds the same of input groups. What is read is read again from what it is written as.
func FuzzInputFacts(f *testing.F) {
	f.Add([]byte{inputLayout, 0})
	f.Add(encodeInputs([]Fact{{CustomID: "a", input: span{0, 9}, unknown: fields(nil).add(3, []byte("x"))}}))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		facts, err := decodeInputs(encoded)
		if err != nil {
			return
		}
		again, err := decodeInputs(encodeInputs(facts))
		if diff := cmp.Diff(facts, again, compareAll); err != nil || diff != "" {
			t.Errorf("%v (-first +again):\n%s", err, diff)
		}
	})
}

// TestGroupsKeepEverything holds that no field was added to an item or an attempt that groups lose. A new one
// is written as a tagged field, or is stored elsewhere; docs/items.md says how.
func TestGroupsKeepEverything(t *testing.T) {
	t.Parallel()
	fieldsOf := func(of reflect.Type) (names []string) {
		for i := range of.NumField() {
			names = append(names, of.Field(i).Name)
		}
		return names
	}
	for _, c := range []struct {
		of   reflect.Type
		kept string
	}{
		{reflect.TypeFor[penstock.Attempt](), `ID Subject Number Fence Target Reason Config Isolated ErrorKind ErrorMessage StatusCode Usage UsageKnown
			Cost PriceVersion StartedAt FirstTokenAt FinishedAt`},
		{reflect.TypeFor[penstock.Item](), `ID Job Tenant Index CustomID Status Seq Attempts Fence Target StatusCode Result Error Usage Cost FinishedAt
			Files Truncated Prompt`}, // in rows of their own
	} {
		if diff := cmp.Diff(strings.Fields(c.kept), fieldsOf(c.of)); diff != "" {
			t.Errorf("fields of %v that groups know of (-known +there):\n%s", c.of, diff)
		}
	}
}
