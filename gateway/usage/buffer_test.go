package usage

import (
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/testdata/recorded"
)

var omitted = event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// flood invents clients on one network.
func flood(r *recorded.Rig, what string, clients int) {
	for i := range clients {
		r.From(fmt.Sprintf("203.0.113.%d", i%256), fmt.Sprintf("https://%s-%d.example", what, i))
	}
}

// Many more clients than there is room for, with the longest of names, take no
// more memory than the bound says. All that fit are named, and the others counted.
func TestMemoryOfTheBufferIsBounded(t *testing.T) {
	const many = 100_000
	long := "origin https://" + strings.Repeat("x", caller.MaxText-20)
	before := heap()
	b := newBuffer(shardEntries)
	for i := range many {
		e := event.Event{Client: fmt.Sprintf("%s%07d", long, i), Finding: omitted}
		b.observe(0, true, int64(1+i%1000), served, &e, &hashKey{})
	}
	if grown := heap() - before; grown > 24<<20 {
		t.Errorf("got %d bytes for as many clients as like, want at most 24 MiB", grown)
	}
	rows, totals := taken(b)
	calls, want := totals[total{0, 0, served}], shards*shardEntries/2 // half of the room is for clients seen before
	if len(rows) != want || calls != (totalCalls{many, int64(many - want)}) {
		t.Errorf("got %d rows of %+v calls, want %d", len(rows), calls, want)
	}
	if b.take(2, 0, &batch{}); len(b.shards[0].entries) != 0 || b.shards[0].taken != [classes]int{} {
		t.Errorf("got %d entries after a silent interval, want room for others", len(b.shards[0].entries))
	}
}

// A stranger's call to the current version counts in the totals, and leaves nothing
// else. From the day on which the version is in the plan, it has a row.
func TestStrangersOnTheCurrentVersion(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		known := caller.Caller{Known: &caller.Client{Name: "Acme"}}
		r.Call("origin https://moves.example", 1)
		r.On("v3", "origin https://moves.example")
		r.On("v3", "origin https://stranger.example")
		r.Observe(&event.Event{Time: recorded.Noon, Version: "v3", Client: "client Acme", Caller: known, Pair: recorded.Pair})
		read := r.Report(t)
		if v3 := read.Versions[0]; v3.Hour != (evidence.Count{Calls: 3, Clients: 2}) || v3.Days[store.ReportDays-1].Clients != 2 || len(read.Clients) != 3 {
			t.Errorf("got %+v of %d entries, want three calls, and the clients that are known or move", v3.Hour, len(read.Clients))
		}
		if got := testing.AllocsPerRun(100, func() { r.On("v3", "origin https://stranger.example") }); got > 1 { // the event itself
			t.Errorf("got %v allocations for a stranger", got)
		}
		r.Follow("hash", []string{"v3"})
		r.On("v3", "origin https://stranger.example")
		if got := r.Names(t); len(got) != 4 {
			t.Errorf("got %q, want the stranger too once v3 is in the plan", got)
		}
	})
}

// A client that an old version saw before a restart, or on another instance, is
// followed to the current one.
func TestMovingClientsAreFollowed(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		first := begin(t, cfg, at)
		first.Call("origin https://moves.example", 1)
		first.Flush(t)
		at.Pass(2 * time.Minute)
		second := begin(t, cfg, at)
		first.Call("origin https://later.example", 1)
		first.Flush(t)
		at.Pass(2 * time.Minute)
		second.Flush(t)
		second.On("v3", "origin https://moves.example")
		groups := second.Report(t).Versions[1].Groups
		if groups.Clients != 2 || groups.Moved != 1 || groups.Uncompared != 1 {
			t.Errorf("got %+v, want one of two to have moved", groups)
		}
		hash := own(second).buffer.hash("origin https://later.example")
		if _, seen := own(second).buffer.shard(hash).seen[hash]; seen != cfg.Postgres() {
			t.Errorf("seen elsewhere: got %v, want %v", seen, cfg.Postgres())
		}
	})
}

