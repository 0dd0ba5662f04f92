package usage

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// later is the schema with one more migration, which copies every row of a table.
func later(released fs.FS) fstest.MapFS {
	files, _ := fs.ReadDir(released, "schema")
	all := fstest.MapFS{}
	for _, f := range files {
		text, _ := fs.ReadFile(released, "schema/"+f.Name())
		all["schema/"+f.Name()] = &fstest.MapFile{Data: text}
	}
	all[fmt.Sprintf("schema/%d.sql", len(files)+1)] = &fstest.MapFile{Data: []byte(`
		create table usage_copy (began bigint not null, calls bigint not null);
		insert into usage_copy select began, calls from usage_totals order by calls;
		create index usage_copy_calls on usage_copy (calls, began);
	`)}
	return all
}

// A migration of a large table takes longer than a write may, where instances share
// it on two at once: it ends, is done once, and says how far it is. Calls meanwhile wait.
func TestMigrationOfALargeTable(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := begin(t, cfg, at)
		rows := "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) select i * 3600, 'v1', 'failed', i, 0 from n"
		r.Exec(t, "insert into usage_totals (began, version, outcome, calls, unnamed) "+rows)
		all := []*recorded.Rig{r}
		migrations := later(r.DB.Schema)
		if cfg.Postgres() { // which instances share
			all = append(all, begin(t, cfg, at))
		}
		var wg sync.WaitGroup
		for _, r := range all {
			r.Call("origin https://a.example", 1)
			between(r, func(r *Recorder) {
				r.DB.Schema = migrations
				r.timeout.Store(int64(10 * time.Millisecond))
				r.prepared.Store(false)
			})
			wg.Go(func() {
				if err := own(r).writeInTime(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var copies, done int
		if err := r.DB.QueryRow("select (select count(*) from usage_copy), (select count(*) from usage_migrations)").Scan(&copies, &done); err != nil || copies < 200_000 || done != len(migrations) {
			t.Errorf("got %d rows after %d migrations, %v, want all, once", copies, done, err)
		}
		lines := 0
		for _, r := range all {
			lines += r.Log.Count(fmt.Sprintf("migration=%d step=2 of=3", len(migrations)))
		}
		if lines != 1 {
			t.Errorf("got %d lines about the second step, want one", lines)
		}
		for _, r := range all {
			own(r).timeout.Store(int64(writeTimeout))
			r.Flush(t)
		}
		if got := r.Evidence("v1", 1); got.Calls != len(all) {
			t.Errorf("got %+v, want the calls of all", got)
		}
	})
}

// frozen is a connection to a database that stops answering when told to.
type frozen struct {
	net.Listener
	ice sync.RWMutex
}

func freeze(t *testing.T, socket string) *frozen {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frozen{Listener: listener}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go f.copy(client, server)
			go f.copy(server, client)
		}
	}()
	return f
}

func (f *frozen) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		f.ice.RLock()
		_, failed := to.Write(buffer[:n])
		f.ice.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// A database that hangs: a report is an error before long, and gates hold.
func TestDatabaseHangs(t *testing.T) {
	c := postgres.Shared(t)
	name := strings.TrimPrefix(c.Fresh(t), "postgres://postgres@/")
	name, _, _ = strings.Cut(name, "?")
	proxy := freeze(t, filepath.Join(c.Dir, ".s.PGSQL.5432"))
	r := begin(t, store.Config{DB: "postgres://postgres@" + proxy.Addr().String() + "/" + name + "?sslmode=disable"}, recorded.At(recorded.Noon))
	r.Age(t, 10)
	r.Report(t)
	proxy.ice.Lock()
	begun := time.Now()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := r.Pages.Report(limited, report.Query{}); err == nil || limited.Err() != nil {
			t.Errorf("got %v after %s, want an error of our own", err, time.Since(begun))
		}
	})
	wg.Go(func() {
		if err := r.Pages.WriteCSV(limited, report.Query{}, io.Discard); err == nil || limited.Err() != nil {
			t.Errorf("table: got %v after %s, want an error of our own", err, time.Since(begun))
		}
	})
	wg.Go(func() {
		if got := r.Evidence("v1", 7).Missing; !strings.Contains(got, "the counts cannot be read") {
			t.Errorf("got %q, want to be told", got)
		}
	})
	wg.Wait()
	proxy.ice.Unlock()
	for r.Recorder.Flush(t.Context()) != nil && limited.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	if got := r.Evidence("v1", 7).Missing; got != "" {
		t.Errorf("got %q once it answers", got)
	}
}

