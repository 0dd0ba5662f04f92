package evidence_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/testkit/clock"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

// Whatever happens to the connection, every call is written once, and afterwards nothing
// is missing.
func TestEveryCallIsWrittenOnce(t *testing.T) {
	for name, trouble := range map[string]struct {
		begin, end func(*testing.T, *wire, *recorded.Rig)
		heals      bool          // by itself
		timeout    time.Duration // of a write, where one is waited for
	}{
		"the answer to a commit is lost": {
			begin: func(_ *testing.T, w *wire, _ *recorded.Rig) { w.losing.Store(true) },
			heals: true,
		},
		"the server is away": {
			begin: func(_ *testing.T, w *wire, _ *recorded.Rig) { w.cut.Store(true) },
			end:   func(_ *testing.T, w *wire, _ *recorded.Rig) { w.cut.Store(false) },
		},
		"the server hangs": {
			begin:   func(_ *testing.T, w *wire, _ *recorded.Rig) { w.ice.Lock() },
			end:     func(_ *testing.T, w *wire, _ *recorded.Rig) { w.ice.Unlock() },
			timeout: 3 * time.Second, // enough for a write on a busy machine
		},
		"sessions are read-only, as a failover leaves them": {begin: makeReadOnly, heals: true},
		"the database is read-only": {
			begin: func(t *testing.T, w *wire, r *recorded.Rig) {
				w.alter(t, "set default_transaction_read_only = on")
				makeReadOnly(t, w, r)
			},
			end: func(t *testing.T, w *wire, _ *recorded.Rig) { w.alter(t, "reset default_transaction_read_only") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			r := recorded.Begin(t, w.Config, clock.At(noon), with(func(o *usage.Options) { o.WriteTimeout = trouble.timeout }))
			r.Age(t, 10)
			r.Call(a, 1)
			r.Flush(t)
			trouble.begin(t, w, r)
			r.Call(a, 10)
			fails(t, r)
			contains(t, "notes", strings.Join(r.Notes(), ";"),
				"counts have not been written since 2027-03-10T12:32:10Z and stay in memory: ")
			if !trouble.heals {
				begun := time.Now()
				r.Call(b, 1000)
				if took := time.Since(begun); took > 500*time.Millisecond {
					t.Errorf("1,000 calls took %s to count", took)
				}
				trouble.end(t, w, r)
			}
			r.Call(a, 100)
			soon(t, r)
			want := "a.example 111"
			if !trouble.heals {
				want += ", b.example 1000"
			}
			expect(t, "served", served(t, r), want)
			expect(t, "missing", strings.Join(append(r.Notes(), r.Missing(t, 7)), ";"), "")
			if r.Log.Count("counts cannot be written") != 1 || r.Log.Count("writing counts again") != 1 || r.Log.Count("restored") != 0 {
				t.Errorf("got log %s, want one line when it began and one when it ended", r.Log)
			}
		})
	}
}

// makeReadOnly makes every open session of the writer read-only.
func makeReadOnly(t *testing.T, _ *wire, r *recorded.Rig) {
	for range r.DB.Stats().OpenConnections {
		connection, err := r.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := connection.ExecContext(t.Context(), "set default_transaction_read_only = on"); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that does not answer at the start stops no service. What was called meanwhile
// is written later, and the key of the database is taken over.
func TestServerAtTheStart(t *testing.T) {
	for name, late := range map[string]struct{ begin, end func(*wire) }{
		"is away": {func(w *wire) { w.cut.Store(true) }, func(w *wire) { w.cut.Store(false) }},
		"hangs":   {func(w *wire) { w.ice.Lock() }, func(w *wire) { w.ice.Unlock() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			agent := recorded.Agent("203.0.113.7")
			first := recorded.Begin(t, evidence.Config{DB: w.direct}, clock.At(noon))
			late.begin(w)
			begun := time.Now()
			r := recorded.Begin(t, w.Config, clock.At(noon), func(s *recorded.Setup) {
				s.Start = 200 * time.Millisecond
			})
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("the start took %s", took)
			}
			if r.Name(agent) == first.Name(agent) || !r.Stats().Since.Equal(noon) || r.Unfit() != nil {
				t.Errorf("got %s since %s, want nothing that only the database knows", r.Name(agent), r.Stats().Since)
			}
			if r.Log.Count("level=ERROR") != 1 {
				t.Errorf("got log %s, want to be told", r.Log)
			}
			r.Call(a, 3)
			late.end(w)
			soon(t, r)
			expect(t, "served", served(t, r), "a.example 3")
			expect(t, "name", r.Name(agent), first.Name(agent))
		})
	}
}

// A restart goes on where the last run has stopped. One that was killed has lost what it
// had not written, and has not stopped properly.
func TestRestart(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		clock := clock.At(noon)
		var name string
		for run, end := range []func(*recorded.Rig){(*recorded.Rig).Close, (*recorded.Rig).Kill, (*recorded.Rig).Close} {
			r := recorded.Begin(t, cfg, clock)
			if id := recorded.Agent("203.0.113.7"); run == 0 {
				name = r.Name(id)
			} else {
				expect(t, "name", r.Name(id), name)
			}
			clock.Advance(time.Minute)
			r.Call(a, 1)
			r.Flush(t)
			r.Call(a, 10)
			end(r)
			clock.Advance(time.Minute)
		}
		r := recorded.Begin(t, cfg, clock)
		expect(t, "served", served(t, r), "a.example 23")
		runs := fmt.Sprintf("select started - %d, written - %[1]d, case when stopped = 0 then 0 else stopped - %[1]d end "+
			"from quotegate_instances order by started", noon.Unix())
		expect(t, "runs", ask(t, r, runs), "0 60 60, 120 180 0, 240 300 300, 360 360 0")
		clock.Advance(time.Hour)
		contains(t, "gate", r.Missing(t, 1), "from 10 Mar 2027, 12:35 UTC to 10 Mar 2027, 12:36 UTC: it ended without its last counts")
	})
}

