package usage

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/words"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Many more clients than there is room for, with the longest of names, take no
// more memory than the bound says, and every call counts.
func TestManyClients(t *testing.T) {
	const many = 100_000
	long := "origin https://" + strings.Repeat("x", caller.MaxText-20)
	before := heap()
	b := newBuffer(shardEntries, otherEntries)
	for i := range many {
		b.observe(entry{began: 0, version: "v1", client: fmt.Sprintf("%s%07d", long, i), outcome: served}, int64(i%hour), &event.Event{}, &hashKey{})
	}
	if grown := heap() - before; grown > 24<<20 {
		t.Errorf("got %d bytes for as many clients as like, want at most 24 MiB", grown)
	}
	rows, lost := b.take(0)
	calls := lost.calls
	for _, row := range rows {
		calls += row.calls
	}
	if want := shards*shardEntries/2 + 1; len(rows) != want || calls != many || lost.calls != 0 { // half of the room is for clients seen before
		t.Errorf("got %d calls in %d rows and %d lost, want %d in %d", calls, len(rows), lost.calls, many, want)
	}
	b.take(hour)
	if got, _ := b.take(hour); len(got) != 0 || len(b.shards[0].entries) != 0 {
		t.Errorf("got %d rows and %d entries in the next hour, want room", len(got), len(b.shards[0].entries))
	}
}

// Calls of clients beyond the bound count under one name, and a note says so.
func TestOtherClients(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		r.buffer = newBuffer(1, 10)
		r.call("origin https://early.example", 2)
		for i := range 1000 {
			r.call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
		}
		report := r.report(t)
		if got := report.Versions[1].Day; got.Calls != 1002 || got.Clients != shards+1 {
			t.Errorf("got %+v, want every call and %d clients", got, shards+1)
		}
		heavy := report.Clients
		if heavy[0].Client != otherClients || heavy[1].Client != "origin https://early.example" {
			t.Errorf("got %q and %q first, want the other clients and the one with two calls", heavy[0].Client, heavy[1].Client)
		}
		if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], `count under "(other clients)"`) {
			t.Errorf("got notes %q, want one about the other clients", report.Notes)
		}
	})
}

// What finds no room while the database is away is a gap when it is back.
func TestNoRoomLeft(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		r.buffer = newBuffer(1, 2)
		r.writing.Lock() // nothing is written meanwhile
		for range 5 {
			for i := range 1000 {
				r.call(fmt.Sprintf("origin https://wallet-%d.example", i), 1)
			}
			r.clock.pass(time.Hour)
		}
		r.writing.Unlock()
		lost := r.buffer.lost.calls
		if lost == 0 {
			t.Fatal("everything found room")
		}
		report := r.report(t)
		if got := report.Versions[1].Day.Calls; int64(got)+lost != 5000 {
			t.Errorf("got %d calls and %d lost, want 5000 together", got, lost)
		}
		want := fmt.Sprintf("%s calls between 2027-03-10T14:32:10Z and 2027-03-10T16:32:10Z are missing: the database was away", words.Number(lost))
		if len(report.Notes) != 2 || !strings.HasPrefix(report.Notes[1], want) {
			t.Errorf("got notes %q, want %q", report.Notes, want)
		}
		if want := noon.Add(4 * time.Hour); !report.Since.Equal(want) {
			t.Errorf("got whole counts since %s, want since %s", report.Since, want)
		}
	})
}

// A database in memory is bounded as well. It gives up clients first seen today
// before those seen on earlier days, and says so.
func TestMemoryIsFull(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	var pages int
	if err := r.db.QueryRow("pragma max_page_count").Scan(&pages); err != nil || pages != memoryPages {
		t.Errorf("got %d pages at most, %v, want %d", pages, err, memoryPages)
	}
	r.exec(t, "pragma max_page_count = 60")
	write := func() {
		t.Helper()
		for attempts, err := 0, r.write(t.Context()); err != nil; attempts, err = attempts+1, r.write(t.Context()) {
			if attempts == 5 {
				t.Fatalf("there is no room: %v", err)
			}
		}
	}
	for i := range 20 {
		r.call(fmt.Sprintf("origin https://early-%d.example", i), 1)
	}
	r.call("client known since today", 1)
	write()
	r.clock.pass(24 * time.Hour)
	for h := range 8 {
		for i := range 100 {
			r.call(fmt.Sprintf("origin https://invented-%d-%d.example", h, i), 1)
		}
		write()
		r.clock.pass(time.Hour)
	}
	report := r.report(t)
	if !report.Since.After(noon.Add(24*time.Hour)) || !strings.Contains(strings.Join(report.Notes, " "), "set USAGE_DB") {
		t.Errorf("got counts since %s with notes %q, want to be told that some were given up", report.Since, report.Notes)
	}
	early := 0
	for _, c := range report.Clients {
		if strings.Contains(c.Client, "early") || c.Known {
			early++
		}
	}
	if early != 21 || len(report.Clients) == 21 {
		t.Errorf("got %d of the 21 earlier and known clients, among %d", early, len(report.Clients))
	}

	// Without a flood, the oldest counts go.
	r.exec(t, "delete from usage_gaps")
	write()
	for d, since := 0, r.Since(); r.Since().Equal(since); d++ {
		if d == 200 {
			t.Fatal("there is room for everything")
		}
		r.clock.pass(24 * time.Hour)
		for i := range 20 {
			r.call(fmt.Sprintf("origin https://early-%d.example", i), 1)
		}
		write()
	}
	if got := r.report(t).Versions[1].Hour; got != (Count{20, 20}) {
		t.Errorf("got %+v, want the last hour whole", got)
	}
}

// What a database would refuse reaches none.
func TestNamesThatNoDatabaseTakes(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		r := begin(t, cfg, &clock{t: noon})
		for _, bad := range []string{"a\x00b", "\xff\xfe", "line\nline", strings.Repeat("x", maxClientText+1)} {
			r.call(bad, 1)
			r.found("origin https://a.example", 1, event.Finding{Outcome: event.Refused, Code: "MISSING_PARAMETER", Param: bad})
		}
		if got := r.report(t); got.Versions[1].Day != (Count{8, 1}) || got.Clients[0].Client != otherClients {
			t.Errorf("got %+v, want 8 calls of other clients", got)
		}
	})
}

func TestKnownClientsAllocateNothing(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	e := &event.Event{Time: noon, Version: "v1", Client: "origin https://a.example", Pair: pair, Finding: event.Finding{Outcome: event.SameMoney}}
	r.Observe(e)
	r.flush(t)
	if got := testing.AllocsPerRun(1000, func() { r.Observe(e) }); got != 0 {
		t.Errorf("got %v allocations a call, want none", got)
	}
}
