package journal

import (
	"encoding/binary"
	"errors"
	"time"

	"penstock"
)

// formatVersion is of the payload of a frame. A version that adds fields at the end of what there is gets a new number, and
// decode reads the older ones too. A call with labels is written in labelledVersion, a call with files in attachedVersion, a call
// whose input was shortened in truncatedVersion, a call with a prompt in promptedVersion, and all others still in formatVersion, so that they cost nothing more and an older
// process can read them.
const (
	formatVersion    = 1
	labelledVersion  = 2
	attachedVersion  = 3 // labels, then files
	truncatedVersion = 4 // labels, files, then the truncation
	promptedVersion  = 5 // labels, files, the truncation if there is one, then the prompt
)

// maxAttempts and maxBudgets bound what is believed of a payload. Its checksum is right, but that is no proof.
const (
	maxAttempts = 1 << 16
	maxBudgets  = 1 << 16
	maxTags     = 1 << 16
	maxFiles    = 1 << 16
)

// appendFrame appends a record as a frame. It is written by hand because it is done for every call: it costs a tenth of
// what JSON does, and allocates nothing.
func appendFrame(b []byte, r *penstock.Request) []byte {
	b = append(b, magic...)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	version := byte(formatVersion)
	switch {
	case r.Prompt != nil:
		version = promptedVersion
	case r.Truncated != nil:
		version = truncatedVersion
	case len(r.Files) > 0:
		version = attachedVersion
	case !r.Labels.None():
		version = labelledVersion
	}
	b = append(b, version)
	b = text(b, string(r.ID))
	b = text(b, string(r.Tenant))
	b = text(b, r.Key)
	b = text(b, string(r.Endpoint))
	b = text(b, r.Model)
	b = flag(b, truth(r.Stream))
	b = text(b, string(r.Status))
	b = number(b, int64(r.StatusCode))
	b = text(b, string(r.ErrorCode))
	b = text(b, r.Error)
	b = text(b, r.Target)
	b = usage(b, &r.Usage)
	b = number(b, int64(r.Cost))
	b = number(b, int64(r.Forfeit))
	b = text(b, r.Funding.Process)
	b = number(b, r.Funding.Epoch)
	b = number(b, int64(len(r.Funding.Budgets)))
	for _, id := range r.Funding.Budgets {
		b = text(b, string(id))
	}
	b = instant(b, r.StartedAt)
	b = instant(b, r.FirstTokenAt)
	b = instant(b, r.FinishedAt)
	b = number(b, int64(len(r.Attempts)))
	for i := range r.Attempts {
		b = attempt(b, &r.Attempts[i])
	}
	if version >= labelledVersion {
		b = labels(b, &r.Labels)
	}
	if version >= attachedVersion {
		b = attached(b, r.Files)
	}
	if version == promptedVersion {
		b = flag(b, truth(r.Truncated != nil))
	}
	if r.Truncated != nil {
		b = truncation(b, r.Truncated)
	}
	if version == promptedVersion {
		b = prompt(b, r.Prompt)
	}
	seal(b)
	return b
}

func labels(b []byte, l *penstock.Labels) []byte {
	b = text(b, l.Subject)
	b = number(b, int64(len(l.Tags)))
	for name, value := range l.Tags {
		b = text(text(b, name), value)
	}
	return b
}

func attached(b []byte, files []penstock.AttachedFile) []byte {
	b = number(b, int64(len(files)))
	for i := range files {
		f := &files[i]
		b = text(text(text(b, f.Path), string(f.File)), f.MediaType)
		b = text(number(b, f.Bytes), f.SHA256)
	}
	return b
}

func truncation(b []byte, t *penstock.Truncation) []byte {
	b = number(text(b, string(t.Policy)), t.Turns)
	return number(number(number(b, t.TokensBefore), t.TokensAfter), t.ContextTokens)
}

func prompt(b []byte, p *penstock.PromptCall) []byte {
	b = text(number(text(b, p.Name), p.Version), p.SHA256)
	return text(text(b, p.Label), string(p.Variables))
}

func attempt(b []byte, a *penstock.Attempt) []byte {
	b = text(b, string(a.ID))
	b = text(b, string(a.Subject))
	b = number(b, int64(a.Number))
	b = number(b, a.Fence)
	b = text(b, a.Target)
	b = text(b, a.Reason)
	b = text(b, a.Config)
	b = flag(b, truth(a.Isolated))
	b = text(b, a.ErrorKind)
	b = text(b, a.ErrorMessage)
	b = number(b, int64(a.StatusCode))
	b = usage(b, &a.Usage)
	b = flag(b, truth(a.UsageKnown))
	b = number(b, int64(a.Cost))
	b = text(b, a.PriceVersion)
	b = instant(b, a.StartedAt)
	b = instant(b, a.FirstTokenAt)
	return instant(b, a.FinishedAt)
}

func number(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func text(b []byte, s string) []byte { return append(number(b, int64(len(s))), s...) }

// truth is a bool with a name of its own, so that a call of a function with one is readable.
type truth bool

func flag(b []byte, f truth) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}

// instant keeps what the database keeps: microseconds, 0 for no time at all.
func instant(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return number(b, 0)
	}
	return number(b, t.UnixMicro())
}

