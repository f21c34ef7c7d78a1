package store

import (
	"time"

	"penstock"
)

// SpendingQuery asks what was spent in a period.
type SpendingQuery struct {
	From, To time.Time // To itself is not part of it
	// The fields to group by; the rest is added up.
	ByKey, ByModel, ByLane, ByTags bool
	Only                           SpendingOf
	Limit                          int
}

// SpendingOf is the spending that a query is about; an empty field is about any.
type SpendingOf struct {
	Key, Model string
	Lane       penstock.Lane
}

// Spending is what was spent with a key on a model in a lane under some tags, as far as the query groups by them.
type Spending struct {
	Key      string
	Model    string
	Lane     penstock.Lane
	Tags     map[string]string
	Outcomes int64
	Usage    penstock.Usage
	Cost     penstock.NanoUSD
	Forfeit  penstock.NanoUSD // charged although the upstream did not report whether it was spent
}