// A network adds at most 20 clients a day. Further calls count under the network
// and as calls without a name, so that the evidence is incomplete.
func TestNetworkInventsClients(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		at := recorded.At(recorded.Noon)
		r := begin(t, cfg, at)
		r.From("203.0.113.9", "https://wallet.example")
		r.Up(t, 26*time.Hour)
		flood(r, "invented", 500)
		r.From("203.0.113.9", "https://wallet.example") // was seen before
		r.From("198.51.100.1", "https://other.example") // another network
		names := r.Names(t)
		if len(names) != 1+newPerNetwork+1+1 || !strings.HasPrefix(names[0], "network #") {
			t.Errorf("got %d clients, want the network with the most calls, the first, %d invented, and one elsewhere: %q", len(names), newPerNetwork, names)
		}
		if got := r.Report(t).Versions[1]; got.Day.Calls != 502 || got.Unnamed != 480 {
			t.Errorf("got %d calls and %d without a name, want all 502, and 480", got.Day.Calls, got.Unnamed)
		}
		if got := r.Evidence("v1", 1).Missing; !strings.Contains(got, "480 calls have no client of their own") {
			t.Errorf("got %q, want to be told how many calls have no name", got)
		}
		if cfg.DB != "" { // a restart on the sameMoney day gives no new allowance
			r.Close()
			r = begin(t, cfg, at)
			flood(r, "again", 50)
			if got := r.Names(t); len(got) != len(names) {
				t.Errorf("got %d clients after a restart, want still %d", len(got), len(names))
			}
		}
		r.Up(t, 24*time.Hour)
		flood(r, "tomorrow", 50)
		if got := r.Names(t); len(got) != len(names)+newPerNetwork {
			t.Errorf("got %d clients on the next day, want %d more", len(got), newPerNetwork)
		}
	})
}

// Hundreds of networks that send only errors and rehearsals, under names of an
// earlier day, push nobody out: neither known clients, nor earlier ones, nor new
// ones that are served.
func TestErrorsPushNobodyOut(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	between(r, func(r *Recorder) { r.buffer = newBuffer(32) }) // 2,048 places
	noise := func(version string, code fault.Code) {
		for network := range 400 {
			for i := range 10 {
				c := caller.Caller{Origin: fmt.Sprintf("https://noise-%d-%d.example", network, i), Addr: netip.AddrFrom4([4]byte{10, byte(network >> 8), byte(network), 1})}
				e := event.Event{Time: r.Clock.Now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()), Quotes: true, Code: code, Rehearsal: i%2 == 0}
				if code == "" {
					e.Pair, e.Rehearsal = recorded.Pair, false
				}
				r.Observe(&e)
			}
		}
	}
	noise("v1", "") // served, so that they are clients of an earlier day
	r.From("198.51.100.1", "https://earlier.example")
	r.Up(t, 25*time.Hour)
	r.Flush(t)
	noise("v1", fault.RateLimited)
	acme := caller.Caller{Known: &caller.Client{Name: "Acme"}, Key: 1}
	for range 20 {
		r.Observe(&event.Event{Time: r.Clock.Now(), Version: "v1", Client: "client Acme", Caller: acme, Pair: recorded.Pair})
	}
	for i := range 40 {
		r.From(fmt.Sprintf("198.51.%d.1", i), fmt.Sprintf("https://real-%d.example", i))
	}
	r.From("198.51.100.1", "https://earlier.example")
	r.Flush(t)
	e := r.Evidence("v1", 1)
	if want := 1 + 40 + 1; e.Missing != "" && !strings.Contains(e.Missing, "counted only since") || e.Clients < want {
		t.Errorf("got %+v, want at least %d clients, all with a name", e, want)
	}
	var n int
	if err := r.DB.QueryRow("select count(*) from usage_days join usage_names on id = client where served > 0 and day = $1 and (name like 'client %' or name like '%real%' or name like '%earlier%')", r.Clock.Now().Unix()/day).Scan(&n); err != nil || n != 42 {
		t.Errorf("got %d clients that were served today, %v, want 42", n, err)
	}
}

// However many networks take part in a flood of served calls, clients of earlier
// days are counted apart, and the gate is told of the calls without a name.
func TestFloodLeavesRoomForEarlierClients(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	between(r, func(r *Recorder) { r.buffer = newBuffer(16) })
	for i := range 64 {
		r.Call(fmt.Sprintf("origin https://early-%d.example", i), 1)
	}
	r.Up(t, 24*time.Hour)
	for i := range 3_000 {
		r.From(fmt.Sprintf("10.%d.%d.1", i/256, i%256), fmt.Sprintf("https://invented-%d.example", i))
	}
	for i := range 64 {
		r.Call(fmt.Sprintf("origin https://early-%d.example", i), 1)
	}
	today := 0
	for _, c := range r.Report(t).Clients {
		if strings.Contains(c.Client, "early") && c.LastSeen.Equal(r.Clock.Now()) {
			today++
		}
	}
	if today != 64 {
		t.Errorf("got %d clients of earlier days, want 64", today)
	}
	if got := r.Evidence("v1", 1).Missing; !strings.Contains(got, "no client of their own") {
		t.Errorf("got %q, want incomplete evidence", got)
	}
}

