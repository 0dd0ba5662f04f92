package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// standby is a second server, which follows a first one.
func standby(t *testing.T, of *postgres.Server) *postgres.Server {
	t.Helper()
	s, err := postgres.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	err = s.Run("pg_basebackup", "--dbname", of.URL("postgres"), "-D", s.Data(), "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if err == nil {
		err = s.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The primary fails, and later its standby is promoted. The address names both:
// counts wait while there is nobody to write to, go to the new primary as soon as it is
// one, and none is lost or counted twice. It takes no restart, and no setting but the
// second host.
func TestStandbyIsPromoted(t *testing.T) {
	primary := postgres.ForTest(t)
	name := strings.TrimPrefix(primary.Fresh(t), "postgres://postgres@/")
	name, _, _ = strings.Cut(name, "?")
	second := standby(t, primary)
	cfg := store.Config{DB: "postgres://postgres@/" + name + "?host=" + primary.Dir + "," + second.Dir + "&port=5432,5432"}
	r := begin(t, cfg, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 3)
	r.Flush(t)
	awaitReplica(t, second.URL(name), 3)
	primary.Crash()
	r.Call("origin https://a.example", 2)
	for range 3 {
		if err := r.Recorder.Flush(t.Context()); err == nil {
			t.Fatal("a standby took counts")
		}
	}
	if got := r.Notes(); len(got) != 1 || !strings.Contains(got[0], "counts are not written since") {
		t.Errorf("got notes %q, want the outage", got)
	}
	promote := []string{"promote", "-w", "-D", second.Data()}
	if err := second.Run("pg_ctl", promote...); err != nil {
		t.Fatal(err)
	}
	r.Call("origin https://a.example", 1)
	for deadline := time.Now().Add(time.Minute); r.Recorder.Flush(t.Context()) != nil && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if read := r.Report(t); read.Versions[1].Day.Calls != 6 || len(read.Notes) != 0 {
		t.Errorf("got %+v with notes %q, want all 6 calls on the new primary", read.Versions[1].Day, read.Notes)
	}
}

// awaitReplica waits until a standby has what was written.
func awaitReplica(t *testing.T, address string, calls int) {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var got int
		err := db.QueryRow("select cast(coalesce(sum(calls), 0) as integer) from usage_totals").Scan(&got)
		if err == nil && got == calls {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the standby has %d calls of %d, %v", got, calls, err)
		}
	}
}

// alterDatabase runs a statement in a session that may write, whatever the database says.
func alterDatabase(t *testing.T, address, statement string) {
	t.Helper()
	db, err := sql.Open("pgx", address+"&default_transaction_read_only=off")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// A database becomes read-only, as managed servers make it when their disk is nearly
// full, and is made writable again. Sessions that were opened meanwhile stay
// read-only for as long as they live: they are not kept.
func TestDatabaseIsReadOnlyForAWhile(t *testing.T) {
	c := postgres.Shared(t)
	address := c.Fresh(t)
	name := strings.TrimPrefix(address, "postgres://postgres@/")
	name, _, _ = strings.Cut(name, "?")
	r := begin(t, store.Config{DB: address}, recorded.At(recorded.Noon))
	r.Call("origin https://a.example", 1)
	r.Flush(t)
	// Sessions that exist are made read-only one by one, as a failover leaves them.
	makeReadOnly(t, r)
	alterDatabase(t, address, "alter database "+name+" set default_transaction_read_only = on")
	r.Call("origin https://a.example", 1)
	for range 3 {
		if err := r.Recorder.Flush(t.Context()); err == nil {
			t.Fatal("counts were written into a database that is read-only")
		}
	}
	if err := store.Check(t.Context(), store.Config{DB: address}); err == nil || err.Error() != "the database is read-only" {
		t.Errorf("got %v from a check", err)
	}
	alterDatabase(t, address, "alter database "+name+" reset default_transaction_read_only")
	r.Call("origin https://a.example", 1)
	// An attempt to connect that began before may end after it.
	for end := time.Now().Add(time.Minute); r.Recorder.Flush(t.Context()) != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if read := r.Report(t); read.Versions[1].Day.Calls != 3 || len(read.Notes) != 0 {
		t.Errorf("got %+v with notes %q, want all three calls", read.Versions[1].Day, read.Notes)
	}
	// The same without a new session in between: only those that exist are bad.
	makeReadOnly(t, r)
	r.Call("origin https://a.example", 1)
	if err := r.Recorder.Flush(t.Context()); err == nil {
		t.Fatal("a session that is read-only wrote")
	}
	if got := r.Report(t).Versions[1].Day.Calls; got != 4 {
		t.Errorf("got %d calls, want 4: the session was kept", got)
	}
}

// makeReadOnly makes every open session of the writer read-only.
func makeReadOnly(t *testing.T, r *recorded.Rig) {
	t.Helper()
	own(r).writing <- struct{}{}
	defer func() { <-own(r).writing }()
	for range r.DB.DB.Stats().OpenConnections {
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

// Two instances write a day and the next at once: one has a client before midnight and
// another one after, the other has them the other way round. PostgreSQL finds no deadlock.
func TestInstancesAroundMidnight(t *testing.T) {
	address := postgres.Shared(t).Fresh(t)
	at := recorded.At(time.Date(2027, 3, 10, 23, 59, 50, 0, time.UTC))
	both := []*recorded.Rig{begin(t, store.Config{DB: address}, at), begin(t, store.Config{DB: address}, at)}
	clients := []string{"origin https://a.example", "origin https://b.example"}
	for i, r := range both {
		r.Call(clients[0], 1)
		r.Call(clients[1], 1)
		r.Flush(t) // so that both clients have their rows
		r.Call(clients[i], 1)
	}
	at.Pass(20 * time.Second)
	for i, r := range both {
		r.Call(clients[1-i], 1)
	}
	both[0].Exec(t, fmt.Sprintf("insert into usage_hours (began) values (%d)", at.Now().Unix()/hour*hour)) // else one waits for it
	watch, err := store.Open(store.Config{DB: address})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	// Somebody holds the rows of the new day, so that both stand between the two days.
	hold, err := watch.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(`insert into usage_days (day, version, client, served, brownout, retired, rehearsed, failed, hours)
		select $1, 'v1', id, 0, 0, 0, 0, 0, 0 from usage_names`, at.Now().Unix()/store.Day); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, r := range both {
		wg.Go(func() { r.Flush(t) })
	}
	for waiting := 0; waiting < 2; time.Sleep(time.Millisecond) {
		q := watch.Ask(t.Context())
		q.Get("select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'", nil, &waiting)
		if q.Err != nil {
			t.Fatal(q.Err)
		}
	}
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, r := range both {
		r.Close() // a session tells of its deadlocks when it ends
	}
	watch.SetMaxIdleConns(1) // and no other session is left but that one
	var sessions, deadlocks, calls int
	for sessions != 1 {
		q := watch.Ask(t.Context())
		q.Get(`select numbackends, deadlocks, (select sum(calls) from usage_totals) from pg_stat_database
			where datname = current_database()`, nil, &sessions, &deadlocks, &calls)
		if q.Err != nil {
			t.Fatal(q.Err)
		}
		time.Sleep(time.Millisecond)
	}
	if deadlocks != 0 || calls != 8 {
		t.Errorf("got %d deadlocks and %d calls, want none and 8", deadlocks, calls)
	}
}

// Two instances find the database too large at the same time: half of the days are
// given up, not three quarters.
func TestInstancesMakeRoomOnce(t *testing.T) {
	address := postgres.Shared(t).Fresh(t)
	at := recorded.At(recorded.Noon)
	both := []*recorded.Rig{begin(t, store.Config{DB: address}, at), begin(t, store.Config{DB: address}, at)}
	for range 20 {
		for i := range 10 {
			both[0].Call(fmt.Sprintf("origin https://early-%d.example", i), 1)
		}
		both[0].Up(t, 24*time.Hour)
	}
	both[1].Flush(t)
	both[0].Exec(t, "analyze") // so that the server knows how many rows there are
	var wg sync.WaitGroup
	for _, r := range both {
		wg.Go(func() {
			if err := own(r).makeRoom(t.Context(), 1000); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := both[0].Rows(t, "usage_days"); got != 90 {
		t.Errorf("got %d rows, want the younger half of 200", got)
	}
	if got := both[0].Log.Count("counts are given up") + both[1].Log.Count("counts are given up"); got != 1 {
		t.Errorf("got %d lines about it, want one", got)
	}
	at.Pass(2 * roomPause)
	if err := own(both[1]).makeRoom(t.Context(), 1000); err != nil || both[0].Rows(t, "usage_days") >= 90 {
		t.Errorf("got %d rows, %v, want more given up if it is still too large later", both[0].Rows(t, "usage_days"), err)
	}
	if err := own(both[1]).makeRoom(t.Context(), 1<<40); err != nil || both[0].Rows(t, "usage_days") == 0 {
		t.Errorf("got %v, and nothing left", err)
	}
}

// Close returns when its context ends, whatever holds it up: a page that waits for a
// server which hangs, or a write that nothing can break off.
func TestCloseObeysItsContext(t *testing.T) {
	t.Run("a server that hangs", func(t *testing.T) {
		c := postgres.Shared(t)
		name := strings.TrimPrefix(c.Fresh(t), "postgres://postgres@/")
		name, _, _ = strings.Cut(name, "?")
		proxy := freeze(t, filepath.Join(c.Dir, ".s.PGSQL.5432"))
		r := begin(t, store.Config{DB: "postgres://postgres@" + proxy.Addr().String() + "/" + name + "?sslmode=disable"}, recorded.At(recorded.Noon))
		r.Flush(t)
		proxy.ice.Lock()
		defer proxy.ice.Unlock()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { _ = own(r).flushSoon(t.Context()) })
		for len(own(r).writing) == 0 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		r.Recorder.Close(ctx)
		if took := time.Since(began); took > writeTimeout/2 {
			t.Errorf("it took %s, want about a second", took)
		}
		if r.Log.Count("the last counts are not written, and are lost") != 1 {
			t.Errorf("got log %s, want to be told", r.Log)
		}
		for len(own(r).writing) > 0 && time.Since(began) < writeTimeout/2 {
			time.Sleep(time.Millisecond)
		}
		if len(own(r).writing) > 0 {
			t.Error("the page's write goes on")
		}
	})
	t.Run("a write that cannot be broken off", func(t *testing.T) {
		r := begin(t, store.Config{}, recorded.At(recorded.Noon))
		r.Flush(t)
		own(r).writing <- struct{}{}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		r.Recorder.Close(ctx)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || r.Log.Count("the last counts are not written") != 1 {
			t.Errorf("got log %s, want to be told", r.Log)
		}
		<-own(r).writing
		<-own(r).done
	})
}
