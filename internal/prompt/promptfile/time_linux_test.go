package promptfile

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// took is how long the reading of a text of about so many bytes takes: CPU time of this thread, so that a busy machine does not
// count, the shorter of two readings.
func took(format Format, before, pattern, after string, bytes int) time.Duration {
	text := before + strings.Repeat(pattern, bytes/len(pattern)) + after
	least := time.Hour
	for range 2 {
		began := cpu()
		set, err := Read([]File{{Path: "f" + map[Format]string{Dotprompt: ".prompt", Promptfoo: ".yaml", Directory: ".yaml"}[format], Text: text}}, Options{Format: format, Unsupported: Keep})
		least = min(least, cpu()-began)
		if err == nil {
			for _, p := range set.Prompts {
				if len(p.Problems) > MaxProblems+1 {
					panic("too many problems")
				}
			}
		}
	}
	return least
}

// cpu is the CPU time of the thread.
func cpu() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func TestTimeGrowsWithTheText(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const small = 48 << 10
	for format, all := range hostile {
		for _, one := range all {
			first := took(format, one.before, one.pattern, one.after, small)
			second := took(format, one.before, one.pattern, one.after, 4*small)
			// Linear time is four times as long, quadratic time sixteen times. Times of a few milliseconds say nothing.
			if second > 50*time.Millisecond && second > 9*first {
				t.Errorf("%s, %q: %v for %d bytes, %v for four times as many", format, one.pattern, first, small, second)
			}
			if second > 3*time.Second {
				t.Errorf("%s, %q: %v", format, one.pattern, second)
			}
		}
	}
}