// Clients of earlier days have their entries on a day on which more networks called than
// are counted, and in a network that has as many entries as it may. Others have not.
func TestManyNetworksShutNoEarlierClientOut(t *testing.T) {
	b, secret := newBuffer(shardEntries), keyFrom("secret")
	call := func(addr, name string, at int64) {
		e := event.Event{Client: "origin https://" + name, Caller: caller.Caller{Addr: netip.MustParseAddr(addr), Origin: "https://" + name}}
		b.observe(0, true, at, served, &e, &secret)
	}
	named := func(name string) bool {
		rows, _ := taken(b)
		return slices.ContainsFunc(rows, func(r *row) bool { return r.name == "origin https://"+name })
	}
	const full = "203.0.113.1"
	call("198.51.100.1", "early.example", 0)
	call(full, "crowded.example", 0)
	taken(b)
	b.take(2*store.Hour, 0, &batch{}) // they leave with their hour
	for range entriesPerNetwork {
		b.networks.enter(secret.network(netip.MustParseAddr(full)), 1, false)
	}
	for i := range int64(2 * maxNetworks) {
		b.networks.enter(i, 1, true)
	}
	for range 2 {
		call("198.51.100.1", "early.example", day)
		if !named("early.example") {
			t.Error("many networks have shut a client of an earlier day out")
		}
		call(full, "crowded.example", day)
		if !named("crowded.example") {
			t.Error("others in its network have shut a client of an earlier day out")
		}
		b.take(day+2*store.Hour, 0, &batch{}) // what was not counted is not given back
	}
	call("198.51.100.1", "late.example", day)
	if named("late.example") {
		t.Error("a new client has an entry beyond the bound of networks")
	}
	if got := b.networks.all[secret.network(netip.MustParseAddr(full))].entries; got != entriesPerNetwork {
		t.Errorf("the full network has %d entries, want %d", got, entriesPerNetwork)
	}
}

// Nothing that networks do grows without bound.
func TestNetworksAreBounded(t *testing.T) {
	n := &newBuffer(1).networks
	for i := range int64(2 * maxNetworks) {
		n.enter(i, 1, true)
		n.leave(&entry{network: i, entered: true})
	}
	if len(n.all) != maxNetworks {
		t.Errorf("got %d networks, want %d", len(n.all), maxNetworks)
	}
	for range entriesPerNetwork {
		if !n.enter(7, 2, false) {
			t.Fatal("a network has too few places")
		}
	}
	if n.enter(7, 2, false) {
		t.Error("a network has places without end")
	}
}

// A stranger who sends a known client's Origin writes into its row, and both the
// calls with a key and those without are shown.
func TestProvenAndClaimedCalls(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		for i := range 5 {
			c := caller.Caller{Known: &caller.Client{Name: "Acme"}}
			if i < 2 {
				c.Key = 1
			}
			r.Observe(&event.Event{Time: recorded.Noon, Version: "v1", Client: "client Acme", Caller: c, Pair: recorded.Pair, Exempt: i == 4})
		}
		if got := r.Report(t).Clients[0]; got.Proven != 2 || got.Claimed != 3 || !got.Exempt {
			t.Errorf("got %d proven and %d claimed calls, exempt %v, want 2 and 3, and what was true of the last call", got.Proven, got.Claimed, got.Exempt)
		}
	})
}

// What a database would refuse reaches none.
func TestNamesThatNoDatabaseTakes(t *testing.T) {
	recorded.OnEach(t, func(t *testing.T, cfg store.Config) {
		r := begin(t, cfg, recorded.At(recorded.Noon))
		for _, bad := range []string{"a\x00b", "\xff\xfe", "line\nline", strings.Repeat("x", maxClientText+1)} {
			r.Call(bad, 1)
			r.Found("origin https://a.example", 1, event.Finding{Outcome: event.Refused, Code: "MISSING_PARAMETER", Param: bad})
			r.Observe(&event.Event{Time: recorded.Noon, Version: "v1", Client: "origin https://a.example", Caller: caller.Caller{Agent: bad}, Pair: recorded.Pair})
		}
		if got := r.Report(t); got.Versions[1].Day != (evidence.Count{Calls: 12, Clients: 1}) || got.Versions[1].Unnamed != 4 {
			t.Errorf("got %+v, want 12 calls of one client, 4 of them without a name", got)
		}
	})
}

