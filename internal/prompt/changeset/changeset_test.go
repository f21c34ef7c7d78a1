package changeset_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"penstock/internal/prompt/changeset"
)

func parse(t testing.TB, text string) changeset.Set {
	t.Helper()
	s, err := changeset.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `[5]`, `[3,[2]]`, `[[0,"a"],4]`, `[[2,"x","","y"]]`, `[1,[0,"😀"],[1],2]`} {
		if got := string(parse(t, text).AppendJSON(nil)); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{
		``, `{}`, `5`, `null`, `[`, `[5`, `[-1]`, `[1.5]`, `[0]`, `[[0]]`, `[[0,""]]`, `[[]]`, `["x"]`, `[[1,2]]`, `[[0,"a\nb"]]`, `[1e300]`, `[99999999999]`,
		`[2147483647,2147483647]`, `[[0,"\ud800"]]`, `[[0,"` + "\xff" + `"]]`, `[5] 6`, `[[1,"a"]`, `[true]`, `[[0,"a",null]]`,
	} {
		if s, err := changeset.Parse([]byte(text)); err == nil {
			t.Errorf("%q is read as %s", text, s.AppendJSON(nil))
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, set, want string }{
		{"", `[]`, ""},
		{"abc", `[3]`, "abc"},
		{"abc", `[1,[1,"x","y"],1]`, "ax\nyc"},
		{"a😀b", `[1,[2],1]`, "ab"},
		{"a😀b", `[3,[0,"👍"],1]`, "a😀👍b"},
	} {
		set := parse(t, c.set)
		got, err := set.Apply(c.text)
		if err != nil || got != c.want {
			t.Errorf("%s of %q: %q, %v, want %q", c.set, c.text, got, err, c.want)
		}
		inverse, err := set.Invert(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := inverse.Apply(got); err != nil || back != c.text {
			t.Errorf("the inverse of %s makes %q, %v", c.set, back, err)
		}
	}
	for _, c := range []struct {
		text, set string
		want      error
	}{
		{"abc", `[2]`, changeset.ErrLength}, {"abc", `[4]`, changeset.ErrLength}, {"", `[[1]]`, changeset.ErrLength},
		{"😀", `[1,[1]]`, changeset.ErrSplit}, {"😀", `[1,[0,"x"],1]`, changeset.ErrSplit},
	} {
		if _, err := parse(t, c.set).Apply(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s of %q: %v, want %v", c.set, c.text, err, c.want)
		}
	}
}

func TestSetsOfOtherLengthsAreRefused(t *testing.T) {
	t.Parallel()
	x, y := parse(t, `[1,[0,"a"],1]`), parse(t, `[3]`)
	if _, err := x.Map(y, changeset.After); !errors.Is(err, changeset.ErrLength) {
		t.Errorf("map: %v", err)
	}
	if _, err := x.Compose(parse(t, `[2]`)); !errors.Is(err, changeset.ErrLength) {
		t.Errorf("compose: %v", err)
	}
	if _, _, err := changeset.Rebase([]changeset.Update{{Client: "a", Changes: x}}, []changeset.Update{{Client: "b", Changes: y}}); !errors.Is(err, changeset.ErrLength) {
		t.Errorf("rebase: %v", err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"", "", `[]`}, {"a", "a", `[1]`}, {"", "a", `[[0,"a"]]`}, {"a", "", `[[1]]`},
		{"one\ntwo\nthree\n", "one\n2\nthree\nfour\n", `[4,[3,"2"],7,[0,"four",""]]`},
		{"top\nsame\nsame\nend", "Top\nsame\nsame\nEnd", `[[1,"T"],13,[1,"E"],2]`},
		{"😀", "😁", `[[2,"😁"]]`}, {"é", "è", `[[1,"è"]]`}, {"x😀", "x", `[1,[2]]`},
	} {
		set := changeset.Diff(c.from, c.to)
		if got := string(set.AppendJSON(nil)); got != c.want {
			t.Errorf("%q to %q: %s, want %s", c.from, c.to, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from, to := randomText(random), randomText(random)
		if got, err := changeset.Diff(from, to).Apply(from); err != nil || got != to {
			t.Fatalf("%q to %q: %q, %v", from, to, got, err)
		}
	}
	long := strings.Repeat("line\n", 3000)
	other := strings.ReplaceAll(long, "i", "I")
	if got, err := changeset.Diff(long, other).Apply(long); err != nil || got != other {
		t.Errorf("long texts: %v", err)
	}
}

func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(12) {
		b.WriteString([]string{"a", "b", "\n", "line\n", "😀", "😁", "é", "è", "\r\n"}[random.IntN(9)])
	}
	return b.String()
}

// FuzzSets holds the laws of the algebra, and that no input makes it panic.
func FuzzSets(f *testing.F) {
	for _, seed := range [][3]string{{"abc", `[1,[1,"x"],1]`, `[3,[0,"y"]]`}, {"a😀b", `[1,[2],1]`, `[[4,"q"]]`}, {"", `[[0,"a"]]`, `[[0,"b"]]`}, {"😀", `[1,[1]]`, `[2]`}} {
		f.Add(seed[0], []byte(seed[1]), []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, text string, x, y []byte) {
		text = strings.ToValidUTF8(text, "")
		a, errA := changeset.Parse(x)
		b, errB := changeset.Parse(y)
		if errA != nil || errB != nil {
			return
		}
		if again, err := changeset.Parse(a.AppendJSON(nil)); err != nil || string(again.AppendJSON(nil)) != string(a.AppendJSON(nil)) {
			t.Errorf("%s is read as %s: %v", a.AppendJSON(nil), again.AppendJSON(nil), err)
		}
		_, _ = a.Compose(b)
		_, _, _ = changeset.Rebase([]changeset.Update{{Client: "a", Changes: a}}, []changeset.Update{{Client: "b", Changes: b}, {Client: "a", Changes: a}})
		for _, at := range []int{0, 1, 5, 1 << 30} {
			if p := a.Position(at, changeset.Left); p < 0 || p > a.NewLength() {
				t.Errorf("position %d became %d of %d", at, p, a.NewLength())
			}
		}
		afterA, errA := a.Apply(text)
		afterB, errB := b.Apply(text)
		if errA != nil || errB != nil {
			return
		}
		bOverA, err := b.Map(a, changeset.After)
		if err != nil {
			t.Fatal(err)
		}
		aOverB, err := a.Map(b, changeset.Before)
		if err != nil {
			t.Fatal(err)
		}
		one, err := bOverA.Apply(afterA)
		if err != nil {
			t.Fatal(err)
		}
		other, err := aOverB.Apply(afterB)
		if err != nil || one != other {
			t.Errorf("%q: %q and %q, %v", text, one, other, err)
		}
		sum, err := a.Compose(bOverA)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := sum.Apply(text); err != nil || at != one {
			t.Errorf("composed: %q, want %q, %v", at, one, err)
		}
	})
}
