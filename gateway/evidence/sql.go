package evidence

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed" // the statements
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/quotegate/quotegate/shared/fault"
)

var (
	//go:embed sqlite.sql
	sqliteFile string
	//go:embed postgres.sql
	postgresFile string

	sqliteStatements   = statements(sqliteFile)
	postgresStatements = statements(postgresFile)
)

// statements are those of a file, by the name above each.
func statements(file string) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split(file, "\n-- name: ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		all[name] = strings.TrimSpace(text)
	}
	return all
}

// conn runs the statements of a database, on a pool of connections or in a transaction.
type conn struct {
	db *DB
	on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		PrepareContext(context.Context, string) (*sql.Stmt, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	}
}

// exec runs a statement, and returns how many rows it has changed.
func (c conn) exec(ctx context.Context, name string, args ...any) (changed int64, err error) {
	result, err := c.on.ExecContext(ctx, c.db.statements[name], args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	return changed, c.db.explain(err)
}

// query returns what a function makes of each row.
func query[T any](
	ctx context.Context, c conn, scan func(*sql.Rows) (T, error), name string, args ...any,
) (all []T, err error) {
	rows, err := c.on.QueryContext(ctx, c.db.statements[name], args...)
	if err != nil {
		return nil, c.db.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, c.db.explain(err)
		}
		all = append(all, one)
	}
	return all, c.db.explain(rows.Err())
}

// value is that of a query with one row and one column; zero if there is no row.
func value[T any](ctx context.Context, c conn, name string, args ...any) (v T, err error) {
	all, err := query(ctx, c, only[T], name, args...)
	if len(all) > 0 {
		v = all[0]
	}
	return v, err
}

// only reads the one column of a row.
func only[T any](rows *sql.Rows) (v T, err error) { return v, rows.Scan(&v) }

// list is a parameter for a query about some clients.
func (c conn) list(ids []int64) any {
	if c.db.shared {
		return ids
	}
	text, _ := json.Marshal(ids) // numbers, which cannot fail
	return string(text)
}

// put runs a statement for some rows. SQLite is quickest with one prepared statement,
// PostgreSQL with one list for each column.
func (c conn) put(ctx context.Context, name string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	if !c.db.shared {
		return c.putEach(ctx, name, rows)
	}
	columns := make([]any, len(rows[0]))
	for i := range columns {
		var column []any
		for _, row := range rows {
			column = append(column, row[i])
		}
		columns[i] = column
	}
	_, err := c.exec(ctx, name, columns...)
	return err
}

func (c conn) putEach(ctx context.Context, name string, rows [][]any) error {
	prepared, err := c.on.PrepareContext(ctx, c.db.statements[name])
	if err != nil {
		return err
	}
	defer prepared.Close()
	whole := context.WithoutCancel(ctx) // SQLite's driver starts a goroutine for every row that could be cancelled
	for _, row := range rows {
		_, err := prepared.ExecContext(whole, row...)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// maxTries is how often a transaction is begun that others got in the way of.
const maxTries = 10

// transact runs statements that take effect together or not at all. Where PostgreSQL has
// ended the transaction in favour of another one, they run again.
func (db *DB) transact(ctx context.Context, do func(conn) error) (err error) {
	for range maxTries {
		err = db.tryTransaction(ctx, do)
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

func (db *DB) tryTransaction(ctx context.Context, do func(conn) error) error {
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return db.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := do(conn{db, tx}); err != nil {
		return err
	}
	return db.explain(tx.Commit())
}

// lock has a transaction wait for others. SQLite has one writer at a time.
func (c conn) lock(ctx context.Context, name string) error {
	if !c.db.shared {
		return nil
	}
	_, err := c.exec(ctx, name)
	return err
}

// serverError says why a database did not answer, in words of our own. The text of the
// driver has the host, the user and the database.
type serverError struct {
	text  string
	cause error
}

func (e *serverError) Error() string { return e.text }

func (e *serverError) Unwrap() error { return e.cause }

// explain makes an error one in words, without the address of a server. SQLite has its own.
func (db *DB) explain(err error) error {
	_, done := errors.AsType[*serverError](err)
	switch {
	case err == nil || done:
		return err
	case !db.shared && errors.Is(err, context.DeadlineExceeded):
		return &serverError{"SQLite: timed out", err}
	case !db.shared:
		return err
	}
	refusal, refused := errors.AsType[*pgconn.PgError](err)
	text, _ := fault.ExplainNetwork(err)
	switch {
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		text = refusals["25006"]
	case refused:
		text = explainCode(refusal.Code)
	}
	return &serverError{"PostgreSQL: " + cmp.Or(text, "connection failed"), err}
}

// explainCode says what a SQLSTATE means, and names it.
func explainCode(code string) string {
	class := code[:min(len(code), 2)]
	return fmt.Sprintf("%s (%.5s)", cmp.Or(refusals[code], refusals[class], "it returned an error"), code)
}

// refusals are what the codes of PostgreSQL mean, or the classes that they begin with. Only what
// an operator can do something about is named.
var refusals = map[string]string{
	"08":    "the connection was lost or refused",
	"25006": "the database is read-only; is this a standby?",
	"28":    "the server does not let this user in; see its pg_hba.conf",
	"28P01": "wrong user or password",
	"3D000": "there is no database of this name; create it, or name another one in USAGE_DB",
	"40":    "other transactions got in the way",
	"42":    "it does not understand the statement; is it a version that the gateway supports?",
	"42501": "the user may not make tables, or write to those that exist; make it their owner, " +
		"and grant it CREATE on the schema",
	"42P01": "a table of the gateway is missing",
	"53":    "the server has no resources left",
	"53100": "the disk is full",
	"53200": "the server is out of memory",
	"53300": "too many connections",
	"57014": "the statement was canceled, or took too long",
	"57P01": "the server is shutting down",
	"57P02": "the server is restarting after a crash",
	"57P03": "the server is starting up or shutting down",
	"57P04": "the database was dropped",
	"58":    "the server has a system error; see its log",
	"XX":    "the server has an internal error; see its log",
}

// damaged reports whether err means that the file will never work. Otherwise the
// database is unavailable, full or busy, and may work later.
func damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	code := e.Code() & 0xff // without the extension
	return code == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_CORRUPT
}
