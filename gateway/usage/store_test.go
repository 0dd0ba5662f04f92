package usage

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// later is the schema with a second migration that copies every row of a table.
func later() fstest.MapFS {
	first, _ := schema.ReadFile("schema/1.sql")
	return fstest.MapFS{"schema/1.sql": {Data: first}, "schema/2.sql": {Data: []byte(`
		create table usage_copy (began bigint not null, calls bigint not null);
		insert into usage_copy select began, calls from usage_totals order by calls;
		create index usage_copy_calls on usage_copy (calls, began);
	`)}}
}

// A migration of a large table takes longer than a write may, where instances share
// it on two at once: it ends, is done once, and says how far it is. Calls meanwhile wait.
func TestMigrationOfALargeTable(t *testing.T) {
	onDisk(t, func(t *testing.T, cfg Config) {
		at := &clock{t: noon}
		r := begin(t, cfg, at)
		rows := "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000) select i * 3600, 'v1', 'failed', i, 0 from n"
		r.exec(t, "insert into usage_totals (began, version, outcome, calls, unnamed) "+rows)
		all := []*rig{r}
		if cfg.postgres() { // which instances share
			all = append(all, begin(t, cfg, at))
		}
		var wg sync.WaitGroup
		for _, r := range all {
			r.call("origin https://a.example", 1)
			r.writing <- struct{}{}
			r.db.schema, r.prepared, r.timeout = later(), false, 10*time.Millisecond
			<-r.writing
			wg.Go(func() {
				if err := r.writeInTime(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var copies, done int
		if err := r.db.QueryRow("select (select count(*) from usage_copy), (select count(*) from usage_migrations)").Scan(&copies, &done); err != nil || copies < 200_000 || done != 2 {
			t.Errorf("got %d rows after %d migrations, %v, want all, once", copies, done, err)
		}
		lines := 0
		for _, r := range all {
			lines += r.log.Count("migration=2 step=2 of=3")
		}
		if lines != 1 {
			t.Errorf("got %d lines about the second step, want one", lines)
		}
		for _, r := range all {
			r.writing <- struct{}{}
			r.timeout = writeTimeout
			<-r.writing
			r.flush(t)
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
	c := postgres(t)
	name := strings.TrimPrefix(c.fresh(t), "postgres://postgres@/")
	name, _, _ = strings.Cut(name, "?")
	proxy := freeze(t, filepath.Join(c.dir, ".s.PGSQL.5432"))
	r := begin(t, Config{DB: "postgres://postgres@" + proxy.Addr().String() + "/" + name + "?sslmode=disable"}, &clock{t: noon})
	r.age(t, 10)
	r.report(t)
	proxy.ice.Lock()
	begun := time.Now()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := r.Report(limited, Query{}); err == nil || limited.Err() != nil {
			t.Errorf("got %v after %s, want an error of our own", err, time.Since(begun))
		}
	})
	wg.Go(func() {
		if err := r.WriteCSV(limited, Query{}, io.Discard); err == nil || limited.Err() != nil {
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
	for r.write(t.Context()) != nil && limited.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	if got := r.Evidence("v1", 7).Missing; got != "" {
		t.Errorf("got %q once it answers", got)
	}
}

// A database that is too large gives up clients that only got errors first, then new
// ones if they are most of all, then old days. The last two are gaps.
func TestDatabaseHasAGreatestSize(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		for d := range 20 {
			for i := range 10 {
				r.call(fmt.Sprintf("origin https://early-%d.example", i), 1+d)
			}
			r.up(t, 24*time.Hour)
		}
		makeRoom := func() {
			t.Helper()
			if err := r.db.transact(t.Context(), r.db, r.makeRoom); err != nil {
				t.Fatal(err)
			}
			r.forget()
		}
		for i := range 5 {
			r.refuse(fmt.Sprintf("origin https://errors-%d.example", i), 1, "RATE_LIMITED")
		}
		r.flush(t)
		makeRoom()
		if got := r.rows(t, "usage_names"); got != 10 || len(r.Notes()) != 0 {
			t.Errorf("got %d clients, want those that were served; notes %q", got, r.Notes())
		}
		for i := range 30 {
			r.from(fmt.Sprintf("10.0.%d.1", i), fmt.Sprintf("https://invented-%d.example", i))
		}
		r.Observe(&eventOfAcme)
		r.flush(t)
		makeRoom()
		if got := r.rows(t, "usage_names"); got != 11 {
			t.Errorf("got %d clients, want those of earlier days and the known one", got)
		}
		makeRoom()
		c := r.report(t).Clients[0]
		sum := uint64(0)
		for _, d := range c.Days {
			sum += d.Calls
		}
		if len(c.Days) != 9 || sum != c.Calls90 || c.Calls7 == 0 {
			t.Errorf("got %d days with %d calls, and a sum of %d, want the younger half", len(c.Days), sum, c.Calls90)
		}
		r.flush(t)
		if missing := r.Evidence("v1", 90).Missing; strings.Count(missing, noRoom) != 2 {
			t.Errorf("got %q, want both gaps", missing)
		}
		r.call("origin https://invented-1.example", 1) // a name that was deleted
		if got := r.names(t); len(got) != 11 {
			t.Errorf("got %q, want a client that came back", got)
		}
		if bytes, most := r.Size(); bytes <= 0 && !cfg.postgres() || most <= 0 {
			t.Errorf("got a size of %d of %d", bytes, most)
		}
	})
	r := begin(t, Config{}, &clock{t: noon})
	r.db.most = 100 << 10
	for i := range 3000 {
		r.call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	if r.flush(t); r.log.Count("counts are given up") != 1 || len(r.names(t)) != 0 {
		t.Errorf("got log %s, want to be told", r.log)
	}
}

func (r *rig) rows(t *testing.T, table string) (n int) {
	t.Helper()
	if err := r.db.QueryRow("select count(*) from " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Counts of 7, 30 and 90 days are exact on every day, also after days without the
// service and for counts that are written late, and days are forgotten after 91.
func TestCountsOfSeveralDays(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		at := &clock{t: noon}
		r := begin(t, cfg, at)
		for step, pass := range []int{1, 5, 1, 20, 3, 30, 40, 2, 60, 91} {
			r.call("origin https://a.example", 1+step)
			r.Observe(late(at.now().Add(-30 * time.Hour)))
			report := r.report(t)
			if len(report.Clients) != 1 {
				t.Fatalf("step %d: got %+v", step, report.Clients)
			}
			c, want := report.Clients[0], Sum{}
			today := at.now().Unix() / day
			for _, d := range c.Days {
				ago := today - int64(d.Day)/day
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
				if got := report.Versions[1].Days[reportDays-1-back].Clients; got != d && back < 2 {
					t.Errorf("step %d: got %d clients %d days ago, want %d", step, got, back, d)
				}
			}
			r.up(t, time.Duration(pass)*24*time.Hour)
		}
		r.up(t, 2*24*time.Hour)
		if days := r.rows(t, "usage_days"); days > 1 {
			t.Errorf("got %d days after 92, want them gone", days)
		}
		if got := r.report(t); len(got.Clients) != 0 || got.Versions[1].Groups.Clients != 0 {
			t.Errorf("got %+v, want nobody", got.Clients)
		}
	})
}

// What report and check open is read-only, and works where nothing can be written.
func TestReadersWriteNothing(t *testing.T) {
	onDisk(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: time.Now()})
		r.call("origin https://a.example", 3)
		r.flush(t)
		reader, err := Open(t.Context(), cfg, Options{Versions: []string{"v3", "v1"}, Current: "v3"})
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if _, err := reader.db.ExecContext(t.Context(), "delete from usage_names"); err == nil {
			t.Error("a reader can delete")
		}
		if report, err := reader.Report(t.Context(), Query{}); err != nil || len(report.Clients) != 1 {
			t.Errorf("got %+v, %v", report, err)
		}
	})
}

// A user who may not create tables, a database that is read-only, and clocks that
// are apart are found before the service starts.
func TestCheckFindsWhatAServiceWouldMiss(t *testing.T) {
	url := postgres(t).fresh(t)
	admin, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Exec("drop role if exists reader; create role reader login; revoke create on schema public from public"); err != nil {
		t.Fatal(err)
	}
	check := func(url, want string) {
		t.Helper()
		if err := Check(t.Context(), Config{DB: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	check(strings.Replace(url, "postgres@", "reader@", 1), "may not create tables")
	check(url+"&default_transaction_read_only=on", "read-only")
	if _, err := admin.Exec("create schema late; create function late.clock_timestamp() returns timestamptz language sql as $$ select pg_catalog.now() + interval '5 minutes' $$"); err != nil {
		t.Fatal(err)
	}
	check(url+"&search_path=late,pg_catalog,public", "this machine's clock is 4 minutes behind the database's")
	file := filepath.Join(t.TempDir(), "usage.db")
	r := begin(t, Config{DB: file}, &clock{t: time.Now().Add(48 * time.Hour)})
	r.close()
	check(file, "the last record is 47 hours ahead of this machine's clock")
}
