package sqlstore

import (
	"context"

	"penstock/internal/store/sqldb"
)

// Short names of what package sqldb gives to all SQL packages.
type (
	Engine     = sqldb.Engine
	Tx         = sqldb.Tx
	Row        = sqldb.Row
	Rows       = sqldb.Rows
	IDQuery    = sqldb.IDQuery
	Question   = sqldb.Question
	Bulk       = sqldb.Bulk
	ColumnType = sqldb.ColumnType
	query      = sqldb.Query
	wide       = sqldb.Wide
)

var (
	sqlf       = sqldb.SQL
	ask        = sqldb.Ask
	hide       = sqldb.PublicError
	storable   = sqldb.Storable
	micros     = sqldb.Micros
	fromMicros = sqldb.FromMicros
	wideSum    = sqldb.WideSum
	insertInto = sqldb.InsertInto
	update     = sqldb.Update
	swap       = sqldb.Swap
	deleteFrom = sqldb.DeleteFrom

	ErrMissed      = sqldb.ErrMissed
	ErrLockTimeout = sqldb.ErrLockTimeout
)

const (
	Text   = sqldb.Text
	Bigint = sqldb.Bigint
)

func queryAll[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) ([]T, error) {
	return sqldb.QueryAll(ctx, tx, q, scan)
}

func queryOne[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) (T, bool, error) {
	return sqldb.QueryOne(ctx, tx, q, scan)
}
