package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Session runs statements one after the other. After the first error, no more run.
type Session struct {
	ctx context.Context
	on  interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	db  *Store
	Err error // the first one
}

// maxTries is how often a transaction is begun that others got in the way of.
const maxTries = 10

// Transact runs statements that take effect together or not at all. Where PostgreSQL
// has ended the transaction in favour of another one, they run again.
func (s *Store) Transact(ctx context.Context, do func(*Session)) error {
	for try := 1; ; try++ {
		err := s.tryTransaction(ctx, do)
		if !outdone(err) || try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(try) * rand.N(20*time.Millisecond)): // so that both do not meet again
		}
	}
}

// outdone reports whether a transaction was ended in favour of another one, and would
// succeed if it ran again: a deadlock, or a serialization failure.
func outdone(err error) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refusal.Code == "40P01" || refusal.Code == "40001")
}

func (s *Store) tryTransaction(ctx context.Context, do func(*Session)) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	t := &Session{ctx: ctx, on: tx, db: s}
	do(t)
	if t.Err != nil {
		return t.Err
	}
	return s.explain(tx.Commit())
}

// Exec returns how many rows were changed.
func (t *Session) Exec(statement string, args ...any) (changed int64) {
	if t.Err != nil {
		return 0
	}
	result, err := t.on.ExecContext(t.ctx, t.db.dialect(statement), args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	t.Err = t.db.explain(err)
	return changed
}

// Get reads the single row that a query returns.
func (t *Session) Get(query string, args []any, into ...any) {
	if t.Err == nil {
		t.Err = t.db.explain(t.on.QueryRowContext(t.ctx, t.db.dialect(query), args...).Scan(into...))
	}
}

// Each scans every row of a query into the given places, and calls row. That must not
// ask for anything meanwhile.
func (t *Session) Each(query string, args, into []any, row func()) {
	if t.Err != nil {
		return
	}
	rows, err := t.on.QueryContext(t.ctx, t.db.dialect(query), args...)
	if err != nil {
		t.Err = t.db.explain(err)
		return
	}
	defer rows.Close()
	for rows.Next() && err == nil {
		err = rows.Scan(into...)
		if err == nil {
			row()
		}
	}
	if err == nil {
		err = rows.Err()
	}
	t.Err = t.db.explain(err)
}

// maxRows are sent to PostgreSQL in one round trip.
const maxRows = 4096

// Insert runs a statement for each of some rows, of which it has the values where it says
// ROWS: "insert into t (a, b) ROWS on conflict do nothing". SQLite is quickest with one
// prepared statement; PostgreSQL takes many rows at a time, as one list for each column.
func (t *Session) Insert(statement string, rows [][]any) {
	if !t.db.Shared {
		t.insertEach(statement, rows)
		return
	}
	for some := range slices.Chunk(rows, maxRows) {
		lists := make([]any, len(some[0]))
		places := make([]string, len(some[0]))
		for i := range lists {
			var kind string
			lists[i], kind = listOf(some, i)
			places[i] = fmt.Sprintf("$%d::%s[]", i+1, kind)
		}
		t.Exec(strings.Replace(statement, "ROWS", "select * from unnest("+strings.Join(places, ", ")+")", 1), lists...)
	}
}

// listOf is a column of some rows, and its type in PostgreSQL.
func listOf(rows [][]any, column int) (list []any, kind string) {
	for _, row := range rows {
		list = append(list, row[column])
	}
	switch list[0].(type) {
	case string:
		return list, "text"
	case float64:
		return list, "float8"
	}
	return list, "bigint"
}

func (t *Session) insertEach(statement string, rows [][]any) {
	if t.Err != nil || len(rows) == 0 {
		return
	}
	places := "values (" + strings.Join(slices.Repeat([]string{"?"}, len(rows[0])), ", ") + ")"
	prepared, err := t.on.PrepareContext(t.ctx, t.db.dialect(strings.Replace(statement, "ROWS", places, 1)))
	if err != nil {
		t.Err = err
		return
	}
	defer prepared.Close()
	ctx := context.WithoutCancel(t.ctx) // SQLite's driver starts a goroutine for every row that could be cancelled
	for _, row := range rows {
		_, t.Err = prepared.ExecContext(ctx, row...)
		if t.Err == nil {
			t.Err = t.ctx.Err()
		}
		if t.Err != nil {
			return
		}
	}
}

// EachAmong is Each for clients of a list, where the query says "in IDS". With SQLite it
// runs several times if the list is long.
func (t *Session) EachAmong(query string, ids []int64, args, into []any, row func()) {
	t.among(query, ids, args, func(query string, args []any) { t.Each(query, args, into, row) })
}

// ExecAmong is Exec for clients of a list, where the statement says "in IDS".
func (t *Session) ExecAmong(statement string, ids []int64, args ...any) {
	t.among(statement, ids, args, func(statement string, args []any) { t.Exec(statement, args...) })
}

func (t *Session) among(statement string, ids []int64, args []any, run func(string, []any)) {
	if t.db.Shared && len(ids) > 0 {
		list := fmt.Sprintf("= any($%d)", len(args)+1)
		run(strings.ReplaceAll(statement, "in IDS", list), append(slices.Clone(args), ids))
		return
	}
	for some := range slices.Chunk(ids, maxRows) {
		texts := make([]string, len(some))
		for i, id := range some {
			texts[i] = strconv.FormatInt(id, 10)
		}
		run(strings.ReplaceAll(statement, "IDS", "("+strings.Join(texts, ", ")+")"), args)
	}
}

// Now is the database's time. A file has no clock but ours.
func (t *Session) Now(own time.Time) (at time.Time) {
	switch {
	case !t.db.Shared:
		return own
	case t.db.Clock != nil:
		return t.db.Clock()
	}
	t.Get("select now()", nil, &at)
	return at
}
