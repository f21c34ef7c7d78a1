package attempt

import (
	"context"

	"penstock/internal/inflight"
)

// answerMemory is the memory that the answer of a try is held in. It is given back when the try is closed.
type answerMemory struct {
	inflight.Account
	ctx context.Context // of the try: it ends when nobody wants the answer any more
}

// Take implements provider.Memory. The upstream has worked for the answer already, so it waits for memory.
func (m *answerMemory) Take(n int64) error { return m.Wait(m.ctx.Done(), n) }
