package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of the alternatives that a request may ask for.
const (
	maxTopLogprobs     = 20 // in chat completions and responses
	maxLegacyLogprobs  = 5  // in completions
	alternativePenalty = 0.5
)

// tokenLogprob is how likely a token was, with its most likely alternatives.
type tokenLogprob struct {
	alternative
	TopLogprobs []alternative `json:"top_logprobs"`
}

type alternative struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// alternatives is what a request asks about the probability of tokens.
type alternatives struct {
	wanted bool // the probability of each token
	top    *int // how many alternatives beside it
}

func (a alternatives) check() error {
	switch {
	case a.top == nil:
	case *a.top < 0 || *a.top > maxTopLogprobs:
		return invalid("top_logprobs", fmt.Sprintf("Invalid 'top_logprobs': expected a value between 0 and %d.", maxTopLogprobs))
	case !a.wanted && *a.top > 0:
		return invalid("top_logprobs", "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.")
	}
	return nil
}

func (a alternatives) count() int {
	if a.top == nil {
		return 0
	}
	return *a.top
}

// likelihood returns the log probability of the i-th token of a text. It is a function of the token and its
// place; the token itself is the most likely, and the alternatives are less likely one after the other.
func likelihood(token string, i, top int) tokenLogprob {
	sum := sha256.Sum256([]byte(strconv.Itoa(i) + "\x00" + token))
	logprob := -float64(binary.LittleEndian.Uint16(sum[:])) / math.MaxUint16 / 4
	said := tokenLogprob{alternative: alternativeOf(token, logprob), TopLogprobs: []alternative{}}
	words := strings.Fields(vocabulary)
	for n := range top {
		if n == 0 {
			said.TopLogprobs = append(said.TopLogprobs, said.alternative)
			continue
		}
		word := " " + words[(int(sum[2])+n)%len(words)]
		said.TopLogprobs = append(said.TopLogprobs, alternativeOf(word, logprob-float64(n)*alternativePenalty))
	}
	return said
}

func alternativeOf(token string, logprob float64) alternative {
	bytes := make([]int, len(token))
	for i := range len(token) {
		bytes[i] = int(token[i])
	}
	return alternative{Token: token, Logprob: logprob, Bytes: bytes}
}

// logprobs returns how likely each token of a text was.
func (t text) logprobs(top int) []tokenLogprob {
	all := []tokenLogprob{}
	for token := range t.tokens() {
		all = append(all, likelihood(token, len(all), top))
	}
	return all
}
