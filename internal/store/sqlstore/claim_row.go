package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// A claim is kept as rows for each job that it took items of, not as an index over items: they say what a process
// holds, for as long as any of it runs. Items that have rows of their own and those that have none are held apart.

// claimKey names a claim's row.
type claimKey struct{ job, claim penstock.ID }

func (k claimKey) compare(l claimKey) int {
	return cmp.Or(cmp.Compare(k.job, l.job), cmp.Compare(k.claim, l.claim))
}

// claimPlaces is how many items without a row a claim's row holds: each has a bit in it, and the sign has none.
const claimPlaces = itemstore.ClaimPlaces

// heldClaim is a claim's row: items of one job, all with rows or all without.
type heldClaim struct {
	claimKey
	tenant penstock.TenantID
	ns     []int // indexes of the items
	ended  int64 // bits of the items that ended and have no row
	// targets are those at which capacity was taken for the items, in their order; none when that is not known, one when
	// it is the same for all.
	targets []string
}

// targetOf is the target of the item with an index, "" when it is not known.
func (c heldClaim) targetOf(n int) string {
	at := slices.Index(c.ns, n)
	switch {
	case at >= 0 && len(c.targets) == 1:
		return c.targets[0]
	case at >= 0 && at < len(c.targets):
		return c.targets[at]
	}
	return ""
}

// addTarget notes the target of the item that was added last.
func (c *heldClaim) addTarget(target string) {
	first := len(c.ns) == 1
	switch {
	case first:
		c.targets = []string{target}
	case len(c.targets) == 1 && c.targets[0] == target:
	default:
		for len(c.targets) < len(c.ns)-1 {
			c.targets = append(c.targets, c.targets[0])
		}
		c.targets = append(c.targets, target)
	}
}

// targetsColumn is how a row keeps the targets: nearly always they are one.
func (c heldClaim) targetsColumn() (string, error) {
	if len(c.targets) <= 1 {
		return strings.Join(c.targets, ""), nil
	}
	list, err := json.Marshal(c.targets)
	return string(list), err
}

func (c *heldClaim) scanTargets(column string) error {
	if !strings.HasPrefix(column, "[") { // no name begins so
		c.targets = []string{column}
		return nil
	}
	return json.Unmarshal([]byte(column), &c.targets)
}

// placeOf is the place, from 1, of an item without a row that runs under the claim; 0 if it does not.
func (c heldClaim) placeOf(n int) int {
	at := slices.Index(c.ns, n)
	if at < 0 || c.ended&placeBit(at+1) != 0 {
		return 0
	}
	return at + 1
}

// placeBit is the bit of a place. Items with rows have none: their rows have the status. The last items of a claim that
// was written before bits existed have none either; they get rows.
func placeBit(place int) int64 {
	if place <= 0 || place > claimPlaces {
		return 0
	}
	return 1 << (place - 1)
}

var (
	addClaim = sqldb.InsertInto("claims", `job_id text, id text, tenant_id text, process_id text, epoch bigint, open bigint, items text, targets text`, "")
	// A claim without a row holds nothing: the database lost it, or another process released its items. This is the
	// compare-and-set of items that have no row: the first release of an item sets its bit.
	releaseClaim = &sqldb.Bulk{
		Strict: true,
		Types:  []sqldb.ColumnType{sqldb.Text, sqldb.Text, sqldb.Bigint, sqldb.Bigint},
		One:    `UPDATE claims SET open = open - $3, ended = ended | $4 WHERE job_id = $1 AND id = $2 AND (ended & $4) = 0`,
		Many: `UPDATE claims SET open = open - v.items, ended = ended | v.bits
			FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS v(job_id, id, items, bits)
			WHERE claims.job_id = v.job_id AND claims.id = v.id AND (claims.ended & v.bits) = 0`,
	}
	closeClaim = &sqldb.Bulk{
		Types: []sqldb.ColumnType{sqldb.Text, sqldb.Text},
		One:   `DELETE FROM claims WHERE job_id = $1 AND id = $2 AND open <= 0`,
		Many: `DELETE FROM claims USING unnest($1::text[], $2::text[]) AS v(job_id, id)
			WHERE claims.job_id = v.job_id AND claims.id = v.id AND claims.open <= 0`,
	}
)