// A database that is too large gives up clients that only got errors first, then new
// ones if they are most of all, then old days. The last two are gaps.
func TestDatabaseHasAGreatestSize(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		for d := range 20 {
			for i := range 10 {
				r.Call(fmt.Sprintf("origin https://early-%d.example", i), 1+d)
			}
			r.Up(t, 24*time.Hour)
		}
		makeRoom := func() {
			t.Helper()
			err := r.DB.Transact(t.Context(), func(tx *store.Session) { own(r).giveUp(tx, r.Clock.Now().Unix()) })
			if err != nil {
				t.Fatal(err)
			}
			between(r, func(r *Recorder) { clear(r.ids) })
			own(r).writes.Add(1)
		}
		for i := range 5 {
			r.Refuse(fmt.Sprintf("origin https://errors-%d.example", i), 1, "RATE_LIMITED")
		}
		r.Flush(t)
		makeRoom()
		if got := r.Rows(t, "usage_names"); got != 10 || len(r.Notes()) != 0 {
			t.Errorf("got %d clients, want those that were served; notes %q", got, r.Notes())
		}
		for i := range 30 {
			r.From(fmt.Sprintf("10.0.%d.1", i), fmt.Sprintf("https://invented-%d.example", i))
		}
		r.Observe(&eventOfAcme)
		r.Flush(t)
		makeRoom()
		if got := r.Rows(t, "usage_names"); got != 11 {
			t.Errorf("got %d clients, want those of earlier days and the known one", got)
		}
		makeRoom()
		c := r.Report(t).Clients[0]
		sum := uint64(0)
		for _, d := range c.Days {
			sum += d.Calls
		}
		if len(c.Days) != 9 || sum != c.Calls90 || c.Calls7 == 0 {
			t.Errorf("got %d days with %d calls, and a sum of %d, want the younger half", len(c.Days), sum, c.Calls90)
		}
		r.Flush(t)
		if missing := r.Evidence("v1", 90).Missing; strings.Count(missing, noRoom) != 2 {
			t.Errorf("got %q, want both gaps", missing)
		}
		r.Call("origin https://invented-1.example", 1) // a name that was deleted
		if got := r.Names(t); len(got) != 11 {
			t.Errorf("got %q, want a client that came back", got)
		}
		if bytes, most := own(r).Size(); bytes <= 0 && !cfg.Postgres() || most <= 0 {
			t.Errorf("got a size of %d of %d", bytes, most)
		}
	})
	r := begin(t, store.Config{}, recorded.At(recorded.Noon), recorded.Within(100<<10))
	for i := range 3000 {
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	if r.Flush(t); r.Log.Count("counts are given up") != 1 || len(r.Names(t)) != 0 {
		t.Errorf("got log %s, want to be told", r.Log)
	}
}

// Counts of 7, 30 and 90 days are exact on every day, also after days without the
// service and for counts that are written late, and days are forgotten after 91.
func TestCountsOfSeveralDays(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := begin(t, cfg, at)
		for step, pass := range []int{1, 5, 1, 20, 3, 30, 40, 2, 60, 91} {
			r.Call("origin https://a.example", 1+step)
			r.Observe(late(at.Now().Add(-30 * time.Hour)))
			read := r.Report(t)
			if len(read.Clients) != 1 {
				t.Fatalf("step %d: got %+v", step, read.Clients)
			}
			c, want := read.Clients[0], report.Sum{}
			today := at.Now().Unix() / store.Day
			for _, d := range c.Days {
				ago := today - int64(d.Day)/store.Day
				want.Calls90 += d.Calls
				if ago < 30 {
					want.Calls30 += d.Calls
				}
				if ago < 7 {
					want.Calls7 += d.Calls
				}
			}
			if c.Sum != want || want.Calls7 == 0 {
				t.Errorf("step %d: got %+v, want %+v", step, c.Sum, want)
			}
			for back, d := range map[int]uint64{0: 1, 1: 1, 89: 0} {
				if got := read.Versions[1].Days[store.ReportDays-1-back].Clients; got != d && back < 2 {
					t.Errorf("step %d: got %d clients %d days ago, want %d", step, got, back, d)
				}
			}
			r.Up(t, time.Duration(pass)*24*time.Hour)
		}
		r.Up(t, 2*24*time.Hour)
		if days := r.Rows(t, "usage_days"); days > 1 {
			t.Errorf("got %d days after 92, want them gone", days)
		}
		if got := r.Report(t); len(got.Clients) != 0 || got.Versions[1].Groups.Clients != 0 {
			t.Errorf("got %+v, want nobody", got.Clients)
		}
	})
}
