package telemetry

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of label values.
const (
	// DefaultMaxLabels is how many distinct values a label may take beside the admitted ones.
	DefaultMaxLabels = 200
	// MaxLabelBytes is the length of the longest value that is kept.
	MaxLabelBytes = 128
)

// The values that stand for names which are not shown.
const (
	LabelOther = "other" // too many, too long, or not text
	LabelNone  = "none"  // empty
)

// Labels bounds the values of one label, so that a caller who invents names cannot grow the metrics
// without end. The first names to come are kept; all past the limit become [LabelOther].
type Labels struct {
	limit int

	mu     sync.RWMutex
	kept   map[string]label
	guests int // kept without having been admitted
}

type label struct {
	value    string
	admitted bool
}

// NewLabels makes a limiter. A limit of 0 means [DefaultMaxLabels].
func NewLabels(limit int) *Labels {
	if limit == 0 {
		limit = DefaultMaxLabels
	}
	return &Labels{limit: limit, kept: make(map[string]label)}
}

// Admit keeps names whatever else was or will be seen. It is for names out of the configuration, whose
// number an operator bounds; they do not count against the limit.
func (l *Labels) Admit(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if !isLabel(name) {
			continue
		}
		if known, ok := l.kept[name]; ok && !known.admitted {
			l.guests--
		}
		l.kept[name] = label{value: name, admitted: true}
	}
}

// Value returns the label value to use for a name.
func (l *Labels) Value(name string) string {
	if name == "" {
		return LabelNone
	}
	l.mu.RLock()
	known, ok := l.kept[name]
	full := l.guests >= l.limit
	l.mu.RUnlock()
	switch {
	case ok:
		return known.value
	case full || !isLabel(name):
		return LabelOther
	}
	return l.keep(name)
}

func (l *Labels) keep(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.kept[name]; ok {
		return known.value
	}
	if l.guests >= l.limit {
		return LabelOther
	}
	name = strings.Clone(name) // what we keep must not hold on to the request it was cut from
	l.kept[name] = label{value: name}
	l.guests++
	return name
}

// isLabel reports whether a name can be a label value. Prometheus panics on invalid UTF-8.
func isLabel(name string) bool {
	return name != "" && len(name) <= MaxLabelBytes && utf8.ValidString(name)
}
