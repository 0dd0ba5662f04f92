package usage

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/report"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// dump is all that is stored, as text.
func dump(t *testing.T, c *postgres.Server, url string, flags ...string) []byte {
	t.Helper()
	dump := c.Command("pg_dump", append(flags, "--dbname", url)...)
	var complaint bytes.Buffer
	dump.Stderr = &complaint
	out, err := dump.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, complaint.String())
	}
	return out
}

// Instances that start at once on an empty database all come up, agree on the key,
// and their counts add up.
func TestInstancesShareADatabase(t *testing.T) {
	cfg := store.Config{DB: postgres.Shared(t).Fresh(t)}
	at := recorded.At(recorded.Noon)
	const instances = 12
	all := make([]*recorded.Rig, instances)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = begin(t, cfg, at) })
	}
	wg.Wait()
	for _, r := range all {
		r.Follow("", nil)
		r.Call(r.Name(recorded.Agent("203.0.113.7")), 10)
		r.Call("origin https://wallet.example", 1)
	}
	for range 2 { // what they write at once does not deadlock
		for _, r := range all {
			wg.Go(func() { r.Flush(t) })
		}
		wg.Wait()
	}
	read := all[0].Report(t)
	got := read.Versions[1]
	if want := (evidence.Count{Calls: 11 * instances, Clients: 2}); got.Day != want || len(read.Instances) != instances {
		t.Errorf("got %+v of %d instances, want %+v of %d", got.Day, len(read.Instances), want, instances)
	}
	for i, r := range all {
		if got := r.Notes(); len(got) != 0 || strings.Contains(r.Log.String(), "level=ERROR") {
			t.Errorf("instance %d: got notes %q, want none, and no error in the log:\n%s", i, got, r.Log.String())
		}
	}
}

// A server that is far away takes long for the first write. The service does not wait for
// the end of it, but for the key under which clients have the same name everywhere.
func TestServerIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it waits as long as a start does; make test-all runs it")
	}
	cfg, at := store.Config{DB: postgres.Shared(t).Fresh(t)}, recorded.At(recorded.Noon)
	first := begin(t, cfg, at)
	tx, err := first.DB.Begin()
	if err == nil {
		_, err = tx.Exec("lock table usage_instances") // which the first write is to change
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	second := begin(t, cfg, at)
	if got := second.Notes(); len(got) != 0 || strings.Contains(second.Log.String(), "level=ERROR") {
		t.Errorf("got notes %q, want none, and no error in the log:\n%s", got, second.Log.String())
	}
	if id := recorded.Agent("203.0.113.7"); first.Name(id) != second.Name(id) {
		t.Errorf("got %q, want %q", second.Name(id), first.Name(id))
	}
}

// The server crashes under load and comes back: every call is counted, once.
func TestServerCrashes(t *testing.T) {
	c := postgres.Shared(t)
	r := begin(t, store.Config{DB: c.Fresh(t)}, recorded.At(recorded.Noon))
	load, stop := context.WithCancel(t.Context())
	defer stop()
	made := make(chan int)
	go func() {
		n := 0
		for ; load.Err() == nil; n++ {
			r.Call(fmt.Sprintf("origin https://wallet-%d.example", n%20), 1)
			time.Sleep(50 * time.Microsecond)
		}
		made <- n
	}()
	for range 3 {
		for range 5 {
			r.Flush(t)
		}
		writing := make(chan error)
		go func() {
			for { // until a write meets the crash
				if err := r.Recorder.Flush(t.Context()); err != nil {
					writing <- err
					return
				}
			}
		}()
		c.Crash()
		<-writing
		if got := r.Notes(); len(got) != 1 || !bytes.Contains([]byte(got[0]), []byte("counts are not written since")) {
			t.Errorf("got notes %q, want one that counts are not written", got)
		}
		if _, err := r.Pages.Report(t.Context(), report.Query{}); err == nil {
			t.Error("a report was given without a database")
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	want := uint64(<-made)
	read := r.Report(t)
	if got := read.Versions[1].Week; got != (evidence.Count{Calls: want, Clients: 20}) || len(read.Notes) != 0 || !read.Since.Equal(recorded.Noon) {
		t.Errorf("got %+v since %s with notes %q, want %d calls of 20 clients since the start", got, read.Since, read.Notes, want)
	}
	if got := r.Log.Count("takes no counts"); got != 3 {
		t.Errorf("got %d lines about it, want one for each crash", got)
	}
}

// A server that is away at the start is no error: counts wait, and the key in
// the database is adopted when it answers.
func TestServerComesLate(t *testing.T) {
	c := postgres.Shared(t)
	cfg := store.Config{DB: c.Fresh(t)}
	at := recorded.At(recorded.Noon)
	first := begin(t, cfg, at)
	name := first.Name(recorded.Agent("203.0.113.7"))
	first.Close()
	c.Crash()
	r := begin(t, cfg, at)
	if r.Name(recorded.Agent("203.0.113.7")) == name {
		t.Error("the key is known without the database")
	}
	r.Call(r.Name(recorded.Agent("203.0.113.7")), 3)
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Report(t).Versions[1].Day; got != (evidence.Count{Calls: 3, Clients: 1}) {
		t.Errorf("got %+v, want what was called meanwhile", got)
	}
	if got := r.Name(recorded.Agent("203.0.113.7")); got != name {
		t.Errorf("got name %q, want %q as before", got, name)
	}
	if r.Log.Count("have names of their own") != 1 {
		t.Errorf("got log %s, want a line about the key", r.Log)
	}
}

// An instance that is killed leaves a gap, which those that still run find.
func TestInstanceDies(t *testing.T) {
	cfg := store.Config{DB: postgres.Shared(t).Fresh(t)}
	at := recorded.At(recorded.Noon)
	dead, cutOff, r := begin(t, cfg, at), begin(t, cfg, at), begin(t, cfg, at)
	for _, one := range []*recorded.Rig{dead, cutOff, r} {
		one.Flush(t)
	}
	at.Pass(12*writeInterval + time.Second)
	r.Flush(t)
	r.Flush(t)
	if got, want := r.Since(), recorded.Noon.Add(12*writeInterval+time.Second); !got.Equal(want) || len(r.Notes()) != 2 {
		t.Errorf("got counts since %s with notes %q, want two gaps that ended at %s", got, r.Notes(), want)
	}
	own(cutOff).failing.Store(&outage{recorded.Noon, sql.ErrConnDone}) // it runs, and could not write
	cutOff.Flush(t)
	r.Flush(t)
	if got := r.Notes(); len(got) != 1 {
		t.Errorf("got notes %q, want one about the instance that is dead", got)
	}
}
