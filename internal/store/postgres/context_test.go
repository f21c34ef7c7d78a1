package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// A statement that ends with its context fails with the error of the context, also when the end interrupts the driver's write.
func TestErrorOfAnEndedContext(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelLate()
	write := fmt.Errorf("write failed: %w", &net.OpError{Op: "write", Net: "unix", Err: os.ErrDeadlineExceeded})
	for name, tt := range map[string]struct {
		ctx  context.Context
		err  error
		want error // nil for the error itself
	}{
		"cancelled while it wrote": {cancelled, write, context.Canceled},
		"late while it wrote":      {late, write, context.DeadlineExceeded},
		"another failure":          {late, io.ErrUnexpectedEOF, nil},
		"a context that goes on":   {t.Context(), write, nil},
		"no failure":               {late, nil, nil},
	} {
		got := explained(tt.ctx, tt.err)
		if !errors.Is(got, tt.err) || tt.want != nil && !errors.Is(got, tt.want) || tt.want == nil && got != tt.err {
			t.Errorf("%s: %v", name, got)
		}
	}
}
