package store

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
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

// beginner is a pool, or one connection of it.
type beginner interface {
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}

// maxTries is how often a transaction is begun that others got in the way of.
const maxTries = 10

// Transact runs statements that take effect together or not at all. Where PostgreSQL
// has ended the transaction in favour of another one, they run again.
func (s *Store) Transact(ctx context.Context, do func(*Session)) error {
	return s.transactOn(ctx, s.DB, do)
}

func (s *Store) transactOn(ctx context.Context, on beginner, do func(*Session)) error {
	for try := 1; ; try++ {
		err := s.tryTransaction(ctx, on, do)
		if !outdone(err) || try == maxTries {
			return err
		}
		pause := time.Duration(try) * rand.N(20*time.Millisecond) // so that both do not meet again
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// outdone reports whether a transaction was ended in favour of another one, and would
// succeed if it ran again: a deadlock, or a serialization failure.
func outdone(err error) bool {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refusal.Code == "40P01" || refusal.Code == "40001")
}

func (s *Store) tryTransaction(ctx context.Context, on beginner, do func(*Session)) error {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	t := &Session{ctx: ctx, on: tx, db: s}
	do(t)
	if t.Err != nil {
		return t.Err
	}
	return tx.Commit()
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
	t.Err = err
	return changed
}

// Get reads the single row that a query returns.
func (t *Session) Get(query string, args []any, into ...any) {
	if t.Err == nil {
		t.Err = t.on.QueryRowContext(t.ctx, query, args...).Scan(into...)
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
		t.Err = err
		return
	}
	defer rows.Close()
	for rows.Next() {
		t.Err = rows.Scan(into...)
		if t.Err != nil {
			return
		}
		row()
	}
	t.Err = rows.Err()
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

// Size is how many bytes the counts take. PostgreSQL keeps the room of deleted rows,
// so there it is estimated from the number of rows.
func (t *Session) Size() (bytes int64) {
	query := `select (page_count - freelist_count) * page_size
		from pragma_page_count, pragma_freelist_count, pragma_page_size`
	if t.db.Shared {
		query = `select coalesce(sum(n_live_tup * case relname when 'usage_days' then 140 else 280 end), 0)::bigint
			from pg_stat_user_tables where schemaname = current_schema() and relname like 'usage\_%'`
	}
	t.Get(query, nil, &bytes)
	return bytes
}

// NearLimit reports whether a database takes about as much room as it may.
func (t *Session) NearLimit() bool { return t.Size() >= t.db.Nearly() }

// Shared reports whether other instances may be running: it is PostgreSQL.
func (t *Session) Shared() bool { return t.db.Shared }

// EachDay is the beginning of a query that has a row for each day from $1 to $2 in days.
const EachDay = `with recursive days(day) as (
	select cast($1 as bigint) union all select day + 1 from days where day < $2)`

// List writes numbers for a query.
func List(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ", ")
}

// NextNumber reads a number from a text that has many, up to a space or the end, and
// returns what is after it.
func NextNumber(text string) (n int64, rest string) {
	for i := range len(text) {
		if text[i] == ' ' {
			return n, text[i+1:]
		}
		n = 10*n + int64(text[i]-'0')
	}
	return n, ""
}
