package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"penstock"
)

// fill sets every field of a value to something that is not zero, so that a field that is added later and not encoded is
// found.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(1_800_000_000_000_000 + *n).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d\x00ü", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(-*n * 1_000_003)
	case reflect.Uint8:
		v.SetUint(uint64(*n%255) + 1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			fill(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			name, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(name, n)
			fill(value, n)
			v.SetMapIndex(name, value)
		}
	default:
		panic(v.Kind())
	}
}

func record(id string) *penstock.Request {
	return &penstock.Request{ID: penstock.ID(id), Tenant: "acme", Endpoint: penstock.EndpointChat, Model: "fast", Status: penstock.StatusSucceeded,
		Attempts: []penstock.Attempt{{ID: "A", Subject: penstock.ID(id), Number: 1, Target: "main"}}}
}

func TestEveryFieldIsKept(t *testing.T) {
	t.Parallel()
	var whole penstock.Request
	n := int64(0)
	fill(reflect.ValueOf(&whole).Elem(), &n)
	for name, r := range map[string]penstock.Request{"all fields": whole, "few fields": *record("01R")} {
		payloads, lost := frames(appendFrame(nil, &r))
		if len(payloads) != 1 || lost != 0 {
			t.Fatalf("%s: %d frames, %d lost", name, len(payloads), lost)
		}
		got, err := decode(payloads[0])
		if diff := cmp.Diff(r, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
		}
	}
}

