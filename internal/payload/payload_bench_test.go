package payload

import (
	"fmt"
	"testing"
)

var benchSizes = []int{256, 1 << 10, 32 << 10}

func BenchmarkSeal(b *testing.B) {
	codec := newCodec(b)
	for _, size := range benchSizes {
		for kind, plain := range map[string][]byte{"text": prompt(size), "noise": noise(size)} {
			b.Run(fmt.Sprintf("%s/%dB", kind, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				var sealed []byte
				for b.Loop() {
					sealed = mustSeal(b, codec, someone, plain)
				}
				b.ReportMetric(float64(len(sealed))/float64(size), "sealed/plain")
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	codec := newCodec(b)
	for _, size := range benchSizes {
		for kind, plain := range map[string][]byte{"text": prompt(size), "noise": noise(size)} {
			sealed := mustSeal(b, codec, someone, plain)
			b.Run(fmt.Sprintf("%s/%dB", kind, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := codec.Open(someone, sealed); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFirstUse is what the cipher cache saves.
func BenchmarkFirstUse(b *testing.B) {
	keys := newKeyset(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newKeyring(keys).cipher(keys.PrimaryID(), someone.Tenant); err != nil {
			b.Fatal(err)
		}
	}
}
