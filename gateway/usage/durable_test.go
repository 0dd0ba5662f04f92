package usage

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/journal"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

func TestRestartKeepsCounts(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		if cfg.DB == "" {
			t.Skip("a restart loses what is in memory")
		}
		at := recorded.At(recorded.Noon)
		first := begin(t, cfg, at)
		name := first.Name(recorded.Agent("203.0.113.77"))
		first.Call(name, 5)
		first.Close()
		at.Pass(time.Hour)
		second := begin(t, cfg, at)
		if got := second.Name(recorded.Agent("203.0.113.77")); got != name {
			t.Errorf("got name %q, want %q as before", got, name)
		}
		if e := second.Evidence("v1", 1); e.Clients != 1 || e.Calls != 5 {
			t.Errorf("got %d clients and %d calls, want 1 and 5", e.Clients, e.Calls)
		}
		second.Call(name, 1)
		read := second.Report(t)
		if got := read.Versions[1]; got.Day != (evidence.Count{Calls: 6, Clients: 1}) || read.Clients[0].Calls7 != 6 {
			t.Errorf("got %+v, want 6 calls of one client", got)
		}
		if !read.Since.Equal(recorded.Noon) || len(read.Instances) != 1 || len(read.Notes) != 0 {
			t.Errorf("got %+v, want whole counts of one instance since the first start", read)
		}
	})
}

// No address is written, and no one but the owner reads the file.
func TestNoAddressIsStored(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		if cfg.DB == "" {
			t.Skip("nothing to read")
		}
		r := begin(t, cfg, recorded.At(recorded.Noon))
		for _, id := range []string{"203.0.113.77", "2001:db8:1:2::3"} {
			r.Observe(&event.Event{Time: recorded.Noon, Version: "v1", Client: r.Name(recorded.Agent(id)), Pair: recorded.Pair})
		}
		r.Flush(t)
		var stored []byte
		if cfg.Postgres() {
			stored = dump(t, postgres.Shared(t), cfg.DB)
		} else {
			files, err := filepath.Glob(filepath.Dir(cfg.DB) + "/*")
			if err != nil || len(files) < 2 {
				t.Fatalf("got files %q, %v, want the database and its log", files, err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, data...)
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: got mode %v, %v, want 0600", file, info.Mode(), err)
				}
			}
		}
		if !bytes.Contains(stored, []byte("agent curl #")) {
			t.Fatal("the clients are not there at all")
		}
		for _, address := range []string{"203.0.113", "2001:db8", "\xcb\x00\x71"} {
			if bytes.Contains(stored, []byte(address)) {
				t.Errorf("%q is in the database", address)
			}
		}
	})
}

// countUntilKilled writes five calls, counts another five, says so, and waits.
func countUntilKilled(file string) {
	var r *Recorder
	db, err := store.Open(store.Config{DB: file})
	if err == nil {
		r, err = New(context.Background(), db, Options{Options: evidence.Options{Versions: []string{"v1"}}})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := range 10 {
		r.Observe(&event.Event{Time: time.Now(), Version: "v1", Client: "origin https://a.example", Pair: recorded.Pair})
		if i == 4 {
			if err := r.Flush(context.Background()); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	fmt.Println("counted")
	select {}
}

// A process that is killed loses what it has not written, and the next one says
// so.
func TestKilledProcess(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		if cfg.DB == "" {
			t.Skip("a restart loses what is in memory")
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "USAGE_TEST_CHILD="+cfg.DB)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 100)
		n, err := out.Read(said)
		if err != nil || string(said[:n]) != "counted\n" {
			t.Fatalf("got %q, %v", said[:n], err)
		}
		killedAt := time.Now()
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed, which is an error
		at := recorded.At(killedAt.Add(24 * writeInterval))
		r := begin(t, cfg, at)
		if calls := r.Evidence("v1", 1).Calls; calls != 5 && calls != 10 { // 10 where the child was so slow that it wrote once more
			t.Errorf("got %d calls, want those that were written", calls)
		}
		if got := r.Since(); !got.Equal(at.Now().Truncate(time.Second)) {
			t.Errorf("got whole counts since %s, want since the start", got)
		}
		if got := r.Notes(); len(got) != 1 || !strings.Contains(got[0], killed) {
			t.Errorf("got notes %q, want one that calls are missing", got)
		}
		at.Pass(25 * time.Hour)
		r.Flush(t)
		if got := r.Notes(); len(got) != 0 {
			t.Errorf("got notes %q a day later, want none", got)
		}
	})
}