func usage(b []byte, u *penstock.Usage) []byte {
	counts := u.Counts()
	b = number(b, int64(len(counts)))
	for _, n := range counts {
		b = number(b, *n)
	}
	return b
}

var (
	errVersion = errors.New("it was written by another version of penstock")
	errPayload = errors.New("it cannot be read")
)

// decode reads the payload of a frame.
func decode(payload []byte) (r penstock.Request, err error) {
	if len(payload) == 0 || payload[0] < formatVersion || payload[0] > promptedVersion {
		return r, errVersion
	}
	d := decoder{left: payload[1:]}
	r.ID = penstock.ID(d.text())
	r.Tenant = penstock.TenantID(d.text())
	r.Key = d.text()
	r.Endpoint = penstock.Endpoint(d.text())
	r.Model = d.text()
	r.Stream = d.flag()
	r.Status = penstock.Status(d.text())
	r.StatusCode = int(d.number())
	r.ErrorCode = penstock.Code(d.text())
	r.Error = d.text()
	r.Target = d.text()
	d.usage(&r.Usage)
	r.Cost = penstock.NanoUSD(d.number())
	r.Forfeit = penstock.NanoUSD(d.number())
	r.Funding.Process = d.text()
	r.Funding.Epoch = d.number()
	for range d.count(maxBudgets) {
		r.Funding.Budgets = append(r.Funding.Budgets, penstock.ID(d.text()))
	}
	r.StartedAt, r.FirstTokenAt, r.FinishedAt = d.instant(), d.instant(), d.instant()
	for range d.count(maxAttempts) {
		r.Attempts = append(r.Attempts, d.attempt())
	}
	if payload[0] >= labelledVersion {
		d.labels(&r.Labels)
	}
	if payload[0] >= attachedVersion {
		r.Files = d.attached()
	}
	if payload[0] == truncatedVersion || payload[0] == promptedVersion && d.flag() {
		r.Truncated = d.truncation()
	}
	if payload[0] == promptedVersion {
		r.Prompt = d.prompt()
	}
	if d.failed || len(d.left) > 0 || r.ID == "" || r.Tenant == "" {
		return penstock.Request{}, errPayload
	}
	return r, nil
}

// decoder reads what the functions above append. After something that cannot be read, all that follows is zero.
type decoder struct {
	left   []byte
	failed bool
}

func (d *decoder) number() int64 {
	n, size := binary.Varint(d.left)
	if size <= 0 {
		d.failed, d.left = true, nil
		return 0
	}
	d.left = d.left[size:]
	return n
}

// count is how many of something follow.
func (d *decoder) count(most int64) int64 {
	n := d.number()
	if n < 0 || n > most || n > int64(len(d.left)) { // each takes a byte or more
		d.failed, d.left = true, nil
		return 0
	}
	return n
}

func (d *decoder) text() string {
	n := d.count(MaxRecordBytes)
	s := string(d.left[:n])
	d.left = d.left[n:]
	return s
}

func (d *decoder) flag() bool {
	if len(d.left) == 0 {
		d.failed = true
		return false
	}
	f := d.left[0] == 1
	d.left = d.left[1:]
	return f
}

func (d *decoder) instant() time.Time {
	micros := d.number()
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func (d *decoder) usage(u *penstock.Usage) {
	counts := u.Counts()
	for i := range d.count(MaxRecordBytes) {
		n := d.number()
		if i < int64(len(counts)) {
			*counts[i] = n
		}
	}
}

func (d *decoder) labels(l *penstock.Labels) {
	l.Subject = d.text()
	for range d.count(maxTags) {
		if l.Tags == nil {
			l.Tags = map[string]string{}
		}
		name := d.text()
		l.Tags[name] = d.text()
	}
}

func (d *decoder) attached() (files []penstock.AttachedFile) {
	for range d.count(maxFiles) {
		f := penstock.AttachedFile{Path: d.text(), File: penstock.ID(d.text()), MediaType: d.text()}
		f.Bytes, f.SHA256 = d.number(), d.text()
		files = append(files, f)
	}
	return files
}

func (d *decoder) truncation() *penstock.Truncation {
	t := &penstock.Truncation{Policy: penstock.OnOverflow(d.text()), Turns: d.number()}
	t.TokensBefore, t.TokensAfter, t.ContextTokens = d.number(), d.number(), d.number()
	return t
}

func (d *decoder) prompt() *penstock.PromptCall {
	p := &penstock.PromptCall{}
	p.Name, p.Version, p.SHA256 = d.text(), d.number(), d.text()
	p.Label = d.text()
	if variables := d.text(); variables != "" {
		p.Variables = []byte(variables)
	}
	return p
}

func (d *decoder) attempt() (a penstock.Attempt) {
	a.ID, a.Subject = penstock.ID(d.text()), penstock.ID(d.text())
	a.Number, a.Fence = int(d.number()), d.number()
	a.Target, a.Reason, a.Config = d.text(), d.text(), d.text()
	a.Isolated = d.flag()
	a.ErrorKind, a.ErrorMessage = d.text(), d.text()
	a.StatusCode = int(d.number())
	d.usage(&a.Usage)
	a.UsageKnown = d.flag()
	a.Cost, a.PriceVersion = penstock.NanoUSD(d.number()), d.text()
	a.StartedAt, a.FirstTokenAt, a.FinishedAt = d.instant(), d.instant(), d.instant()
	return a
}