// Close returns when its context ends, whatever holds a write up, and says what is lost.
func TestCloseObeysItsContext(t *testing.T) {
	var hangs atomic.Bool
	release := make(chan struct{})
	r := recorded.Begin(t, evidence.Config{}, clock.At(noon), with(func(o *usage.Options) {
		o.Now = func() time.Time {
			if hangs.Load() {
				<-release
			}
			return noon
		}
	}))
	r.Call(a, 1)
	hangs.Store(true)
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- r.Recorder.Close(ctx) }()
	select {
	case err := <-closed:
		contains(t, "error", fmt.Sprint(err), "the last counts are not written, and are lost")
	case <-time.After(10 * time.Second):
		t.Error("it waits for the write")
	}
}

// If the disk is full, no day is given up: counts wait until there is room, also those of a
// service that ends.
func TestDiskIsFull(t *testing.T) {
	const clients = 1000
	cfg := evidence.Config{DB: filepath.Join(t.TempDir(), "usage.db")}
	clock := clock.At(noon)
	r := recorded.Begin(t, cfg, clock)
	r.DB.SetMaxOpenConns(1) // the one that the pragma is for
	for range 5 {
		r.Call(a, 1)
		r.Up(t, 24*time.Hour)
	}
	r.Exec(t, "pragma max_page_count = 1") // no more than it has
	for i := range clients {
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	contains(t, "error", fails(t, r).Error(), "database or disk is full")
	have := ask(t, r, "select count(*), (select count(*) from quotegate_gaps) from quotegate_days")
	expect(t, "days", have, "5 0")
	closed := make(chan error)
	go func() { closed <- r.Recorder.Close(context.Background()) }()
	select {
	case err := <-closed:
		t.Errorf("got %v, want it to wait for room", err)
	case <-time.After(100 * time.Millisecond):
	}
	r.Exec(t, "pragma max_page_count = 100000")
	if err := <-closed; err != nil {
		t.Error(err)
	}
	r = recorded.Begin(t, cfg, clock)
	if rows := r.Rows(t, "quotegate_days"); rows != 5+clients {
		t.Errorf("got %d days, want those that waited too", rows)
	}
	expect(t, "stopped", ask(t, r, "select count(*) from quotegate_instances where stopped > 0"), "1")
}

// Tables that this release does not know stop a start. If they come later, nothing is
// written to them, the service says that it is unfit, and goes on once they are gone.
func TestLaterRelease(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		r.Call(a, 1)
		r.Flush(t)
		r.Exec(t, "update quotegate_meta set value = '2' where name = 'schema'")
		r.Call(a, 2)
		fails(t, r)
		fails(t, r)
		for _, err := range []error{r.Unfit(), second(recorded.Start(t, cfg, clock.At(noon)))} {
			expect(t, "error", fmt.Sprint(err), "USAGE_DB: "+evidence.ErrUnknownSchema.Error())
		}
		expect(t, "served", served(t, r), "a.example 1")
		if _, err := r.Read.Evidence("v1", lifecycle.Gate{Days: 1}, noon); err == nil {
			t.Error("a gate has read tables that this release does not know")
		}
		r.Exec(t, "update quotegate_meta set value = '1' where name = 'schema'")
		r.Flush(t)
		expect(t, "served", served(t, r), "a.example 3")
		if err := r.Unfit(); err != nil || r.Log.Count("level=ERROR") != 1 {
			t.Errorf("got %v and log %s", err, r.Log)
		}
	})
	w := newWire(t)
	later := "update quotegate_meta set value = '2' where name = 'schema'"
	recorded.Begin(t, evidence.Config{DB: w.direct}, clock.At(noon)).Exec(t, later)
	w.cut.Store(true)
	r := recorded.Begin(t, w.Config, clock.At(noon))
	defer r.Kill()
	w.cut.Store(false)
	fails(t, r)
	expect(t, "of a server that was away at the start", fmt.Sprint(r.Unfit()), "USAGE_DB: "+evidence.ErrUnknownSchema.Error())
}