// A file that is no database of ours stays as it is.
func TestFileThatIsNoDatabase(t *testing.T) {
	for name, content := range map[string]string{
		"old counts":  "\x1f\x8b\x08 what an earlier release wrote",
		"damaged":     "SQLite format 3\x00" + strings.Repeat("\xff", 5000),
		"a few bytes": "x",
	} {
		file := filepath.Join(t.TempDir(), "usage")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var log journal.Journal
		db, err := store.Open(store.Config{DB: file})
		if err == nil {
			_, err = New(t.Context(), db, Options{Options: evidence.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}})
		}
		if err == nil || !strings.HasPrefix(err.Error(), "USAGE_DB: ") || log.String() != "" {
			t.Errorf("%s: got %v and log %s, want an error that names the variable, and nothing twice", name, err, log.String())
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != content {
			t.Errorf("%s: the file was changed: %q, %v", name, got, err)
		}
	}
	if _, err := store.Open(store.Config{DB: t.TempDir()}); err == nil {
		t.Error("a directory was taken")
	}
	if _, err := store.Open(store.Config{DB: filepath.Join(t.TempDir(), "none", "usage")}); err == nil {
		t.Error("a file in no directory was taken")
	}
}

// A disk without room, or a file that cannot be written, stops no service.
func TestDiskIsFull(t *testing.T) {
	for name, block := range map[string]struct{ on, off string }{
		"full":       {"pragma max_page_count = 1", "pragma max_page_count = 100000"},
		"unwritable": {"pragma query_only = 1", "pragma query_only = 0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, store.Config{DB: filepath.Join(t.TempDir(), "usage.db")}, recorded.At(recorded.Noon))
			r.DB.SetMaxOpenConns(1) // the one that the pragmas are for
			r.Exec(t, block.on)
			const clients = 300
			for i := range clients {
				r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
			}
			for range 2 {
				if err := r.Recorder.Flush(t.Context()); err == nil {
					t.Fatal("there was room")
				}
			}
			if got := r.Notes(); len(got) != 1 || !strings.HasPrefix(got[0], "counts are not written since 2027-03-10T12:32:10Z, and wait in memory: ") {
				t.Errorf("got notes %q, want since when nothing is written", got)
			}
			if got := r.Log.Count("takes no counts"); got != 1 {
				t.Errorf("got %d lines about it, want 1:\n%s", got, r.Log)
			}
			r.Exec(t, block.off)
			r.Call("origin https://wallet-0.example", 1)
			if got := r.Report(t).Versions[1].Day; got != (evidence.Count{Calls: clients + 1, Clients: clients}) {
				t.Errorf("got %+v, want every call", got)
			}
			if got := r.Notes(); len(got) != 0 {
				t.Errorf("got notes %q, want none", got)
			}
		})
	}
}

// A commit whose answer is lost is not repeated.
func TestNoBatchIsWrittenTwice(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		r.Call("origin https://a.example", 3)
		r.Flush(t)
		between(r, func(r *Recorder) {
			again := map[total]totalCalls{{recorded.Noon.Truncate(time.Hour).Unix(), 1, served}: {all: 3}}
			r.waiting = []batch{{number: r.batches, totals: again}}
		})
		r.Call("origin https://a.example", 4)
		if got := r.Report(t).Versions[1].Day.Calls; got != 7 {
			t.Errorf("got %d calls, want 7", got)
		}
	})
}

// A cancelled report loses no counts.
func TestReportBrokenOff(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		r.Call("origin https://a.example", 3)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Pages.Report(gone, report.Query{}); err == nil {
			t.Error("a report was given to nobody")
		}
		if got := r.Notes(); len(got) != 0 {
			t.Errorf("got notes %q, want none", got)
		}
		if got := r.Report(t).Versions[1].Day.Calls; got != 3 {
			t.Errorf("got %d calls, want 3", got)
		}
	})
}

// What was counted is written in several batches. An instance that ends between two of
// them has not written everything, although it has just written.
func TestCompleteWithTheLastBatch(t *testing.T) {
	cfg := store.Config{DB: filepath.Join(t.TempDir(), "usage.db")}
	at := recorded.At(recorded.Noon)
	r := begin(t, cfg, at)
	r.Flush(t)
	r.Exec(t, fmt.Sprintf("create trigger stop before update on usage_instances when new.batch > %d "+
		"begin select raise(abort, 'stop'); end", own(r).batches+1)) // after the first of them
	for i := range 2 * batchRows {
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	at.Pass(time.Minute)
	if err := r.Recorder.Flush(t.Context()); err == nil || r.Rows(t, "usage_days") < batchRows {
		t.Fatalf("got %v and %d rows, want some of them", err, r.Rows(t, "usage_days"))
	}
	times := func() (written, complete int64) {
		t.Helper()
		q := r.DB.Ask(t.Context())
		q.Get("select written, complete from usage_instances", nil, &written, &complete)
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		return written - recorded.Noon.Unix(), complete - recorded.Noon.Unix()
	}
	if written, complete := times(); written != 60 || complete != 0 {
		t.Errorf("got %d and %d, want written now, and complete up to the time before", written, complete)
	}
	r.Exec(t, "drop trigger stop")
	r.Flush(t)
	if written, complete := times(); written != 60 || complete != 60 {
		t.Errorf("got %d and %d, want both now", written, complete)
	}
}
