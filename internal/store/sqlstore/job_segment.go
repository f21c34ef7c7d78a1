package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/jobsegment"
	"penstock/internal/store/sqldb"
)

// segmentStep is how many segments are read at a time.
const segmentStep = 32

// segmentRow is a segment without its ids.
type segmentRow struct {
	first, last penstock.ID
	stale       bool // one of its jobs was deleted since it was built
	facts       []byte
}

const segmentColumns = `first_id, last_id, stale = 1, facts`

func scanSegment(row sqldb.Row) (s segmentRow, err error) {
	return s, row.Scan(&s.first, &s.last, &s.stale, &s.facts)
}

// segmentEnd is the last job that a tenant's segments have, "" without segments.
func segmentEnd(ctx context.Context, tx sqldb.Tx, tenant penstock.TenantID) (penstock.ID, error) {
	end, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT last_id FROM job_segment_ends WHERE tenant_id = $1`, tenant), sqldb.ScanOne[penstock.ID])
	return end, err
}

// search lists jobs by conditions: the newest jobs by their rows, and the others by their segments.
func (l *jobList) search(ctx context.Context) error {
	end, err := segmentEnd(ctx, l.tx, l.tenant)
	if err != nil {
		return err
	}
	newest := idRange{max(l.whole.from, behind(end)), l.whole.below}
	if l.ascending() {
		if err := l.searchSegments(ctx, end); err != nil || l.ended() {
			return err
		}
		return l.scan(ctx, newest)
	}
	if err := l.scan(ctx, newest); err != nil || l.ended() {
		return err
	}
	return l.searchSegments(ctx, end)
}

// searchSegments lists jobs that segments have.
func (l *jobList) searchSegments(ctx context.Context, end penstock.ID) error {
	if end == "" {
		return nil
	}
	r := l.whole
	for read := 0; !l.ended(); read += segmentStep {
		rows, err := l.segments(ctx, r)
		if err != nil {
			return err
		}
		if err := l.searchRows(ctx, rows); err != nil || l.ended() || len(rows) < segmentStep {
			return err
		}
		if last := rows[len(rows)-1]; l.ascending() {
			r.from = behind(last.last)
		} else {
			r.below = last.first
		}
		if read+segmentStep >= store.MaxSegmentScan {
			l.next = r.below
			if l.ascending() {
				l.next = rows[len(rows)-1].last
			}
		}
	}
	return nil
}

// segments reads the next segments of a range that have jobs of the filter's time.
func (l *jobList) segments(ctx context.Context, r idRange) ([]segmentRow, error) {
	after, until := l.matcher.Created()
	return sqldb.QueryAll(ctx, l.tx, sqldb.SQL(fmt.Sprintf(`SELECT %s FROM job_segments
		WHERE tenant_id = $1 AND last_id >= $2 AND first_id < $3 AND max_created > $4 AND min_created <= $5
		ORDER BY last_id %s LIMIT %d`, segmentColumns, l.order(), segmentStep), l.tenant, r.from, r.below, after, until), scanSegment)
}

// searchRows lists the jobs of some segments.
func (l *jobList) searchRows(ctx context.Context, rows []segmentRow) error {
	var ids []penstock.ID
	for _, row := range rows {
		found, err := l.candidates(ctx, row)
		if err != nil {
			return err
		}
		ids = append(ids, found...)
		for wanted := l.filter.Limit + 1 - len(l.jobs); len(ids) >= wanted && !l.ended(); wanted = l.filter.Limit + 1 - len(l.jobs) {
			if err := l.consider(ctx, ids[:wanted]); err != nil {
				return err
			}
			ids = ids[wanted:]
		}
		if l.ended() {
			return nil
		}
	}
	return l.consider(ctx, ids)
}

// candidates are the jobs of a segment that may match, in the order of the list.
func (l *jobList) candidates(ctx context.Context, row segmentRow) ([]penstock.ID, error) {
	s, err := jobsegment.Decode(row.facts)
	if err != nil {
		return nil, err
	}
	var positions []int
	if err := s.Select(l.matcher, func(f jobsegment.Found) { positions = append(positions, f.Position) }); err != nil || len(positions) == 0 {
		return nil, err
	}
	ids, err := l.segmentIDs(ctx, row.last, positions)
	if err != nil {
		return nil, err
	}
	if !l.ascending() {
		slices.Reverse(ids)
	}
	return slices.DeleteFunc(ids, func(id penstock.ID) bool { return !l.whole.contains(id) }), nil
}

// segmentIDs are the ids at positions of a segment.
func (l *jobList) segmentIDs(ctx context.Context, last penstock.ID, positions []int) ([]penstock.ID, error) {
	all, _, err := sqldb.QueryOne(ctx, l.tx, sqldb.SQL(`SELECT ids FROM job_segments WHERE tenant_id = $1 AND last_id = $2`, l.tenant, last), sqldb.ScanOne[[]byte])
	if err != nil {
		return nil, err
	}
	ids := make([]penstock.ID, len(positions))
	for i, position := range positions {
		if ids[i], err = jobsegment.ID(all, position); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
