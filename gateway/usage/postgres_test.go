package usage

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cluster is a PostgreSQL of the tests' own, on a socket in a directory of its
// own. Each test gets a fresh database in it.
type cluster struct {
	dir       string
	bin       string
	attr      *syscall.SysProcAttr // PostgreSQL refuses to run as root
	server    *exec.Cmd            // nil while it is stopped
	databases int
}

var startCluster = sync.OnceValues(func() (*cluster, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil && len(found) == 0 {
		found = append(found, path)
	}
	if len(found) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "usage-pg")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, bin: filepath.Dir(slices.Max(found))}
	if os.Geteuid() == 0 {
		if err := c.asNobody(); err != nil {
			return nil, err
		}
	}
	initdb := exec.Command(filepath.Join(c.bin, "initdb"), "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = c.attr, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return c, c.start()
})

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// asNobody gives the directory to a user without rights, who runs the server.
func (c *cluster) asNobody() error {
	account, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	c.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(c.dir, uid, gid)
}

func (c *cluster) start() error {
	c.server = exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data(), "-k", c.dir, "-c", "listen_addresses=", "-c", "fsync=off")
	c.server.SysProcAttr, c.server.Dir = c.attr, c.dir
	if err := c.server.Start(); err != nil {
		return err
	}
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if err = db.Ping(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// crash ends the server without a checkpoint and without a word to its clients.
func (c *cluster) crash() {
	if c.server != nil {
		_ = c.server.Process.Signal(syscall.SIGQUIT)
		_ = c.server.Wait() // it was told to end, which is an error
		c.server = nil
	}
}

func (c *cluster) url(database string) string {
	return "postgres://postgres@/" + database + "?host=" + c.dir
}

// fresh makes an empty database.
func (c *cluster) fresh(t testing.TB) string {
	t.Helper()
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c.databases++
	name := fmt.Sprint("test", c.databases)
	if _, err := db.Exec("create database " + name); err != nil {
		t.Fatal(err)
	}
	return c.url(name)
}

func stopCluster() {
	if c, err := startCluster(); err == nil && c != nil {
		c.crash()
		_ = os.RemoveAll(c.dir)
	}
}

// postgres gives the running cluster.
func postgres(t testing.TB) *cluster {
	t.Helper()
	c, err := startCluster()
	switch {
	case err != nil:
		t.Fatal(err)
	case c == nil && os.Getenv("CI") != "":
		t.Fatal("there is no PostgreSQL on this machine; install the package postgresql")
	case c == nil:
		t.Skip("SKIPPED, NOT TESTED: there is no PostgreSQL on this machine; install the package postgresql")
	}
	return c
}

// dump is all that is stored, as text.
func (c *cluster) dump(t *testing.T, url string) []byte {
	t.Helper()
	dump := exec.Command(filepath.Join(c.bin, "pg_dump"), "--dbname", url)
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
	cfg := Config{DB: postgres(t).fresh(t)}
	at := &clock{t: noon}
	const instances = 12
	all := make([]*rig, instances)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = begin(t, cfg, at) })
	}
	wg.Wait()
	for _, r := range all {
		r.Follow("", nil)
		r.call(r.Name(agent("203.0.113.7")), 10)
		r.call("origin https://wallet.example", 1)
	}
	for range 2 { // what they write at once does not deadlock
		for _, r := range all {
			wg.Go(func() { r.flush(t) })
		}
		wg.Wait()
	}
	report := all[0].report(t)
	got := report.Versions[1]
	if want := (Count{Calls: 11 * instances, Clients: 2}); got.Day != want || len(report.Instances) != instances {
		t.Errorf("got %+v of %d instances, want %+v of %d", got.Day, len(report.Instances), want, instances)
	}
	for i, r := range all {
		if got := r.Notes(); len(got) != 0 || strings.Contains(r.log.String(), "level=ERROR") {
			t.Errorf("instance %d: got notes %q, want none, and no error in the log:\n%s", i, got, r.log.String())
		}
	}
}

