package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/counted"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// A database that is in use, and one that is not, answer. Neither is changed.
func TestCheck(t *testing.T) {
	test := func(t *testing.T, cfg store.Config) {
		err := store.Check(t.Context(), cfg)
		if !cfg.Postgres() && !errors.Is(err, store.ErrNoFile) || cfg.Postgres() && err != nil {
			t.Errorf("before the first use: got %v", err)
		}
		at := recorded.At(time.Now())
		r := counted.Begin(t, cfg, at)
		r.Call("origin https://a.example", 3)
		r.Flush(t)
		if err := store.Check(t.Context(), cfg); err != nil {
			t.Errorf("in use: got %v", err)
		}
		r.Close()
		if err := store.Check(t.Context(), cfg); err != nil {
			t.Errorf("after use: got %v", err)
		}
		r = counted.Begin(t, cfg, at)
		if e := r.Evidence("v1", 1); e.Clients != 1 || e.Calls != 3 || len(r.Notes()) != 0 {
			t.Errorf("got %d clients, %d calls and the notes %q, want what was counted, and no gap",
				e.Clients, e.Calls, r.Notes())
		}
	}
	recorded.OnDisk(t, test)
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	hung, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		db   string
		ctx  context.Context
		want string
	}{
		{"postgres://gate:hunter2@127.0.0.1:1/hunter2", t.Context(), "PostgreSQL: connection refused"},
		{"postgres://gate:hunter2@" + hung.Addr().String() + "/hunter2?sslmode=disable", short,
			"PostgreSQL: no answer in time"},
		{strings.Replace(postgres.Shared(t).URL("hunter2"), "postgres@", "postgres:hunter2@", 1), t.Context(),
			`PostgreSQL refuses with the code "3D000"`},
	} {
		if err := store.Check(c.ctx, store.Config{DB: c.db}); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// What is not a database is found, and left as it is; nothing is created.
func TestCheckLeavesFilesAlone(t *testing.T) {
	for name, content := range map[string]string{
		"damaged":     "SQLite format 3\x00" + strings.Repeat("\xff", 5000),
		"a few bytes": "x",
		"a text":      "what an earlier release wrote",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "usage")
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := store.Check(t.Context(), store.Config{DB: file}); err == nil {
			t.Errorf("%s: got no error", name)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o644 || info.Size() != int64(len(content)) {
			t.Errorf("%s: the file was changed: %v, %v", name, info, err)
		}
		if got := entries(t, dir); !slices.Equal(got, []string{"usage"}) {
			t.Errorf("%s: left %q", name, got)
		}
	}
	dir := t.TempDir()
	if err := store.Check(t.Context(), store.Config{DB: filepath.Join(dir, "usage")}); !errors.Is(err, store.ErrNoFile) {
		t.Errorf("no file: got %v", err)
	}
	nowhere := store.Config{DB: filepath.Join(dir, "none", "usage")}
	if err := store.Check(t.Context(), nowhere); err == nil || errors.Is(err, store.ErrNoFile) {
		t.Errorf("no directory: got %v", err)
	}
	if err := store.Check(t.Context(), store.Config{DB: dir}); err == nil {
		t.Error("a directory was taken")
	}
	if got := entries(t, dir); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// SQLite needs files of its own beside the database, so that a folder in which
// nothing can be written is found before the service starts.
func TestCheckFindsAFolderThatCannotBeWritten(t *testing.T) {
	dir, err := os.MkdirTemp("", "usage-folder")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "usage.db")
	if err := errors.Join(os.WriteFile(file, nil, 0o666), os.Chmod(file, 0o666), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		if os.Geteuid() == 0 { // who may write anywhere
			const nobody, unchanged = 65534, ^uintptr(0)
			if _, _, failed := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, unchanged); failed != 0 {
				got <- failed
				return
			}
		}
		got <- store.Check(context.Background(), store.Config{DB: file})
	}()
	if err := <-got; err == nil ||
		!strings.Contains(err.Error(), "cannot be written to, and SQLite needs files of its own") {
		t.Errorf("got %v, want the folder", err)
	}
}

// A user who may not create tables, a database that is read-only, and clocks that
// are apart are found before the service starts.
func TestCheckFindsWhatAServiceWouldMiss(t *testing.T) {
	url := postgres.Shared(t).Fresh(t)
	admin, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Exec("drop role if exists reader; create role reader login; " +
		"revoke create on schema public from public"); err != nil {
		t.Fatal(err)
	}
	check := func(url, want string) {
		t.Helper()
		if err := store.Check(t.Context(), store.Config{DB: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(strings.Replace(url, "postgres@", "reader@", 1), "may not create tables")
	check(url+"&default_transaction_read_only=on", "read-only")
	if _, err := admin.Exec("create schema late; " +
		"create function late.clock_timestamp() returns timestamptz language sql " +
		"as $$ select pg_catalog.now() + interval '5 minutes' $$"); err != nil {
		t.Fatal(err)
	}
	check(url+"&search_path=late,pg_catalog,public", "this machine's clock is 4 minutes behind the database's")
	file := filepath.Join(t.TempDir(), "usage.db")
	r := counted.Begin(t, store.Config{DB: file}, recorded.At(time.Now().Add(48*time.Hour)))
	r.Close()
	check(file, "the last record is 47 hours ahead of this machine's clock")
}

func TestConfig(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  store.Config
		want []string // how the lines begin
	}{
		"zero":       {store.Config{}, nil},
		"file":       {store.Config{DB: "/var/lib/quotegate/postgres.DB"}, nil},
		"PostgreSQL": {store.Config{DB: "postgresql://gate:hunter2@db.example:5433/usage?sslmode=require"}, nil},
		"bad port":   {store.Config{DB: "postgres://gate:hunter2@db.example:port/usage"}, []string{"USAGE_DB: "}},
		"MySQL":      {store.Config{DB: "mysql://gate:hunter2@db.example/usage"}, []string{"USAGE_DB: "}},
	} {
		err := test.cfg.Validate()
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if len(got) != len(test.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: got %q, want %q and no secret", name, got, test.want)
			continue
		}
		for i, line := range got {
			if !strings.HasPrefix(line, test.want[i]) {
				t.Errorf("%s: got %q, want %q", name, line, test.want[i])
			}
		}
		if err != nil {
			if _, err := store.Open(test.cfg); err == nil {
				t.Errorf("%s: it was opened", name)
			}
		}
	}
}
