package evidence

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
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

// Explain says what an error of PostgreSQL means.
func Explain(err error) error { return (&DB{shared: true}).explain(err) }

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

// Forget drops what is kept of days that are over.
func (db *DB) Forget() { db.kept.Clear() }

// View is the same database as another instance sees it, with a clock and caches of its own.
// It is closed with the database.
func (db *DB) View(o Options) *DB {
	view := &DB{statements: db.statements, shared: db.shared, most: db.most, writer: db.writer, pages: db.pages}
	view.use(o)
	return view
}

// Activities are what clients of a version did, put together from days that are over and others,
// and at once.
func (db *DB) Activities(ctx context.Context, version string, at time.Time) (together, atOnce string, err error) {
	text := func(all []activity) string {
		slices.SortFunc(all, func(a, b activity) int { return cmp.Compare(a.id, b.id) })
		return fmt.Sprintf("%+v", all)
	}
	var some []activity
	p, err := db.page().period(ctx, at, forever)
	if err != nil {
		return "", "", err
	}
	byID, err := db.page().activities(ctx, p, version)
	if err != nil {
		return "", "", err
	}
	for _, a := range byID {
		some = append(some, *a)
	}
	all, err := query(ctx, db.page(), scanActivity, "activities", version, p.first, p.last, firstDay(at, 7),
		firstDay(at, 30))
	return text(some), text(all), err
}
