package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

var (
	shared    = sync.OnceValues(func() (*Server, error) { return New(context.Background()) })
	begun     atomic.Bool  // somebody has asked for it
	databases atomic.Int64 // that were made in it
)

// Shared is a server that all tests of a package share. Each makes databases of its own.
// TestMain stops it.
func Shared(t testing.TB) *Server {
	t.Helper()
	begun.Store(true)
	s, err := shared()
	need(t, err)
	return s
}

// StopShared stops the shared server, if there is one.
func StopShared() {
	if !begun.Load() {
		return
	}
	if s, err := shared(); err == nil {
		s.Close()
	}
}

// ForTest is a server of a test's own.
func ForTest(t testing.TB) *Server {
	t.Helper()
	s, err := New(t.Context())
	need(t, err)
	t.Cleanup(s.Close)
	return s
}

// need skips a test on a machine without PostgreSQL, but not where CI runs.
func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrNone) && os.Getenv("CI") == "":
		t.Skip("SKIPPED, NOT TESTED: " + err.Error())
	case err != nil:
		t.Fatal(err)
	}
}

// Fresh makes an empty database, and returns its address. Who connects waits for longer
// than a service does: a busy machine may stall.
func (s *Server) Fresh(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("test", databases.Add(1))
	s.Exec(t, "postgres", "create database "+name)
	return s.URL(name) + "&connect_timeout=60"
}

// Exec runs a statement in a database.
func (s *Server) Exec(t testing.TB, database, statement string) {
	t.Helper()
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(ctx)
	if _, err := connection.Exec(ctx, statement); err != nil {
		t.Fatal(err)
	}
}