func TestClientsThatCallAgainAllocateNothing(t *testing.T) {
	r := begin(t, store.Config{}, recorded.At(recorded.Noon))
	e := &event.Event{Time: recorded.Noon, Version: "v1", Client: "origin https://a.example", Pair: recorded.Pair, Finding: sameMoney}
	r.Observe(e)
	r.Flush(t)
	if got := testing.AllocsPerRun(1000, func() { r.Observe(e) }); got != 0 {
		t.Errorf("got %v allocations a call, want none", got)
	}
}

// Calls of a new client that come at the sameMoney time all count, in one entry.
func TestFirstCallsTogether(t *testing.T) {
	b := newBuffer(shardEntries)
	const clients, callers = 8000, 4
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range clients {
				e := &event.Event{Client: fmt.Sprintf("origin https://wallet-%d.example", i), Version: "v1"}
				b.observe(1, true, recorded.Noon.Unix(), served, e, &hashKey{})
			}
		})
	}
	all.Wait()
	calls, entries := int64(0), 0
	rows, _ := taken(b)
	for _, e := range rows {
		calls += int64(e.calls[served])
	}
	for i := range b.shards {
		entries += b.shards[i].taken[fresh] + b.shards[i].taken[usual]
	}
	if calls != clients*callers || entries != clients {
		t.Errorf("got %d calls of %d entries, want %d of %d", calls, entries, clients*callers, clients)
	}
}

// taken are the counts of all shards.
func taken(b *buffer) (rows []*row, totals map[total]totalCalls) {
	totals = map[total]totalCalls{}
	for next := 0; next < shards; {
		one := batch{totals: totals}
		next = b.take(0, next, &one)
		rows = append(rows, one.rows...)
	}
	return rows, totals
}

// Every client keeps its own name, last software and findings while others come and
// go, and the text of a shard does not grow with what they send.
func TestTextsOfEntries(t *testing.T) {
	b := newBuffer(shardEntries)
	agents := []string{"a-long-name-for-software", "short", "middling"}
	call := func(i int, agent string, at int64) {
		e := event.Event{Client: fmt.Sprintf("origin https://wallet-%d.example", i), Finding: []event.Finding{sameMoney, omitted}[i%2], Caller: caller.Caller{Agent: agent}}
		b.observe(0, true, at, served, &e, &hashKey{})
	}
	const clients = 2000
	check := func(rows []*row, every int, software func(int) string) {
		t.Helper()
		if len(rows) != clients/every {
			t.Fatalf("got %d rows, want %d", len(rows), clients/every)
		}
		for _, one := range rows {
			var i int
			if _, err := fmt.Sscanf(one.name, "origin https://wallet-%d.example", &i); err != nil || i%every != 0 || one.hash != b.hash(one.name) {
				t.Fatalf("got the name %q with the hash of another", one.name)
			}
			want := []event.Finding{sameMoney, omitted}[i%2]
			if one.software != software(i) || len(one.found) != 1 || one.found[0].Outcome != want.Outcome || one.found[0].Param != want.Param {
				t.Fatalf("got %q %+v for %s, want %q %+v", one.software, one.found, one.name, software(i), want)
			}
		}
	}
	for i := range clients {
		call(i, "first", 1)
	}
	rows, _ := taken(b)
	check(rows, 1, func(int) string { return "first" })
	for round := range 100 {
		for i := 0; i < clients; i += 2 {
			call(i, agents[(round+i)%3], store.Hour)
		}
	}
	text := 0
	for i := range b.shards {
		text += len(b.shards[i].text)
	}
	if text > clients*128 {
		t.Errorf("got %d bytes of text for %d clients, want about 64 for each", text, clients)
	}
	rows, _ = taken(b)
	check(rows, 2, func(i int) string { return agents[(99+i)%3] })
	b.take(store.Hour, 0, &batch{}) // the others leave with their hour
	entries := 0
	for i := range b.shards {
		entries += len(b.shards[i].entries)
	}
	if entries != clients/2 {
		t.Errorf("got %d entries, want %d", entries, clients/2)
	}
	for i := 0; i < clients; i += 2 {
		call(i, "", hour)
	}
	rows, _ = taken(b)
	check(rows, 2, func(i int) string { return agents[(99+i)%3] })
	for i := range clients {
		call(i, "last", hour)
	}
	rows, _ = taken(b)
	check(rows, 1, func(int) string { return "last" })
}
