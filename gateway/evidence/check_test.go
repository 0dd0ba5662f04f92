package evidence_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

func TestConfig(t *testing.T) {
	for address, want := range map[string]string{
		"":                               "",
		"/var/lib/quotegate/postgres.db": "",
		"postgresql://gate:hunter2@db.example:5433/usage?sslmode=require": "",
		"postgres://gate:hunter2@db.example:port/usage": "USAGE_DB: is not a PostgreSQL URL; " +
			"want postgres://user:password@host:5432/database",
		"mysql://gate:hunter2@db.example/usage": "USAGE_DB: is neither postgres://… nor the path of a SQLite file",
	} {
		cfg := evidence.Config{DB: address}
		if err := cfg.Validate(); want == "" && err != nil || want != "" && fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
		if want != "" {
			_, err := evidence.Open(cfg, evidence.Options{})
			contains(t, address, fmt.Sprint(err), want)
		}
	}
}

const wentOn = "the service will go on counting; calls are counted since 20"

// What a check says, and that it changes nothing.
func TestCheckOfBoth(t *testing.T) {
	for name, test := range map[string]struct {
		make func(*testing.T, evidence.Config)
		want string
	}{
		"of this release": {func(t *testing.T, cfg evidence.Config) { use(t, cfg, time.Now()) }, wentOn},
		"of a later": {func(t *testing.T, cfg evidence.Config) {
			use(t, cfg, time.Now())
			execute(t, cfg, "update quotegate_meta set value = '2' where name = 'schema'")
		}, evidence.ErrUnknownSchema.Error()},
		"without a secret": {func(t *testing.T, cfg evidence.Config) {
			use(t, cfg, time.Now())
			execute(t, cfg, "delete from quotegate_meta where name = 'secret'")
		}, "quotegate_meta has no secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
				test.make(t, cfg)
				will, err := evidence.Check(t.Context(), cfg)
				contains(t, "check", check(will, err), test.want)
			})
		})
	}
}

// check is what an operator reads.
func check(will string, err error) string {
	if err != nil {
		return err.Error()
	}
	return will
}

func TestCheckOfFiles(t *testing.T) {
	for name, test := range map[string]struct {
		content *string
		file    string // usage.db
		want    string
	}{
		"none":      {want: "the file does not exist yet; the service will make it"},
		"no folder": {file: "none/usage.db", want: "none does not exist or cannot be written to"},
		"a folder":  {file: ".", want: "is a directory"},
		"empty":     {content: new(string), want: "the service will make its tables"},
		"damaged":   {content: ptr("SQLite format 3\x00" + strings.Repeat("\xff", 5000)), want: "file is not a database"},
		"a text":    {content: ptr("text"), want: "is not a SQLite database, and is left as it is"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, cmp.Or(test.file, "usage.db"))
		if test.content != nil {
			if err := os.WriteFile(file, []byte(*test.content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		will, err := evidence.Check(t.Context(), evidence.Config{DB: file})
		contains(t, name, check(will, err), test.want)
		found, _ := filepath.Glob(dir + "/*")
		switch {
		case test.content == nil && len(found) != 0:
			t.Errorf("%s: left %q", name, found)
		case test.content != nil:
			got, _ := os.ReadFile(file)
			info, err := os.Stat(file)
			if string(got) != *test.content || err != nil || info.Mode().Perm() != 0o644 || len(found) != 1 {
				t.Errorf("%s: the file was changed, or others made: %q, %v", name, found, err)
			}
		}
	}
}

func ptr(text string) *string { return &text }

// SQLite needs files of its own beside the database.
func TestCheckOfAFolderThatCannotBeWritten(t *testing.T) {
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
		_, err := evidence.Check(context.Background(), evidence.Config{DB: file})
		got <- err
	}()
	contains(t, "check", fmt.Sprint(<-got), "cannot be written to, and SQLite needs files of its own in it")
}

// What is wrong with a server is said in words of our own, whoever asks: they have neither
// its host nor a user, a password or the name of a database.
func TestServerErrors(t *testing.T) {
	server := postgres.Shared(t)
	hung, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hung.Close() })
	fresh := server.Fresh(t)
	execute(t, evidence.Config{DB: fresh}, `drop role if exists hunter1; create role hunter1 login;
		drop role if exists hunter7; create role hunter7 login connection limit 0;
		revoke create on schema public from public`)
	asReader := strings.Replace(fresh, "postgres@", "hunter1:hunter2@", 1)
	away := "postgres://hunter1:hunter2@%s/hunter3?sslmode=%s"
	for name, test := range map[string]struct {
		address string
		limit   time.Duration // until the caller gives up; negative: it is cancelled
		want    string
	}{
		"away":         {fmt.Sprintf(away, "127.0.0.1:1", "disable"), 0, "PostgreSQL: connection refused"},
		"no such host": {fmt.Sprintf(away, "hunter4.invalid", "disable"), 0, "PostgreSQL: host name does not resolve"},
		"no TLS":       {fmt.Sprintf(away, hung.Addr(), "require"), 50 * time.Millisecond, "PostgreSQL: timed out"},
		"hangs":        {fmt.Sprintf(away, hung.Addr(), "disable"), 50 * time.Millisecond, "PostgreSQL: timed out"},
		"cancelled":    {fmt.Sprintf(away, hung.Addr(), "disable"), -50 * time.Millisecond, "PostgreSQL: canceled by the caller"},
		"no database": {strings.Replace(server.URL("hunter3"), "postgres@", "postgres:hunter2@", 1), 0,
			"PostgreSQL: there is no database of this name; create it, or name another one in USAGE_DB (3D000)"},
		"no user": {strings.Replace(fresh, "postgres@", "hunter5:hunter2@", 1), 0,
			"PostgreSQL: the server does not let this user in; see its pg_hba.conf (28000)"},
		"too many": {strings.Replace(fresh, "postgres@", "hunter7:hunter2@", 1), 0,
			"PostgreSQL: too many connections (53300)"},
		"read-only": {fresh + "&default_transaction_read_only=on", 0,
			"PostgreSQL: the database is read-only; is this a standby?"},
		"no rights": {asReader, 0, "the user may not create tables, or write to those of a gateway; " +
			"grant it CREATE on the schema, and make it their owner"},
		"fine": {fresh, 0, "the service will make its tables; gates hold until they have seen their days"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := evidence.Config{DB: test.address}
			context := func() context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				if test.limit < 0 {
					time.AfterFunc(-test.limit, cancel)
				} else if test.limit > 0 {
					ctx, cancel = context.WithTimeout(ctx, test.limit)
				}
				t.Cleanup(cancel)
				return ctx
			}
			will, err := evidence.Check(context(), cfg)
			if got := check(will, err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			db := open(t, cfg)
			_, asked := db.Report(context(), evidence.Query{})
			_, read := evidence.OpenForReading(context(), cfg, evidence.Options{})
			began := db.Transact(context(), func() string { return "select hunter6" })
			for _, err := range []error{err, asked, read, began} {
				if text := fmt.Sprint(err); strings.Contains(text, "hunter") || strings.Contains(text, "127.0.0.1") ||
					strings.Contains(text, server.Dir) || strings.Contains(text, "test") {
					t.Errorf("got %q", text)
				}
			}
		})
	}
}

