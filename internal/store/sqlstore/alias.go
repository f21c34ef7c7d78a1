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
	Migration  = sqldb.Migration
	query      = sqldb.Query
)

var (
	sqlf        = sqldb.SQL
	ask         = sqldb.Ask
	Brief       = sqldb.Brief
	insertInto  = sqldb.InsertInto
	overwriting = sqldb.Overwriting
	update      = sqldb.Update
	swap        = sqldb.Swap
	deleteFrom  = sqldb.DeleteFrom

	ErrMissed      = sqldb.ErrMissed
	ErrLockTimeout = sqldb.ErrLockTimeout
	ErrFull        = sqldb.ErrFull
	ErrAway        = sqldb.ErrAway
)

const (
	SeveralRows = sqldb.SeveralRows

	Text   = sqldb.Text
	Bigint = sqldb.Bigint
	Bytea  = sqldb.Bytea
)

func queryAll[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) ([]T, error) {
	return sqldb.QueryAll(ctx, tx, q, scan)
}

func queryOne[T any](ctx context.Context, tx Tx, q query, scan func(Row) (T, error)) (T, bool, error) {
	return sqldb.QueryOne(ctx, tx, q, scan)
}
