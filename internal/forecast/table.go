package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Table is part of a result, for people.
type Table struct {
	Title  string
	Header []string
	Rows   [][]string
}

// Tables shows a result: what became of the items by lane and by tenants, and how the targets were used.
func (r *Result) Tables() []Table {
	return []Table{
		rowTable("lane", r.Lanes), waitTable("lane", r.Lanes),
		rowTable("tenants", r.Tenants), waitTable("tenants", r.Tenants),
		targetTable(r.Targets),
	}
}

// Summary says in a sentence what was played.
func (r *Result) Summary() string {
	text := fmt.Sprintf("%s measured", seconds(r.Seconds))
	if r.WarmUp > 0 {
		text += fmt.Sprintf(" after %s of warm-up", seconds(r.WarmUp))
	}
	text += fmt.Sprintf("; %s × %s slots, %s used", plural(r.Processes, "process", "processes"), count(int64(r.Slots/r.Processes)), percent(r.SlotsUsed))
	if r.PoolRefreshes > 0 {
		text += fmt.Sprintf("; %s refreshes of shared limits per second", number(r.PoolRefreshes))
	}
	return text + "."
}

// rowTable tells what became of items.
func rowTable(what string, rows []Row) Table {
	t := Table{Title: "Work by " + what, Header: []string{
		what, "submitted", "succeeded", "failed", "refused", "left", "items/s", "tokens/s", "attempts", "retries", "due", "jain",
	}}
	for _, r := range rows {
		due, jain := "", ""
		if r.Judged > 0 {
			due = percent(r.Due)
		}
		if r.Jain > 0 {
			jain = strconv.FormatFloat(r.Jain, 'f', 4, 64)
		}
		t.Rows = append(t.Rows, []string{
			r.label(), count(r.Submitted), count(r.Succeeded), count(r.Failed + r.Expired), count(r.Refused),
			count(int64(r.Waiting + r.Running)), number(r.ItemsPerSecond), number(r.TokensPerSecond),
			count(r.Attempts), count(r.Retries), due, jain,
		})
	}
	return t
}

func (r *Row) label() string {
	if r.Tenants > 1 && r.Name != string(r.Lane) {
		return fmt.Sprintf("%s × %s", r.Name, count(int64(r.Tenants)))
	}
	return r.Name
}

// waitTable tells how long items waited, and how long they took in all.
func waitTable(what string, rows []Row) Table {
	t := Table{Title: "Time by " + what, Header: []string{
		what, "wait p50", "p95", "p99", "max", "total p50", "p95", "p99", "max",
	}}
	for _, r := range rows {
		t.Rows = append(t.Rows, append(append([]string{r.label()}, r.Wait.cells()...), r.Total.cells()...))
	}
	return t
}

func (s Spread) cells() []string {
	return []string{duration(s.P50), duration(s.P95), duration(s.P99), duration(s.Max)}
}

func targetTable(targets []TargetResult) Table {
	t := Table{Title: "Targets", Header: []string{
		"target", "attempts", "answers", "429s", "other errors", "items/s", "tokens/s", "latency p50", "p95", "at a time", "peak", "used",
	}}
	for _, r := range targets {
		others := -r.Limited
		for _, n := range r.Errors {
			others += n
		}
		t.Rows = append(t.Rows, []string{
			r.Name, count(r.Attempts), count(r.Answers), count(r.Limited), count(others), number(r.ItemsPerSecond),
			number(r.TokensPerSecond), duration(r.Latency.P50), duration(r.Latency.P95), number(r.Running), count(int64(r.Peak)), used(r.Used),
		})
	}
	return t
}

// used lists the limits of a target, the tightest first.
func used(parts map[string]float64) string {
	names := slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(parts[b], parts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, "_", " ") + " " + percent(parts[name])
	}
	return strings.Join(names, ", ")
}

// count writes a whole number in groups of three digits.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// number writes a figure with three digits that mean something.
func number(v float64) string {
	switch {
	case v >= 100:
		return count(int64(v + 0.5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 1, 64) + " %" }

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

// duration writes a time with about three digits.
func duration(d time.Duration) string {
	unit := time.Microsecond
	for unit < d/1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(int64(n)) + " " + many
}
