package sqlstore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock"
)

func drawUsage(t *rapid.T) (u penstock.Usage) {
	counts := u.Counts()
	for i, n := range counts[:resultGroupCounts] {
		*n = rapid.Int64().Draw(t, penstock.UsageNames[i])
	}
	return u
}

func drawTime(t *rapid.T) time.Time {
	return fromMicros(rapid.Int64Range(0, 1<<52).Draw(t, "at"))
}

// drawGrouped is an item that ended so that it may lie in a result group.
func drawGrouped(t *rapid.T) *itemRow {
	word := rapid.SampledFrom([]string{"", "first", "second", "a longer word"})
	a := &penstock.Attempt{
		ID: penstock.ID(rapid.String().Draw(t, "id")), Number: 1, Fence: 1, Target: word.Draw(t, "target"), Reason: word.Draw(t, "reason"),
		Config: word.Draw(t, "config"), StatusCode: rapid.Int().Draw(t, "code"), Usage: drawUsage(t), UsageKnown: rapid.Bool().Draw(t, "known"),
		Cost: penstock.NanoUSD(rapid.Int64().Draw(t, "cost")), PriceVersion: word.Draw(t, "price"),
		StartedAt: drawTime(t), FirstTokenAt: drawTime(t), FinishedAt: drawTime(t),
	}
	r := &itemRow{last: a, price: a.PriceVersion, reserved: penstock.NanoUSD(rapid.Int64().Draw(t, "reserved"))}
	r.Index, r.CustomID = rapid.IntRange(0, resultGroupSpan-1).Draw(t, "n"), rapid.String().Draw(t, "custom id")
	r.Attempts, r.Target, r.StatusCode, r.Usage, r.Cost = rapid.IntRange(0, 1).Draw(t, "counted"), a.Target, a.StatusCode, a.Usage, a.Cost
	if rapid.Bool().Draw(t, "told otherwise") {
		r.Target, r.Cost, r.Usage = word.Draw(t, "its target"), r.Cost+1, drawUsage(t)
	}
	r.result.inline = rapid.SliceOf(rapid.Byte()).Draw(t, "result")
	return r
}

// TestResultGroupFacts holds that what goes into a result group comes out of it.
func TestResultGroupFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &resultGroup{facts: newFactWriter(1)}
		var want []itemRow
		for range rapid.IntRange(1, 20).Draw(t, "items") {
			r := drawGrouped(t)
			h.add(r)
			from := int64(h.bytes - len(r.result.inline))
			kept := *r
			kept.result, kept.lies.result = placed{}, span{from, int64(h.bytes)}
			want = append(want, kept)
		}
		got, err := decodeResultGroup(h.facts.buf, int64(h.items))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(itemRow{}, placed{}, inResultGroup{}, resultGroupOf{}, span{})); diff != "" {
			t.Fatalf("facts (-want +got):\n%s", diff)
		}
		if _, err := decodeResultGroup(h.facts.buf[:len(h.facts.buf)-1], int64(h.items)); err == nil {
			t.Fatal("facts that were cut off can be read")
		}
		for _, items := range []int{h.items - 1, h.items + 1} {
			if _, err := decodeResultGroup(h.facts.buf, int64(items)); err == nil {
				t.Fatalf("facts of %d items are taken for those of %d", h.items, items)
			}
		}
	})
}

// TestResultGroupOfAnEarlierVersion reads what the version wrote that knew five counts, and holds that facts are still
// written so: while versions are mixed, that one reads them.
func TestResultGroupOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	facts, err := hex.DecodeString("010005726f772d3002a0fe0a0c00046d696e69900301056366675f31e012d8048001b4010ee0830503046174743002046f6e6c79" +
		"0180c0e9cb8ddca10680b51880897a0205726f772d3102a0fe0a0c00900301e212d8048001b4010ee08305030461747431020180c0e9cb8ddca10680b51880897a")
	if err != nil {
		t.Fatal(err)
	}
	items, err := decodeResultGroup(facts, 2)
	if err != nil {
		t.Fatal(err)
	}
	again := newFactWriter(len(items))
	for i := range items {
		r := &items[i]
		want := penstock.Usage{InputTokens: 1200 + int64(i), CachedInputTokens: 300, CacheWriteTokens: 64, OutputTokens: 90, ReasoningTokens: 7}
		if r.Usage != want || r.last.Usage != want || r.Cost != 41_200 || r.CustomID != fmt.Sprintf("row-%d", i) || r.last.ID != penstock.ID(fmt.Sprintf("att%d", i)) {
			t.Errorf("item %d: %+v, attempt %+v", i, r.Item, r.last)
		}
		r.result.inline = []byte("sealed")
		again.grouped(r)
	}
	if !bytes.Equal(again.buf, facts) {
		t.Errorf("written again they are %x", again.buf)
	}
}

// FuzzResultGroupFacts holds that no bytes make the reader panic, or read more than a result group has.
func FuzzResultGroupFacts(f *testing.F) {
	f.Add([]byte{resultGroupFormat}, int64(1))
	f.Add([]byte{resultGroupFormat, 2, 0, 2, 2, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0}, int64(1))
	f.Fuzz(func(t *testing.T, facts []byte, n int64) {
		items, err := decodeResultGroup(facts, n)
		if (err == nil) == (len(items) == 0) || len(items) > resultGroupItems {
			t.Errorf("%d items, %v", len(items), err)
		}
		var at int64
		for _, r := range items {
			if r.lies.result.from != at || r.lies.result.to < at {
				t.Errorf("result at %+v, the one before ends at %d", r.lies.result, at)
			}
			at = r.lies.result.to
		}
	})
}

// TestResultGroupKeepsEverything holds that no field was added that a result group would forget. Whoever adds one writes it in
// factWriter, under a new format, or knows that it is told elsewhere.
func TestResultGroupKeepsEverything(t *testing.T) {
	t.Parallel()
	fields := func(of reflect.Type) (names []string) {
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
		{reflect.TypeFor[penstock.Item](), `ID Job Tenant Index CustomID Status Seq Attempts Fence Target StatusCode Result Error Usage Cost FinishedAt`},
	} {
		if diff := cmp.Diff(strings.Fields(c.kept), fields(c.of)); diff != "" {
			t.Errorf("fields of %v that a result group knows of (-known +there):\n%s", c.of, diff)
		}
	}
}