func (c heldClaim) insert(ctx context.Context, tx sqldb.Tx, l store.Lease) error {
	ns, err := json.Marshal(c.ns)
	if err != nil {
		return fmt.Errorf("encoding a claim: %w", err)
	}
	targets, err := c.targetsColumn()
	if err != nil {
		return fmt.Errorf("encoding a claim: %w", err)
	}
	return tx.Put(ctx, addClaim, c.job, c.claim, c.tenant, l.Process, l.Epoch, len(c.ns), string(ns), targets)
}

// release is what does not run any more of a claim.
type release struct {
	items int64
	bits  int64 // of those that have no row
}

// releases are items that do not run any more, by their claims.
type releases struct {
	byClaim map[claimKey]*release
	key     claimKey // of last
	last    *release // the one that was asked for last: items of a claim mostly end together
}

func newReleases() *releases { return &releases{byClaim: map[claimKey]*release{}} }

func (rs *releases) of(k claimKey) *release {
	if rs.last != nil && rs.key == k {
		return rs.last
	}
	rs.key, rs.last = k, rs.byClaim[k]
	if rs.last == nil {
		rs.last = &release{}
		rs.byClaim[k] = rs.last
	}
	return rs.last
}

func (rs *releases) add(r *itemstore.Row) {
	of := rs.of(claimKey{r.Job, r.Claim})
	of.items++
	of.bits |= placeBit(r.Place)
}

// save writes the releases. The jobs are locked, so no transaction waits here.
func (rs *releases) save(ctx context.Context, tx sqldb.Tx) error {
	keys := slices.SortedFunc(maps.Keys(rs.byClaim), claimKey.compare)
	for _, k := range keys {
		r := rs.byClaim[k]
		if err := tx.Put(ctx, releaseClaim, k.job, k.claim, r.items, r.bits); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := tx.Put(ctx, closeClaim, k.job, k.claim); err != nil {
			return err
		}
	}
	return nil
}

// claimIDs are the ids of one claim's rows, as many as it turns out to need.
type claimIDs struct {
	from *penstock.IDs
	now  time.Time
	made []penstock.ID
}

func newClaims(from *penstock.IDs, now time.Time) *claimIDs { return &claimIDs{from: from, now: now} }

// apart is the id of the rows that hold items with rows of their own, however many.
func (c *claimIDs) apart() penstock.ID { return c.at(0) }

// groupedInput is the id of a job's nth row for items without rows.
func (c *claimIDs) groupedInput(nth int) penstock.ID { return c.at(1 + nth) }

func (c *claimIDs) at(i int) penstock.ID {
	for len(c.made) <= i {
		c.made = append(c.made, c.from.New(c.now))
	}
	return c.made[i]
}

// claimRows is what a claim takes, gathered into rows.
type claimRows struct {
	ids   *claimIDs
	byJob map[penstock.ID]*claimedItems
}

func newClaimRows(ids *claimIDs) *claimRows {
	return &claimRows{ids: ids, byJob: map[penstock.ID]*claimedItems{}}
}

// of returns the items that the claim takes of a job.
func (h *claimRows) of(j *penstock.Job) *claimedItems {
	items := h.byJob[j.ID]
	if items == nil {
		items = &claimedItems{job: j, ids: h.ids}
		h.byJob[j.ID] = items
	}
	return items
}

// claimedItems are the items that a claim takes of one job.
type claimedItems struct {
	job     *penstock.Job
	ids     *claimIDs
	items   int          // all of them
	apart   *heldClaim   // those with rows; nil for none
	grouped []*heldClaim // those without; all rows are full but the last
}