func TestAppendingAllocatesNothing(t *testing.T) {
	j := open(t, t.TempDir())
	r, frame := record("01R"), []byte(nil)
	append := func() { // with the buffer that Append borrows
		frame = appendFrame(frame[:0], r)
		if _, err := j.append(frame); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, append); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func open(t *testing.T, dir string) *Journal {
	t.Helper()
	j, err := Open(Config{Dir: dir, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// die ends a process abruptly: its files remain, its locks end.
func (j *Journal) die(segments ...*segment) {
	for _, s := range append(segments, append(j.spare, j.current)...) {
		_ = s.file.Close()
	}
}

// replayed replays a directory, and returns the IDs that it found.
func replayed(t *testing.T, dir string) (ids []string, found Replayed) {
	t.Helper()
	found, err := Replay(t.Context(), dir, func(_ context.Context, rs []penstock.Request) error {
		for _, r := range rs {
			ids = append(ids, string(r.ID))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids, found
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	return names
}

func TestTheDeadAreReplayedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	first := j.Append(record("01A"))
	second := j.Append(record("01B"))
	sealed := j.current
	j.Seal()
	j.Append(record("01C"))
	j.Done(first)
	if ids, _ := replayed(t, dir); len(ids) > 0 {
		t.Fatalf("%v of a living process were replayed", ids)
	}
	j.die(sealed)
	// The first one is handed over again, since its segment has an open record; the database knows it.
	if ids, found := replayed(t, dir); !slices.Equal(ids, []string{"01A", "01B", "01C"}) || found.Segments != 2 || found.Lost != 0 {
		t.Errorf("%v, %+v", ids, found)
	}
	if ids, _ := replayed(t, dir); len(ids) > 0 || len(files(t, dir)) > 0 {
		t.Errorf("%v are replayed again, %v are left", ids, files(t, dir))
	}
	_ = second
}

func TestWhatTheDatabaseHasIsEmptied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	for range 50 { // rounds of the recorder
		var marks []Mark
		for i := range 100 {
			marks = append(marks, j.Append(record(fmt.Sprintf("01%03d", i))))
			if i == 50 {
				j.Seal()
			}
		}
		for _, m := range marks {
			j.Done(m)
		}
	}
	if j.bytes != 0 || len(files(t, dir)) > 1+spareSegments || j.count != len(files(t, dir)) {
		t.Errorf("%d bytes in %d segments, files %v", j.bytes, j.count, files(t, dir))
	}
	for _, name := range files(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != 0 {
			t.Errorf("%s has %d bytes, %v", name, info.Size(), err)
		}
	}
	if err := j.Close(); err != nil || len(files(t, dir)) > 0 {
		t.Errorf("%v are left, %v", files(t, dir), err)
	}
}

// A record that the database refuses stays, also when the process ends in good order.
func TestWhatIsOpenStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	refused := j.Append(record("01BAD"))
	j.Seal()
	for i := range 4 * MaxSegments {
		j.Done(j.Append(record(fmt.Sprint("01", i))))
		j.Seal()
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if ids, _ := replayed(t, dir); len(ids) > 0 {
		t.Errorf("%v were replayed while the process lives", ids)
	}
	_ = refused.segment.file.Close()
	if ids, _ := replayed(t, dir); !slices.Equal(ids, []string{"01BAD"}) {
		t.Errorf("%v were replayed", ids)
	}
}

func TestSegmentsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	for i := range 4 * MaxSegments { // none of them gets done
		j.Append(record(fmt.Sprint("01", i)))
		j.Seal()
	}
	if n := len(files(t, dir)); n != MaxSegments {
		t.Errorf("%d segments, want %d", n, MaxSegments)
	}
	j.bytes = MaxBytes
	failed := 0
	j.Failed = func(error) { failed++ }
	if m := j.Append(record("01X")); m != (Mark{}) || failed != 1 {
		t.Error("a full journal takes a record")
	}
	j.bytes = 0
	large := record("01Y")
	large.Error = strings.Repeat("x", MaxRecordBytes)
	if m := j.Append(large); m != (Mark{}) || failed != 2 {
		t.Error("a huge record is taken")
	}
}

// However a segment was cut or damaged, every other record is found, and nothing is made up.
func TestDamageCostsNoOtherRecord(t *testing.T) {
	t.Parallel()
	var text []byte
	var ends []int
	const n = 5
	for i := range n {
		text = append(text, appendFrame(nil, record(fmt.Sprint("01", i)))...)
		ends = append(ends, len(text))
	}
	for at := range text {
		frame := slices.IndexFunc(ends, func(end int) bool { return at < end })
		payloads, lost := frames(text[:at]) // torn
		if len(payloads) != frame || lost != 0 {
			t.Fatalf("torn at %d: %d frames, %d lost", at, len(payloads), lost)
		}
		damaged := slices.Clone(text)
		damaged[at] ^= 0x41
		payloads, lost = frames(damaged)
		wantLost := 1
		if frame == n-1 {
			wantLost = 0 // it cannot be told from a torn one
		}
		if len(payloads) != n-1 || lost != wantLost {
			t.Fatalf("damaged at %d: %d frames, %d lost", at, len(payloads), lost)
		}
	}
}

func TestDamageIsReportedAndPassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	for _, id := range []string{"01A", "01B", "01C"} {
		j.Append(record(id))
	}
	name := segmentName(j.current.file)
	j.die()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(name, append(text, "torn"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, found := replayed(t, dir); !slices.Equal(ids, []string{"01A", "01C"}) || found.Lost != 1 {
		t.Errorf("%v, %+v", ids, found)
	}
}

func TestWhatCannotBeRecordedWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	j.Append(record("01A"))
	j.die()
	away := errors.New("the database is away")
	if _, err := Replay(t.Context(), dir, func(context.Context, []penstock.Request) error { return away }); !errors.Is(err, away) {
		t.Fatal(err)
	}
	if ids, _ := replayed(t, dir); !slices.Equal(ids, []string{"01A"}) {
		t.Errorf("%v were replayed", ids)
	}
}

func TestFilesOfACallAreKept(t *testing.T) {
	t.Parallel()
	want := record("01A")
	want.Files = []penstock.AttachedFile{{Path: "messages[0]", File: "01B", MediaType: "image/png", Bytes: 3, SHA256: "ab"}, {Path: "messages[1]"}}
	want.Labels = penstock.Labels{Subject: "u", Tags: map[string]string{"team": "search"}}
	frame := appendFrame(nil, want)
	got, err := decode(frame[headBytes:])
	if err != nil || !slices.Equal(got.Files, want.Files) || got.Subject != "u" || got.Tags["team"] != "search" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTruncationOfACallIsKept(t *testing.T) {
	t.Parallel()
	want := record("01A")
	want.Truncated = &penstock.Truncation{Policy: penstock.OverflowTruncateMiddle, Turns: 3, TokensBefore: 9000, TokensAfter: 4000, ContextTokens: 8192}
	want.Labels = penstock.Labels{Subject: "u"}
	frame := appendFrame(nil, want)
	got, err := decode(frame[headBytes:])
	if err != nil || got.Truncated == nil || *got.Truncated != *want.Truncated || got.Subject != "u" || got.Files != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPromptOfACallIsKept(t *testing.T) {
	t.Parallel()
	want := record("01A")
	want.Prompt = &penstock.PromptCall{PromptUse: penstock.PromptUse{Name: "a/b", Version: 3, SHA256: "5f1c", Label: "production"}, Variables: []byte{0, 1, 2}}
	frame := appendFrame(nil, want)
	got, err := decode(frame[headBytes:])
	if err != nil || got.Prompt == nil || got.Prompt.PromptUse != want.Prompt.PromptUse || string(got.Prompt.Variables) != "\x00\x01\x02" || got.Truncated != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOtherVersionsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	frame := appendFrame(nil, record("01A"))
	frame[headBytes] = promptedVersion + 1
	seal(frame)
	name := filepath.Join(dir, "x"+suffix)
	if err := os.WriteFile(name, frame, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(t.Context(), dir, nil); !errors.Is(err, errVersion) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}

// A file that fails loses no record that comes after it, and the failure is told.
func TestAFailureIsTold(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir())
	var failures []error
	j.Failed = func(err error) { failures = append(failures, err) }
	_ = j.current.file.Close()
	if m := j.Append(record("01A")); m != (Mark{}) || len(failures) != 1 {
		t.Errorf("%v, %v", m, failures)
	}
	j.Done(Mark{})
	var none *Journal
	none.Seal()
	none.Done(none.Append(record("01A")))
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, record("01A")), record("01B")))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, text []byte) {
		payloads, _ := frames(text)
		for _, p := range payloads {
			if r, err := decode(p); err == nil && (r.ID == "" || r.Tenant == "") {
				t.Errorf("a record of nobody: %+v", r)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j, err := Open(Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	r := record("01JQ0000000000000000000000")
	marks := make([]Mark, 0, 500)
	b.ReportAllocs()
	for b.Loop() {
		if marks = append(marks, j.Append(r)); len(marks) == cap(marks) { // what the recorder does every 100 ms
			j.Seal()
			for _, m := range marks {
				j.Done(m)
			}
			marks = marks[:0]
		}
	}
}
