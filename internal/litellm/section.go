package litellm

import (
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock/internal/config"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// section is a map of the file that remembers which keys were taken, so that all others can be reported.
type section struct {
	path  string
	keys  map[string]any
	taken map[string]bool
}

func newSection(v any, path string) *section {
	keys, _ := v.(map[string]any)
	return &section{path: path, keys: keys, taken: map[string]bool{}}
}

func (s *section) at(name string) string { return strings.TrimPrefix(config.Key(s.path, name), ".") }

// left are the keys that were not taken and have a value.
func (s *section) left() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.keys)), func(name string) bool { return s.taken[name] || s.keys[name] == nil })
}

// take returns a value, nil if there is none.
func (s *section) take(name string) any {
	s.taken[name] = true
	return s.keys[name]
}

// text returns a string or a number as text.
func (s *section) text(name string) string {
	switch v := s.take(name).(type) {
	case string:
		return v
	case config.Number:
		return string(v)
	}
	return ""
}

// count returns a whole number that is not negative; ok is false for anything else that is written.
func (s *section) count(name string) (n int64, ok bool) {
	if s.keys[name] == nil {
		s.taken[name] = true
		return 0, true
	}
	n, err := strconv.ParseInt(s.text(name), 10, 64)
	return n, err == nil && n >= 0
}

const million = 1_000_000

// dollars turns a price of one, such as a token, into dollars for so many of them, rounded up to six decimals.
func dollars(perOne string, many int64) (price string, exact, ok bool) {
	r, ok := new(big.Rat).SetString(perOne)
	if !ok || r.Sign() < 0 || len(perOne) > 40 {
		return "", false, false
	}
	micro := r.Mul(r, big.NewRat(many*million, 1)) // millionths of dollars
	quotient, rest := new(big.Int).QuoRem(micro.Num(), micro.Denom(), new(big.Int))
	if exact = rest.Sign() == 0; !exact {
		quotient.Add(quotient, big.NewInt(1))
	}
	if !quotient.IsInt64() {
		return "", false, false
	}
	whole, part := quotient.Int64()/million, quotient.Int64()%million
	text := strconv.FormatInt(whole, 10) + "." + strconv.FormatInt(million+part, 10)[1:]
	return strings.TrimSuffix(strings.TrimRight(text, "0"), "."), exact, true
}

// seconds turns a number of seconds into a duration of Penstock's file.
func seconds(text string) (string, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < time.Millisecond.Seconds() || n > (24*time.Hour).Seconds() {
		return "", false
	}
	d := time.Duration(n * float64(time.Second)).Round(time.Millisecond).String()
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	return d, true
}

// clip shortens a name of the file before it is shown.
func clip(name string) string {
	const most = 60
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

var notSlug = regexp.MustCompile(`[^a-z0-9._-]+`)

// slug makes a name of Penstock's file of any text.
func slug(text string) string {
	s := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(text), "-"), "-._")
	if s == "" {
		return "target"
	}
	return s[:min(len(s), 56)] // leaves place for a number
}

// unused returns a name that is not taken: the name itself, or the name with a number.
func unused[V any](name string, taken map[string]V) string {
	if _, ok := taken[name]; !ok {
		return name
	}
	for n := 2; ; n++ {
		next := name + "-" + strconv.Itoa(n)
		if _, ok := taken[next]; !ok {
			return next
		}
	}
}