// take gives an item its place in the claim.
func (h *claimedItems) take(c *store.Claimed, kept keptHow) {
	row := h.row(kept)
	h.items++
	row.ns = append(row.ns, c.Index)
	row.addTarget(c.Call.Target)
	if c.Claim = row.claim; kept == keptInGroup {
		c.Place = len(row.ns)
	}
}

// row is the row that the next item joins.
func (h *claimedItems) row(kept keptHow) *heldClaim {
	if kept == keptApart {
		if h.apart == nil {
			h.apart = h.newRow(h.ids.apart(), 1)
		}
		return h.apart
	}
	last := len(h.grouped) - 1
	if last < 0 || len(h.grouped[last].ns) == claimPlaces {
		h.grouped = append(h.grouped, h.newRow(h.ids.groupedInput(len(h.grouped)), claimPlaces))
		last++
	}
	return h.grouped[last]
}

func (h *claimedItems) newRow(id penstock.ID, items int) *heldClaim {
	return &heldClaim{claimKey: claimKey{h.job.ID, id}, tenant: h.job.Tenant, ns: make([]int, 0, items)}
}

// rows are the rows of the job's items.
func (h *claimedItems) rows() []*heldClaim {
	if h.apart == nil {
		return h.grouped
	}
	return append([]*heldClaim{h.apart}, h.grouped...)
}

// keptHow is how an item that is claimed is kept.
type keptHow int

const (
	keptInGroup keptHow = iota // nothing happened to it yet
	keptApart                  // by a row of its own
)

func (h *claimRows) insert(ctx context.Context, tx sqldb.Tx, l store.Lease) error {
	for _, job := range slices.Sorted(maps.Keys(h.byJob)) {
		for _, row := range h.byJob[job].rows() { // the ids of a claim are in order
			if err := row.insert(ctx, tx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

const claimColumns = `c.job_id, c.id, c.tenant_id, c.items, c.ended, c.targets`

func scanClaim(row sqldb.Row) (c heldClaim, err error) {
	var ns []byte
	var targets string
	if err := row.Scan(&c.job, &c.claim, &c.tenant, &ns, &c.ended, &targets); err != nil {
		return c, err
	}
	if err := c.scanTargets(targets); err != nil {
		return c, err
	}
	return c, json.Unmarshal(ns, &c.ns)
}

// running is an item that a claim holds.
type running struct {
	claimKey
	tenant penstock.TenantID
	n      int
	item   penstock.ID
	target string         // at which capacity was taken for it, "" when that is not known
	row    *itemstore.Row // nil as long as it has none
}

// fence is that of the claim: the first of an item that has no row.
func (r running) fence() int64 {
	if r.row == nil {
		return 1
	}
	return r.row.Fence
}

// itemsOf are the items of claims that still run under them, in the order of their ids. An item without a row
// left its line with the claim: it runs until the claim says that it ended.
func itemsOf(ctx context.Context, tx sqldb.Tx, claims []heldClaim) ([]running, error) {
	var all []running
	var ids []penstock.ID
	for _, c := range claims {
		for at, n := range c.ns {
			if c.ended&placeBit(at+1) != 0 {
				continue
			}
			item := penstock.ItemID(c.job, n)
			ids = append(ids, item)
			all = append(all, running{claimKey: c.claimKey, tenant: c.tenant, n: n, item: item, target: c.targetOf(n)})
		}
	}
	rows, err := itemReader.Rows(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	held := all[:0]
	for _, r := range all {
		if r.row = rows[r.item]; r.row == nil || (r.row.Status == penstock.StatusRunning && r.row.Claim == r.claim) {
			held = append(held, r)
		}
	}
	slices.SortFunc(held, func(a, b running) int { return cmp.Compare(a.item, b.item) })
	return held, nil
}
