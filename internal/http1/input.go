package http1

import "io"

// input is what arrived on a connection and was not looked at yet. Its memory is borrowed when something is there, and
// given back when that was taken: a connection on which nothing happens, as on most streams most of the time, has none.
type input struct {
	receive func(fd uintptr) bool // waits
	poll    func(fd uintptr) bool // does not
	buffer  *[inputBytes]byte     // nil for none
	left    []byte                // of it
	err     error                 // what came instead
	drained bool                  // the last read left nothing behind it
}

func (i *input) empty() bool { return len(i.left) == 0 && i.err == nil }

// await returns when something has arrived, be it an error.
func (c *conn) await() {
	if !c.input.empty() {
		return
	}
	if c.waiting != nil && !c.poll() {
		if c.input.err = c.waiting.Waiting(); c.input.err != nil {
			return
		}
	}
	if !c.input.empty() {
		return
	}
	if c.raw == nil {
		c.receiveFrom(c.Conn)
		return
	}
	if err := c.raw.Read(c.input.receive); err != nil {
		c.input.err = err
	}
}

// poll receives what is there without waiting, and reports whether there was anything. A read that did not fill its buffer took all
// that there was, so that another one is not worth a system call.
func (c *conn) poll() bool {
	if c.raw == nil || c.input.drained {
		return false
	}
	if err := c.raw.Read(c.input.poll); err != nil {
		c.input.err = err
	}
	return !c.input.empty()
}

// receiveNow is receive that does not wait.
func (c *conn) receiveNow(fd uintptr) bool {
	c.receive(fd)
	return true
}

// receiveFrom reads a connection that has no file below it.
func (c *conn) receiveFrom(r io.Reader) {
	c.borrow()
	n, err := r.Read(c.input.buffer[:])
	c.input.left, c.input.err = c.input.buffer[:n], err
}

// take moves what arrived. An error comes after what came before it, once.
func (c *conn) take(p []byte) (n int, err error) {
	n = copy(p, c.input.left)
	c.input.left = c.input.left[n:]
	if len(c.input.left) > 0 {
		return n, nil
	}
	c.giveBack()
	if n == 0 {
		err, c.input.err = c.input.err, nil
	}
	return n, err
}

func (c *conn) borrow() {
	c.input.buffer = c.client.inputs.Get().(*[inputBytes]byte)
}

func (c *conn) giveBack() {
	if c.input.buffer != nil {
		c.client.inputs.Put(c.input.buffer)
		c.input.buffer, c.input.left = nil, nil
	}
}
