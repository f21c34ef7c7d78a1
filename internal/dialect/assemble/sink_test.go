package assemble

import (
	"testing"

	"penstock"
	"penstock/internal/provider"
)

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	s, _, err := NewSink(penstock.EndpointChat, penstock.StreamNone, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	chunk := provider.Chunk{Wire: make([]byte, MaxBytes/2)}
	for i := range 2 {
		if err := s.Chunk(chunk); err != nil {
			t.Fatalf("chunk %d: %v", i+1, err)
		}
	}
	err = s.Chunk(provider.Chunk{Wire: []byte("x")})
	if whole, _ := s.Whole(); provider.AsError(err).Kind != provider.KindMalformed || len(whole) != MaxBytes {
		t.Errorf("one byte too many: %v, %d kept", err, len(whole))
	}
}

func TestAnswerKeepsItsOwnBytes(t *testing.T) {
	t.Parallel()
	s := &Sink{}
	wire := []byte("one")
	_ = s.Chunk(provider.Chunk{Wire: wire})
	copy(wire, "two") // a chunk is valid only until Chunk returns
	_ = s.Chunk(provider.Chunk{Wire: wire})
	if whole, _ := s.Whole(); string(whole) != "onetwo" {
		t.Errorf("kept %q", whole)
	}
}