// A server that is far away takes long for the first write. The service does not wait for
// the end of it, but for the key under which clients have the same name everywhere.
func TestServerIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it waits as long as a start does; make test-all runs it")
	}
	cfg, at := Config{DB: postgres(t).fresh(t)}, &clock{t: noon}
	first := begin(t, cfg, at)
	tx, err := first.db.Begin()
	if err == nil {
		_, err = tx.Exec("lock table usage_instances") // which the first write is to change
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	second := begin(t, cfg, at)
	if got := second.Notes(); len(got) != 0 || strings.Contains(second.log.String(), "level=ERROR") {
		t.Errorf("got notes %q, want none, and no error in the log:\n%s", got, second.log.String())
	}
	if id := agent("203.0.113.7"); first.Name(id) != second.Name(id) {
		t.Errorf("got %q, want %q", second.Name(id), first.Name(id))
	}
}

// The server crashes under load and comes back: every call is counted, once.
func TestServerCrashes(t *testing.T) {
	c := postgres(t)
	r := begin(t, Config{DB: c.fresh(t)}, &clock{t: noon})
	load, stop := context.WithCancel(t.Context())
	defer stop()
	made := make(chan int)
	go func() {
		n := 0
		for ; load.Err() == nil; n++ {
			r.call(fmt.Sprintf("origin https://wallet-%d.example", n%20), 1)
			time.Sleep(50 * time.Microsecond)
		}
		made <- n
	}()
	for range 3 {
		for range 5 {
			r.flush(t)
		}
		writing := make(chan error)
		go func() {
			for { // until a write meets the crash
				if err := r.write(t.Context()); err != nil {
					writing <- err
					return
				}
			}
		}()
		c.crash()
		<-writing
		if got := r.Notes(); len(got) != 1 || !bytes.Contains([]byte(got[0]), []byte("counts are not written since")) {
			t.Errorf("got notes %q, want one that counts are not written", got)
		}
		if _, err := r.Report(t.Context(), Query{}); err == nil {
			t.Error("a report was given without a database")
		}
		if err := c.start(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	want := uint64(<-made)
	report := r.report(t)
	if got := report.Versions[1].Week; got != (Count{Calls: want, Clients: 20}) || len(report.Notes) != 0 || !report.Since.Equal(noon) {
		t.Errorf("got %+v since %s with notes %q, want %d calls of 20 clients since the start", got, report.Since, report.Notes, want)
	}
	if got := r.log.Count("takes no counts"); got != 3 {
		t.Errorf("got %d lines about it, want one for each crash", got)
	}
}

// A server that is away at the start is no error: counts wait, and the key in
// the database is adopted when it answers.
func TestServerComesLate(t *testing.T) {
	c := postgres(t)
	cfg := Config{DB: c.fresh(t)}
	at := &clock{t: noon}
	first := begin(t, cfg, at)
	name := first.Name(agent("203.0.113.7"))
	first.close()
	c.crash()
	r := begin(t, cfg, at)
	if r.Name(agent("203.0.113.7")) == name {
		t.Error("the key is known without the database")
	}
	r.call(r.Name(agent("203.0.113.7")), 3)
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	if got := r.report(t).Versions[1].Day; got != (Count{Calls: 3, Clients: 1}) {
		t.Errorf("got %+v, want what was called meanwhile", got)
	}
	if got := r.Name(agent("203.0.113.7")); got != name {
		t.Errorf("got name %q, want %q as before", got, name)
	}
	if r.log.Count("have names of their own") != 1 {
		t.Errorf("got log %s, want a line about the key", r.log)
	}
}

// An instance that is killed leaves a gap, which those that still run find.
func TestInstanceDies(t *testing.T) {
	cfg := Config{DB: postgres(t).fresh(t)}
	at := &clock{t: noon}
	dead, cutOff, r := begin(t, cfg, at), begin(t, cfg, at), begin(t, cfg, at)
	for _, one := range []*rig{dead, cutOff, r} {
		one.flush(t)
	}
	at.pass(12*writeInterval + time.Second)
	r.flush(t)
	r.flush(t)
	if got, want := r.Since(), noon.Add(12*writeInterval+time.Second); !got.Equal(want) || len(r.Notes()) != 2 {
		t.Errorf("got counts since %s with notes %q, want two gaps that ended at %s", got, r.Notes(), want)
	}
	cutOff.failing.Store(&outage{noon, sql.ErrConnDone}) // it runs, and could not write
	cutOff.flush(t)
	r.flush(t)
	if got := r.Notes(); len(got) != 1 {
		t.Errorf("got notes %q, want one about the instance that is dead", got)
	}
}
