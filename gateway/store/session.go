package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	db  *Store
	Err error // the first one
}

// maxTries is how often a transaction is begun that others got in the way of.
const maxTries = 10

// Transact runs statements that take effect together or not at all. Where PostgreSQL has
// ended the transaction in favour of another one, they run again.
func (s *Store) Transact(ctx context.Context, do func(*Session)) (err error) {
	for range maxTries {
		err = s.tryTransaction(ctx, do)
		if !outdone(err) {
			break
		}
	}
	return err
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

// maxRows are written by one statement.
const maxRows = 4096

// Insert runs a statement for some rows, which take the place of ROWS in it:
// "insert into t (a, b) ROWS on conflict do nothing". They are sent as JSON, which both
// databases read, so that many rows take one round trip. They are written in order, so that
// instances that write the same rows at once do not deadlock.
func (t *Session) Insert(statement string, rows [][]any) {
	for some := range slices.Chunk(rows, maxRows) {
		columns := make([]string, len(some[0]))
		order := make([]string, len(columns))
		for i, value := range some[0] {
			kind := "bigint"
			switch value.(type) {
			case string:
				kind = "text"
			case float64:
				kind = "double precision"
			}
			columns[i] = fmt.Sprintf("cast(value->>%d as %s)", i, kind)
			order[i] = strconv.Itoa(i + 1)
		}
		values := "select " + strings.Join(columns, ", ") + " from json_array_elements($1) where true order by " +
			strings.Join(order, ", ")
		t.Exec(strings.Replace(statement, "ROWS", values, 1), asJSON(some))
	}
}

// asJSON encodes numbers and texts, which cannot fail.
func asJSON(list any) string {
	text, _ := json.Marshal(list)
	return string(text)
}

// EachAmong is Each for clients of a list, where the query says "in IDS".
func (t *Session) EachAmong(query string, ids []int64, args, into []any, row func()) {
	if len(ids) == 0 {
		return
	}
	place := fmt.Sprintf("in (select cast(cast(value as text) as bigint) from json_array_elements($%d))", len(args)+1)
	args = append(slices.Clone(args), asJSON(ids))
	t.Each(strings.ReplaceAll(query, "in IDS", place), args, into, row)
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
