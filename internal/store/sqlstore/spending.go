package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// Spending implements store.Ledger. The condition on the kind is that of the index.
func (s *Store) Spending(ctx context.Context, tenant penstock.TenantID, q store.SpendingQuery) (all []store.Spending, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		all, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT CASE WHEN $4 = 1 THEN key_name ELSE '' END AS k, CASE WHEN $5 = 1 THEN model ELSE '' END AS m,
				CASE WHEN $6 = 1 THEN lane ELSE '' END AS l, CASE WHEN $7 = 1 THEN tags ELSE '{}' END AS t,
				`+sqldb.WideSum(`CASE WHEN kind = 'settle' THEN outcomes ELSE 0 END`)+`, `+sqldb.WideSum(`CASE WHEN kind = 'settle' THEN cost_nano_usd ELSE 0 END`)+`,
				`+sqldb.WideSum(`CASE WHEN kind = 'forfeit' THEN cost_nano_usd ELSE 0 END`)+`, `+usagerow.Each(sqldb.WideSum(`%s`), `, `)+`
			FROM ledger WHERE tenant_id = $1 AND created_at >= $2 AND created_at < $3 AND kind <> 'reserve' AND kind <> 'release'
				AND ($9 = '' OR key_name = $9) AND ($10 = '' OR model = $10) AND ($11 = '' OR lane = $11)
			GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT $8`,
			tenant, sqldb.Micros(q.From), sqldb.Micros(q.To), truth(q.ByKey).column(), truth(q.ByModel).column(), truth(q.ByLane).column(),
			truth(q.ByTags).column(), q.Limit, q.Only.Key, q.Only.Model, string(q.Only.Lane)), scanSpending)
		return err
	})
	return all, err
}

func scanSpending(row sqldb.Row) (s store.Spending, err error) {
	var tags string
	var sums [3 + len(penstock.UsageNames)]sqldb.Wide // outcomes, cost, forfeit and the counts of a usage
	into := []any{&s.Key, &s.Model, &s.Lane, &tags}
	for i := range sums {
		into = append(into, &sums[i].Upper, &sums[i].Lower)
	}
	if err := row.Scan(into...); err != nil {
		return s, err
	}
	s.Outcomes, s.Cost, s.Forfeit = sums[0].Total(), penstock.NanoUSD(sums[1].Total()), penstock.NanoUSD(sums[2].Total())
	for i, n := range s.Usage.Counts() {
		*n = sums[3+i].Total()
	}
	if err := json.Unmarshal([]byte(tags), &s.Tags); err != nil {
		return s, fmt.Errorf("reading tags of an entry: %w", err)
	}
	return s, nil
}
