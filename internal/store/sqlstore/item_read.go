package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// itemReader finds items in whichever form they are stored.
var itemReader = itemstore.Reader{Claims: func(ctx context.Context, tx sqldb.Reader, job penstock.ID) (itemstore.Claims, error) {
	held, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+claimColumns+` FROM claims c WHERE c.job_id = $1`, job), scanClaim)
	return heldClaims(held), err
}}

// heldClaims are the claims of one job.
type heldClaims []heldClaim

// Running implements itemstore.Claims.
func (h heldClaims) Running(n int) (claim penstock.ID, place int) {
	for _, c := range h {
		if place := c.placeOf(n); place > 0 {
			return c.claim, place
		}
	}
	return "", 0
}
