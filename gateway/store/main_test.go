package store_test

import (
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

func TestMain(m *testing.M) { recorded.Main(m) }

// use has a service write to a database, as of a time, and end.
func use(t *testing.T, cfg store.Config, at time.Time) {
	t.Helper()
	r := recorded.Begin(t, cfg, clock.At(at))
	r.Call("origin https://a.example", 3)
	r.Close()
}

// execute runs statements on a database.
func execute(t *testing.T, cfg store.Config, statements string) {
	t.Helper()
	driver, address := "pgx", cfg.DB
	if !cfg.Postgres() {
		driver, address = "sqlite", "file:"+url.PathEscape(cfg.DB)+"?_journal_mode=WAL"
	}
	db, err := sql.Open(driver, address)
	if err == nil {
		_, err = db.Exec(statements)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fillEarlier makes the tables that a release before 1.0 has left, with rows.
func fillEarlier(t *testing.T, cfg store.Config) {
	t.Helper()
	file := "testdata/earlier.sqlite.sql"
	if cfg.Postgres() {
		file = "testdata/earlier.postgres.sql"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, cfg, string(text))
}

// open opens a database for a test.
func open(t *testing.T, cfg store.Config) *store.Store {
	t.Helper()
	db, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func contains(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want something with %q", what, got, want)
	}
}
