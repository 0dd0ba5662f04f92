package usage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// smallDisk is a file system of its own, with little room.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatalf("a small file system cannot be mounted: %v; run the tests as root", err)
	case err != nil:
		t.Skipf("SKIPPED, NOT TESTED: a small file system cannot be mounted: %v; run the tests as root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes the room that is left on a disk.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// A disk that something else has filled: every day stays, counts wait, the service
// says why, and all is written once there is room. A database that has reached its own
// limit gives up counts, also on such a disk.
func TestDiskIsFullOfOtherThings(t *testing.T) {
	dir := smallDisk(t, 8<<20)
	r := begin(t, store.Config{DB: filepath.Join(dir, "usage.db")}, recorded.At(recorded.Noon))
	defer r.Close() // before the disk is taken away
	const days = 80
	for range days {
		for i := range 40 {
			r.Call(fmt.Sprintf("origin https://daily-%d.example", i), 1)
		}
		r.Up(t, 24*time.Hour)
	}
	rows := r.Rows(t, "usage_days")
	other := filepath.Join(dir, "other")
	r.Exec(t, "pragma wal_checkpoint(truncate)") // SQLite's own files have no room left in them
	fill(t, other)
	const calls = 1000
	for i := range calls {
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	for range 10 {
		if err := r.Recorder.Flush(t.Context()); err == nil {
			t.Fatal("there was room")
		}
	}
	if got := r.Rows(t, "usage_days"); got != rows || rows != days*40 {
		t.Errorf("got %d rows of days, want %d as before", got, rows)
	}
	if got := r.Notes(); len(got) != 1 || !strings.Contains(got[0], store.ErrDiskFull.Error()) {
		t.Errorf("got notes %q, want that the disk is full", got)
	}
	if got := r.Log.String(); strings.Contains(got, "given up\"") || strings.Contains(got, "greatest size") || r.Log.Count("takes no counts") != 1 {
		t.Errorf("got log %s, want one line that the disk is full", got)
	}
	if got := r.Evidence("v1", 7).Missing; !strings.Contains(got, "the counts cannot be read") {
		t.Errorf("got %q, want a gate to hold", got)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	r.Flush(t)
	read := r.Report(t)
	if got := read.Versions[1].Hour; got.Calls != calls || len(read.Notes) != 0 {
		t.Errorf("got %+v with notes %q, want all calls that waited", got, read.Notes)
	}
	if got := r.Rows(t, "usage_days"); got != days*40+calls {
		t.Errorf("got %d rows of days, want %d", got, days*40+calls)
	}
}

// A database that SQLite lets grow no further gives up counts: it is near its limit.
func TestDatabaseCannotGrow(t *testing.T) {
	r := begin(t, store.Config{DB: filepath.Join(t.TempDir(), "usage.db")}, recorded.At(recorded.Noon))
	r.DB.SetMaxOpenConns(1) // the one that the pragma is for
	for range 10 {
		for i := range 50 {
			r.Call(fmt.Sprintf("origin https://daily-%d.example", i), 1)
		}
		r.Up(t, 24*time.Hour)
	}
	rows := r.Rows(t, "usage_days")
	r.Exec(t, "pragma max_page_count = 1") // no more than it has
	r.DB.Most = own(r).stats.Load().Bytes * 11 / 10
	for i := range 500 {
		r.Call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
	}
	if err := r.Recorder.Flush(t.Context()); err == nil {
		t.Fatal("there was room")
	}
	if got := r.Rows(t, "usage_days"); got >= rows || r.Log.Count("counts are given up") != 1 {
		t.Errorf("got %d rows of %d, want some given up; log %s", got, rows, r.Log)
	}
}
