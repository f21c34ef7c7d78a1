package itemstore

import "slices"

// joined is payloads one behind the other. Payloads that lie like this in memory already, as those do that were sealed into one
// buffer, are not copied.
type joined struct {
	bytes  []byte
	copied bool
}

func (j *joined) add(p []byte) {
	n := len(j.bytes)
	switch {
	case len(p) == 0:
	case j.bytes == nil:
		j.bytes = p
	case j.copied:
		j.bytes = append(j.bytes, p...)
	case cap(j.bytes) >= n+len(p) && &j.bytes[:n+1][n] == &p[0]:
		j.bytes = j.bytes[:n+len(p)]
	default:
		j.bytes, j.copied = append(slices.Clip(j.bytes), p...), true
	}
}

// all is the payloads; never nil, which a database would store as NULL.
func (j *joined) all() []byte {
	if j.bytes == nil {
		return []byte{}
	}
	return slices.Clip(j.bytes)
}
