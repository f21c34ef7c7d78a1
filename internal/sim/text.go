package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
)

const vocabulary = "water gate river valve turbine flow basin channel spring stone bridge mill wheel level pressure stream " +
	"harbour current tide lake valley rain cloud reed meadow anchor lantern copper timber canal sluice weir " +
	"calm steady clear narrow deep quick gentle open northern early silver quiet broad green even warm " +
	"carries turns opens lifts follows meets holds crosses fills reaches leaves joins guides keeps drives rests"

// script is the text of an answer, known by the digest of its prompt.
type script struct {
	digest [sha256.Size]byte
	length int // in tokens
}

// tokens yields the text piece by piece: a short digest, so that every prompt is answered differently, then
// words.
func (s script) tokens() iter.Seq[string] {
	return func(yield func(string) bool) {
		words := strings.Fields(vocabulary)
		rng := source(s.digest)
		for i := range s.length {
			token := hex.EncodeToString(s.digest[:4])
			if i > 0 {
				token = " " + words[rng.IntN(len(words))]
			}
			if !yield(token) {
				return
			}
		}
	}
}

// text is the script as a part of an answer.
func (s script) text() text { return text{pieces: s.tokens(), length: s.length} }

// unitVector returns the embedding that a digest stands for: a point evenly drawn from the unit sphere.
func unitVector(digest [sha256.Size]byte, dimensions int) []float32 {
	rng := source(digest)
	drawn := make([]float64, dimensions)
	squares := 0.0
	for i := range drawn {
		drawn[i] = rng.NormFloat64()
		squares += drawn[i] * drawn[i]
	}
	vector := make([]float32, dimensions)
	for i := range vector {
		vector[i] = float32(drawn[i] / math.Sqrt(squares))
	}
	return vector
}

func source(digest [sha256.Size]byte) *rand.Rand {
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(digest[8:]), binary.LittleEndian.Uint64(digest[16:])))
}

// numbered returns the generator of the n-th request, which depends on the seed and n alone. Both are
// scattered first: a generator's first numbers after neighbouring seeds are too alike.
func numbered(seed uint64, n int64) *rand.Rand {
	return rand.New(rand.NewPCG(scatter(seed), scatter(uint64(n))))
}

// scatter is the finalizer of SplitMix64.
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
