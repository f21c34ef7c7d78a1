// Package jobsegment is the form of a segment: the facts of consecutive jobs of a tenant, by which lists and counts find
// jobs without reading the rows of all jobs.
//
// A segment has two parts. The facts say of each job what filters compare, in the order of the ids. They are columns of small
// numbers, which stand for the values that jobs share, so a job takes about eight bytes. The ids are apart, because only
// segments that have a match need them. Package sqlstore stores segments, and knows when they are built. Values of this
// package are not safe for concurrent use.
package jobsegment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"penstock"
)

// Size is the number of jobs of a new segment.
const Size = 4096

const (
	// form is the first byte of all facts.
	form = 1
	// maxTags and maxTagBytes bound the different tags of a segment. Beyond them the facts leave tags out, as if they were
	// not known: tags that differ from job to job would make the facts as large as the rows.
	maxTags     = 1024
	maxTagBytes = 64 << 10

	idLen = 26
)

// Job is what a segment has of a job.
type Job struct {
	ID      penstock.ID
	Group   Group
	Tags    string // JSON
	Created int64  // microseconds
}

// Group is the facts that several jobs of a segment share.
type Group struct {
	Status penstock.Status // of an open job: when the segment was built
	Lane   penstock.Lane
	Model  string
	Key    string
}

// Open reports whether the jobs of the group had not ended: their status changes.
func (g *Group) Open() bool {
	return g.Status == penstock.StatusQueued || g.Status == penstock.StatusRunning
}

// Encode makes the facts and the ids of a segment. The jobs are in ascending order of their ids.
func Encode(jobs []Job) (facts, ids []byte) {
	var groups dictionary[Group]
	var tags dictionary[string]
	var groupColumn, tagColumn, createdColumn []byte
	tagBytes, before := 0, int64(0)
	for _, j := range jobs {
		groupColumn = binary.AppendUvarint(groupColumn, groups.number(j.Group))
		known := len(tags.values)
		if tagColumn = binary.AppendUvarint(tagColumn, tags.number(j.Tags)); len(tags.values) > known {
			tagBytes += len(j.Tags)
		}
		createdColumn = binary.AppendVarint(createdColumn, j.Created-before)
		before = j.Created
		ids = append(ids, j.ID...)
	}
	if len(tags.values) > maxTags || tagBytes > maxTagBytes {
		tags.values, tagColumn = nil, nil
	}
	facts = binary.AppendUvarint([]byte{form}, uint64(len(jobs)))
	facts = binary.AppendUvarint(facts, uint64(len(groups.values)))
	for _, g := range groups.values {
		for _, text := range []string{string(g.Status), string(g.Lane), g.Model, g.Key} {
			facts = appendText(facts, text)
		}
	}
	facts = binary.AppendUvarint(facts, uint64(len(tags.values)))
	for _, text := range tags.values {
		facts = appendText(facts, text)
	}
	for _, column := range [][]byte{groupColumn, tagColumn, createdColumn} {
		facts = appendText(facts, column)
	}
	return facts, ids
}

func appendText[T ~string | ~[]byte](to []byte, text T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// dictionary numbers values in the order in which they are seen.
type dictionary[T comparable] struct {
	values  []T
	numbers map[T]uint64
}

func (d *dictionary[T]) number(v T) uint64 {
	n, ok := d.numbers[v]
	if !ok {
		if d.numbers == nil {
			d.numbers = map[T]uint64{}
		}
		n = uint64(len(d.values))
		d.numbers[v] = n
		d.values = append(d.values, v)
	}
	return n
}

// Segment is decoded facts. It refers to the encoded ones.
type Segment struct {
	Groups []Group
	Tags   [][]byte // JSON; none if the tags are not known
	Jobs   int

	group, tag, created []byte // columns
}

var errBroken = errors.New("the facts of a segment are broken")

// Decode reads facts.
func Decode(facts []byte) (s Segment, err error) {
	if len(facts) == 0 || facts[0] != form {
		return s, fmt.Errorf("the facts of a segment have an unknown form")
	}
	r := reader{rest: facts[1:]}
	s.Jobs = r.length()
	for range r.length() {
		s.Groups = append(s.Groups, Group{
			Status: penstock.Status(r.text()), Lane: penstock.Lane(r.text()), Model: string(r.text()), Key: string(r.text()),
		})
		if r.short {
			return s, errBroken
		}
	}
	tags := r.length()
	s.Tags = make([][]byte, 0, min(tags, maxTags))
	for range tags {
		s.Tags = append(s.Tags, r.text())
		if r.short {
			return s, errBroken
		}
	}
	s.group, s.tag, s.created = r.text(), r.text(), r.text()
	if r.short {
		return s, errBroken
	}
	return s, nil
}

// reader takes values from facts.
type reader struct {
	rest  []byte
	short bool
}

// length reads a number of values, each of which takes a byte at least.
func (r *reader) length() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) text() []byte {
	n := r.length()
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// number reads a number of a column.
func (r *reader) number() int {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return int(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > math.MaxInt32 {
		r.short = true
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) difference() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.short = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// ID is the id at a position of a segment.
func ID(ids []byte, position int) (penstock.ID, error) {
	if (position+1)*idLen > len(ids) {
		return "", errBroken
	}
	return penstock.ID(ids[position*idLen : (position+1)*idLen]), nil
}