// A code of PostgreSQL is said in words, and named. What it says in its own words is not repeated.
func TestServerCodes(t *testing.T) {
	for code, want := range map[string]string{
		"25006": "the database is read-only; is this a standby? (25006)",
		"28P01": "wrong user or password (28P01)",
		"57P01": "the server is shutting down (57P01)",
		"57P03": "the server is starting up or shutting down (57P03)",
		"53100": "the disk is full (53100)",
		"53400": "the server has no resources left (53400)", // by its class, as those below
		"08006": "the connection was lost or refused (08006)",
		"XX001": "the server has an internal error; see its log (XX001)",
		"P0001": "it returned an error (P0001)",
		"":      "it returned an error ()",
	} {
		said := &pgconn.PgError{Code: code, Message: "hunter2", Detail: "hunter3", Hint: "hunter4"}
		err := evidence.Explain(fmt.Errorf("hunter1: %w", said))
		if got := err.Error(); got != "PostgreSQL: "+want || !errors.Is(err, said) {
			t.Errorf("%q: got %q, want %q and its cause", code, got, want)
		}
	}
}

// A file that does not answer in time is said in words, too.
func TestSlowFile(t *testing.T) {
	db := open(t, evidence.Config{DB: filepath.Join(t.TempDir(), "usage.db")})
	late, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	_, err := db.Report(late, evidence.Query{})
	if !strings.HasPrefix(fmt.Sprint(err), "SQLite: timed out") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// A backup is a copy that a service can begin with, while another one writes.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	cfg, copied := evidence.Config{DB: filepath.Join(dir, "usage.db")}, filepath.Join(dir, "copy.db")
	r := recorded.Begin(t, cfg, clock.At(recorded.Noon))
	r.Call("origin https://a.example", 3)
	r.Flush(t)
	if err := evidence.Backup(t.Context(), cfg, copied); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file that only its owner reads", info, err)
	}
	if got := recorded.Begin(t, evidence.Config{DB: copied}, clock.At(recorded.Noon)).Names(t); len(got) != 1 {
		t.Errorf("got %q in the copy", got)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, test := range map[string]struct{ db, to string }{
		"copy.db exists; name a new file": {cfg.DB, copied},
		"pg_dump --table='quotegate_*'":   {"postgres://db.example/usage", copied + "2"},
		"USAGE_DB is not set":             {"", copied + "2"},
		"no such file":                    {cfg.DB + "2", copied + "2"},
		"is not a SQLite database":        {text, copied + "2"},
	} {
		contains(t, test.db, fmt.Sprint(evidence.Backup(t.Context(), evidence.Config{DB: test.db}, test.to)), want)
		if _, err := os.Stat(copied + "2"); err == nil {
			t.Errorf("%s: something was left", want)
		}
	}
}
