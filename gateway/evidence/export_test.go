package evidence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// What tests outside of the package see of it.
const (
	MaxTries      = maxTries
	NewPerNetwork = newPerNetwork
	NewPerDay     = newPerDay
	ReportDays    = reportDays
)

// Guarded is a connector as a server is connected to.
func Guarded(c driver.Connector) *sql.DB { return sql.OpenDB(guardedConnector{c}) }

// Pages are the connections of pages.
func (db *DB) Pages() *sql.DB { return db.pages }

// SetMost sets the size above which counts are given up.
func (db *DB) SetMost(bytes int64) { db.most = bytes }

// Transact runs statements of a test in one transaction, again and again as those of a write.
func (db *DB) Transact(ctx context.Context, statement func() string) error {
	return db.transact(ctx, func(tx conn) error {
		_, err := tx.on.ExecContext(ctx, statement())
		return db.explain(err)
	})
}

// Run is a run of a service.
type Run = run

// NewRun is one that follows no plan.
func NewRun(id, host string, started, written, stopped int64) Run {
	return run{id: id, host: host, started: started, written: written, stopped: stopped}
}

// Losses are those since a time.
func Losses(runs []Run, gaps []lifecycle.Gap, at, from time.Time, instances int) ([]string, []lifecycle.Gap) {
	return losses(runs, gaps, at, span{from.Unix(), at.Unix()}, instances)
}

// MoveOf says whether a client has moved or calls both versions.
var MoveOf = moveOf

// View is the same database as another instance sees it, with a clock and caches of its own.
// It is closed with the database.
func (db *DB) View(o Options) *DB {
	view := &DB{statements: db.statements, shared: db.shared, most: db.most, writer: db.writer, pages: db.pages}
	view.use(o)
	return view
}
