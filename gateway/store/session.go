package store

import (
	"cmp"
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
		PrepareContext(context.Context, string) (*sql.Stmt, error)
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
// "insert into t (a, b) ROWS on conflict do nothing". SQLite is quickest with one prepared
// statement. PostgreSQL takes many rows at a time, as one list for each column, and writes
// them in order, so that instances that write the same rows at once do not deadlock.
func (t *Session) Insert(statement string, rows [][]any) {
	if !t.db.Shared {
		t.insertEach(statement, rows)
		return
	}
	for some := range slices.Chunk(rows, maxRows) {
		lists := make([]any, len(some[0]))
		places := make([]string, len(lists))
		order := make([]string, len(lists))
		for i := range lists {
			var kind string
			lists[i], kind = listOf(some, i)
			places[i] = fmt.Sprintf("$%d::%s[]", i+1, kind)
			order[i] = strconv.Itoa(i + 1)
		}
		values := fmt.Sprintf("select * from unnest(%s) order by %s",
			strings.Join(places, ", "), strings.Join(order, ", "))
		t.Exec(strings.Replace(statement, "ROWS", values, 1), lists...)
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
		t.Err = t.db.explain(err)
		return
	}
	defer prepared.Close()
	ctx := context.WithoutCancel(t.ctx) // SQLite's driver starts a goroutine for every row that could be cancelled
	for _, row := range rows {
		_, err := prepared.ExecContext(ctx, row...)
		t.Err = cmp.Or(t.db.explain(err), t.ctx.Err())
		if t.Err != nil {
			return
		}
	}
}

// EachAmong is Each for clients of a list, where the query says "in IDS".
func (t *Session) EachAmong(query string, ids []int64, args, into []any, row func()) {
	if len(ids) == 0 {
		return
	}
	place := fmt.Sprintf("in (select cast(cast(value as text) as bigint) from json_array_elements($%d))", len(args)+1)
	list, _ := json.Marshal(ids) // numbers, which cannot fail
	args = append(slices.Clone(args), string(list))
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
