package sim

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// directives are what a prompt asks of the simulator.
type directives struct {
	fault   Fault
	times   int // the fault strikes only the first so many requests with this prompt; 0: always
	latency *time.Duration
	tokens  int    // 0: as configured
	calls   int    // of each tool that is called; 0 means 1
	hold    string // the name of a hold to wait on; "" for none
	parts   parts  // at the most
	claim   int    // what usage says in place of the tokens of input and output; 0: the truth
}

// parts are the tokens of an answer that are reported to be of a class of their own.
type parts struct {
	cached      int // input that was read from a cache
	written     int // input that was written to one
	written1h   int // input that was written to be kept for an hour
	audioInput  int
	reasoning   int // output that was reasoned with
	audioOutput int
}

// within are the parts as far as there are tokens for them.
func (p parts) within(input, output int) parts {
	part := func(n int, of *int) int {
		n = min(n, *of)
		*of -= n
		return n
	}
	return parts{
		cached: part(p.cached, &input), written: part(p.written, &input), written1h: part(p.written1h, &input), audioInput: part(p.audioInput, &input),
		reasoning: part(p.reasoning, &output), audioOutput: part(p.audioOutput, &output),
	}
}

// reported is the number of tokens that usage shows: the claim of a directive, or the true number.
func (a *answer) reported(tokens int) int { return cmp.Or(a.claim, tokens) }

// parseDirectives reads every [sim:…] in a prompt. A misspelt one is an error rather than ignored, since a
// test whose fault silently never happens proves nothing.
func parseDirectives(prompt string) (directives, error) {
	var d directives
	for {
		_, rest, found := strings.Cut(prompt, "[sim:")
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "]")
		if !closed {
			return directives{}, fmt.Errorf("directive %q has no closing bracket", "[sim:"+abridge(rest))
		}
		for field := range strings.FieldsSeq(inside) {
			if err := d.set(field); err != nil {
				return directives{}, fmt.Errorf("directive %q: %w", "[sim:"+abridge(inside)+"]", err)
			}
		}
		prompt = after
	}
	if d.times > 0 && d.fault == "" {
		return directives{}, fmt.Errorf("directive times=%d needs a fault=", d.times)
	}
	return d, nil
}

func (d *directives) set(field string) error {
	name, value, _ := strings.Cut(field, "=")
	var err error
	switch name {
	case "fault":
		d.fault, err = parseFault(value)
	case "times":
		d.times, err = parseCount(value, MaxOutputTokens)
	case "tokens":
		d.tokens, err = parseCount(value, MaxOutputTokens)
	case "calls":
		d.calls, err = parseCount(value, maxCalls)
	case "cached":
		d.parts.cached, err = parseCount(value, MaxOutputTokens)
	case "written":
		d.parts.written, err = parseCount(value, MaxOutputTokens)
	case "written_1h":
		d.parts.written1h, err = parseCount(value, MaxOutputTokens)
	case "audio_input":
		d.parts.audioInput, err = parseCount(value, MaxOutputTokens)
	case "reasoning":
		d.parts.reasoning, err = parseCount(value, MaxOutputTokens)
	case "audio_output":
		d.parts.audioOutput, err = parseCount(value, MaxOutputTokens)
	case "claim":
		d.claim, err = parseCount(value, math.MaxInt)
	case "hold":
		d.hold = value
		if value == "" || len(value) > maxHoldName {
			err = fmt.Errorf("a hold has a name of at most %d bytes", maxHoldName)
		}
	case "latency":
		var latency time.Duration
		latency, err = time.ParseDuration(value)
		if err == nil && (latency < 0 || latency > MaxLatency) {
			err = fmt.Errorf("%v is not between 0 and %v", latency, MaxLatency)
		}
		d.latency = &latency
	default:
		err = fmt.Errorf("unknown setting %q; use fault, times, latency, tokens, calls, hold, cached, written, written_1h, audio_input, reasoning, audio_output or claim", abridge(name))
	}
	return err
}

func parseCount(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is not a number between 1 and %d", abridge(value), most)
	}
	return n, nil
}

// abridge keeps an echo of the caller's own text short.
func abridge(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
