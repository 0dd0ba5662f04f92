package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// What tests outside of the package see of it.
const MaxTries = maxTries

// Migrations are those of this release.
var Migrations = schema

// ColumnsOf are the columns that a schema of this release has.
func ColumnsOf(ctx context.Context, number int) (map[string]bool, error) {
	return (&Store{Schema: schema}).columnsOf(ctx, number)
}

// Columns are those that a database has.
func (s *Store) Columns(ctx context.Context) (map[string]bool, error) {
	q := s.Ask(ctx)
	return q.columns(), q.Err
}

// Difference says in what columns differ.
func Difference(got, want map[string]bool) string { return difference(got, want) }

// OpenAsItIs opens a database for reading, whatever its tables are.
func OpenAsItIs(c Config) (*Store, error) { return openToRead(c) }

// Guarded is a connector as a server is connected to.
func Guarded(c driver.Connector) *sql.DB { return sql.OpenDB(guardedConnector{c}) }
