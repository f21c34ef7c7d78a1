package changeset

// Order says whose insertion comes first where two sets insert at the same position.
type Order int

// The orders.
const (
	After  Order = iota // the set that is mapped comes behind the other
	Before              // the set that is mapped comes in front of the other
)

// cursor walks over the parts of a set, piece by piece.
type cursor struct {
	parts  []part
	i      int // of the next part
	length int // left of the current part
	insert int // of the current part: kept, done, or what is left of the replacement
	off    int // how much of the current part was passed
}

const done = -2 // the insert of a cursor behind the last part

func newCursor(s Set) *cursor {
	c := &cursor{parts: s.parts}
	c.next()
	return c
}

func (c *cursor) next() {
	c.length, c.insert, c.off = 0, done, 0
	if c.i < len(c.parts) {
		c.length, c.insert = c.parts[c.i].length, c.parts[c.i].insert
		c.i++
	}
}

func (c *cursor) done() bool { return c.insert == done }

// text is the whole replacement of the current part.
func (c *cursor) text() string {
	if c.i == 0 || c.done() {
		return ""
	}
	return c.parts[c.i-1].text
}

// piece is a piece of the replacement of the current part, from where the cursor is.
func (c *cursor) piece(length int) (string, error) {
	_, rest, err := cut(c.text(), c.off)
	if err != nil {
		return "", err
	}
	head, _, err := cut(rest, length)
	return head, err
}

// forward moves over the old text.
func (c *cursor) forward(length int) {
	if length == c.length {
		c.next()
		return
	}
	c.length -= length
	c.off += length
}

// ahead is what is left of the current part in the new text.
func (c *cursor) ahead() int {
	if c.insert < 0 {
		return c.length
	}
	return c.insert
}

// forwardNew moves over the new text.
func (c *cursor) forwardNew(length int) {
	switch {
	case c.insert == kept:
		c.forward(length)
	case length == c.insert:
		c.next()
	default:
		c.insert -= length
		c.off += length
	}
}

// Map returns the set for the text that another set makes. Both are sets of the same text. It fails with ErrLength.
func (s Set) Map(over Set, order Order) (Set, error) {
	if s.Length() != over.Length() {
		return Set{}, ErrLength
	}
	if over.Empty() {
		return s, nil
	}
	m := mapping{a: newCursor(s), b: newCursor(over), inserted: -1, order: order}
	for !m.a.done() || !m.b.done() {
		if err := m.step(); err != nil {
			return Set{}, err
		}
	}
	return m.out.set(), nil
}

// mapping is the state of Map.
type mapping struct {
	a, b     *cursor
	out      builder
	order    Order
	inserted int // the part of a whose replacement is in the output already
}

// first reports whether the change of b comes before the next change of a: by their starts, then their lengths, then the order.
func (m *mapping) first() bool {
	a, b := m.a, m.b
	return b.insert >= 0 && (a.insert < 0 || m.inserted == a.i || a.off == 0 && (b.length < a.length || b.length == a.length && m.order == After))
}

func (m *mapping) step() error {
	a, b := m.a, m.b
	switch {
	case a.done() && b.length > 0, b.done() && a.length > 0:
		return ErrLength
	case a.insert == kept && b.insert == kept:
		length := min(a.length, b.length)
		m.out.section(length, kept, "")
		a.forward(length)
		b.forward(length)
	case m.first():
		return m.pass()
	case a.insert >= 0:
		m.take()
	default:
		return ErrLength
	}
	return nil
}

// pass moves over a change of b, and over the changes of a that it covers: their insertions stay.
func (m *mapping) pass() error {
	a, b := m.a, m.b
	m.out.section(b.insert, kept, "")
	for length := b.length; length > 0; {
		if a.done() {
			return ErrLength
		}
		piece := min(a.length, length)
		if a.insert >= 0 && m.inserted < a.i && a.length <= piece {
			m.out.section(0, a.insert, a.text())
			m.inserted = a.i
		}
		a.forward(piece)
		length -= piece
	}
	b.next()
	return nil
}

// take copies a change of a, up to the next change of b that inserts.
func (m *mapping) take() {
	a, b := m.a, m.b
	length, left := 0, a.length
	for left > 0 {
		if b.insert == kept {
			piece := min(left, b.length)
			length += piece
			left -= piece
			b.forward(piece)
		} else if b.insert == 0 && b.length < left {
			left -= b.length
			b.next()
		} else {
			break
		}
	}
	if m.inserted < a.i {
		m.out.section(length, a.insert, a.text())
	} else {
		m.out.section(length, 0, "")
	}
	m.inserted = a.i
	a.forward(a.length - left)
}

// Compose returns the set that has the effect of this one and then the other. It fails with ErrLength or ErrSplit.
func (s Set) Compose(then Set) (Set, error) {
	if s.NewLength() != then.Length() {
		return Set{}, ErrLength
	}
	switch {
	case s.Empty():
		return then, nil
	case then.Empty():
		return s, nil
	}
	c := composition{a: newCursor(s), b: newCursor(then)}
	for !c.a.done() || !c.b.done() {
		if err := c.step(); err != nil {
			return Set{}, err
		}
	}
	return c.out.set(), nil
}

// composition is the state of Compose.
type composition struct {
	a, b *cursor
	out  builder
}

func (c *composition) step() error {
	a, b := c.a, c.b
	switch {
	case a.insert == 0: // a deletes
		c.out.section(a.length, 0, "")
		a.next()
	case b.length == 0 && !b.done(): // b inserts
		c.out.section(0, b.insert, b.text())
		b.next()
	case a.done() || b.done():
		return ErrLength
	default:
		return c.overlap()
	}
	return nil
}

// overlap handles a piece that a leaves behind and b changes or keeps.
func (c *composition) overlap() error {
	a, b := c.a, c.b
	length, before := min(a.ahead(), b.length), len(c.out.parts)
	switch {
	case a.insert == kept && b.insert == kept:
		c.out.section(length, kept, "")
	case a.insert == kept:
		insert, text := fresh(b)
		c.out.section(length, insert, text)
	case b.insert == kept:
		text, err := a.piece(length)
		if err != nil {
			return err
		}
		c.out.section(whole(a), length, text)
	default:
		insert, text := fresh(b)
		c.out.section(whole(a), insert, text)
	}
	c.out.open = (a.insert > length || b.insert >= 0 && b.length > length) && (c.out.open || len(c.out.parts) > before)
	a.forwardNew(length)
	b.forward(length)
	return nil
}

// fresh is the replacement of a part that the cursor has just reached, nothing later.
func fresh(c *cursor) (insert int, text string) {
	if c.off > 0 {
		return 0, ""
	}
	return c.insert, c.text()
}

// whole is the old length of a part that the cursor has just reached, nothing later.
func whole(c *cursor) int {
	if c.off > 0 {
		return 0
	}
	return c.length
}