func second[T any](_ T, err error) error { return err }

// A file that is no database of ours stops a start, and stays as it is.
func TestFileThatIsNoDatabase(t *testing.T) {
	for _, content := range []string{"SQLite format 3\x00" + strings.Repeat("\xff", 5000), "x"} {
		file := filepath.Join(t.TempDir(), "usage")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := second(recorded.Start(t, evidence.Config{DB: file}, clock.At(noon)))
		if err == nil || !strings.HasPrefix(err.Error(), "USAGE_DB: ") {
			t.Errorf("%.20q: got %v", content, err)
		}
		got, _ := os.ReadFile(file)
		expect(t, "file", string(got), content)
	}
}

// A network has one name, in which there is no address, and no address is written. The
// place in the order of brownouts is kept to three decimals. Nobody but the owner reads
// the file.
func TestNoAddressIsStored(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg evidence.Config) {
		r := recorded.Begin(t, cfg, clock.At(noon))
		who := caller.Caller{Agent: "curl", Addr: netip.MustParseAddr("203.0.113.77")}
		name := r.As("v1", who)
		r.Flush(t)
		expect(t, "row", ask(t, r, `select name, kind, software, position from quotegate_clients, quotegate_days
			where network <> 0`), fmt.Sprint(name, " agent curl ", math.Floor(who.Identity().Position("v1")*1000)/1000))
		if hash, ok := strings.CutPrefix(name, "agent curl #"); !ok || len(hash) != 16 {
			t.Errorf("got %q, want a hash of the network", name)
		}
		if r.Name(recorded.Agent("203.0.113.200")) != name || r.Name(recorded.Agent("203.0.114.7")) == name {
			t.Error("want one name for a network, and another one for another")
		}
		for id, want := range map[caller.Identity]string{
			{Kind: caller.Integrator, Text: "0xab"}: "integrator 0xab", {Kind: caller.Agent, Text: "-"}: "agent - -",
		} {
			expect(t, "name", r.Name(id), want)
		}
		other := recorded.Begin(t, evidence.Config{}, clock.At(noon))
		if other.Name(recorded.Agent("203.0.113.77")) == name {
			t.Error("two keys give a network the same name")
		}
		r.Call(r.Name(recorded.Agent("2001:db8:1:2::3")), 1)
		r.From("203.0.113.77", "https://wallet.example")
		r.From("2001:db8:1:2::3", "https://wallet.example")
		r.Flush(t)
		var stored []byte
		if cfg.Postgres() {
			var err error
			if stored, err = postgres.Shared(t).Command("pg_dump", "--dbname", cfg.DB).Output(); err != nil {
				t.Fatal(err)
			}
		}
		files, _ := filepath.Glob(filepath.Dir(cfg.DB) + "/usage*") // none of a server
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

// A write that panics keeps its counts, and the next one writes them.
func TestWriteThatPanics(t *testing.T) {
	var broken atomic.Bool
	due := make(chan time.Time)
	r := recorded.Begin(t, evidence.Config{}, clock.At(noon), with(func(o *usage.Options) {
		now := o.Now
		o.Now = func() time.Time {
			if broken.Load() {
				panic("a bug in the clock")
			}
			return now()
		}
		o.After = func(time.Duration) <-chan time.Time { return due }
	}))
	write := func() {
		t.Helper()
		select {
		case due <- noon:
		case <-time.After(time.Minute):
			t.Fatal("it does not wait for the next write")
		}
	}
	r.Call(a, 3)
	broken.Store(true)
	write()
	write() // the one before is done
	if r.Log.Count("a bug in the clock") == 0 {
		t.Error("nothing panicked")
	}
	broken.Store(false)
	write()
	write()
	expect(t, "served", served(t, r), "a.example 3")
}
