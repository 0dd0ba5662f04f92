package admin

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
)

// life is an admin listener with pages, over a real recorder and a real plan, at a
// time that the test chooses.
type life struct {
	*httptest.Server
	recorder *usage.Recorder
	read     *evidence.DB
	keeper   *lifecycle.Keeper
	unix     atomic.Int64 // the time
	tables   []Table
}

// today is after the second window of halfYear and before the third.
var today = time.Date(2027, 2, 10, 10, 20, 0, 0, time.UTC)

var served = []string{"v3", "v3legacy", "v1"}

// halfYear retires v1, and announces the end of v3legacy.
const halfYear = `{"versions": {
	"v1": {"deprecated": "2026-09-01T00:00:00Z", "sunset": "2027-03-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v1",
		"brownouts": [
			{"from": "2027-01-12T14:00:00Z", "to": "2027-01-12T14:15:00Z", "share": 0.25},
			{"from": "2027-02-02T14:00:00Z", "to": "2027-02-02T15:00:00Z", "share": 0.5},
			{"from": "2027-02-16T14:00:00Z", "to": "2027-02-16T18:00:00Z", "share": 1}],
		"exempt": ["origin:https://harbour.example"],
		"gate": {"maxClients": 5, "maxCallsPerDay": 100}},
	"v3legacy": {"deprecated": "2027-06-01T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/migrate-v3"}}}`

// begin starts a listener without calls. The plan may be empty.
func begin(t testing.TB, now time.Time, plan, token string) *life {
	t.Helper()
	l := &life{tables: []Table{
		{Title: "Process", Head: []string{"What", "Now"}, Rows: []Row{{Cells: []any{"State", "ready"}}, {Cells: []any{"Log lines dropped", 3}, Wrong: true}}},
	}}
	l.setTime(now.AddDate(0, 0, -90))
	quiet, clock := slog.New(slog.DiscardHandler), l.time
	known := func(client string) (caller.Client, bool) {
		name, known := strings.CutPrefix(client, "client ")
		if !known {
			return caller.Client{}, false
		}
		written := caller.Client{Contact: "ops@" + name[:1] + ".example", Notes: "Told on 3 January."}
		if name == "Marked" {
			written.Moved = &caller.Mark{On: "2027-01-10", Why: "they wrote so"}
		}
		return written, true
	}
	database := filepath.Join(t.TempDir(), "usage.db")
	options := evidence.Options{Versions: served, Current: "v3", Now: clock, Log: quiet, Known: known}
	var err error
	l.read, err = evidence.Open(evidence.Config{DB: database}, options)
	if err != nil {
		t.Fatal(err)
	}
	l.recorder = usage.New(l.read, usage.Options{
		Versions: served, Current: "v3", Now: clock, Log: quiet,
		After: func(time.Duration) <-chan time.Time { return nil },
	})
	l.read.Attach(l.recorder)
	if err := l.recorder.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.recorder.Close(context.Background()) })
	file := ""
	if plan != "" {
		file = filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l.keeper, err = lifecycle.New(lifecycle.Options{File: file, Versions: served, Usage: l.read, Follow: l.recorder.Follow, Now: clock, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	l.keeper.Poll()
	l.setTime(now)                                                          // the plan was in force long before
	if _, err := l.read.Report(t.Context(), evidence.Query{}); err != nil { // writes, so that the clock is believed
		t.Fatal(err)
	}
	l.Server = httptest.NewServer(Handler(Options{
		Token: token, Versions: served, Current: "v3", Metrics: http.NotFoundHandler(), Usage: l.read, Plan: l.plan, Log: quiet,
		Health: func() []Table { return l.tables },
	}))
	t.Cleanup(l.Server.Close)
	return l
}

func (l *life) time() time.Time     { return time.Unix(l.unix.Load(), 0).UTC() }
func (l *life) setTime(t time.Time) { l.unix.Store(t.Unix()) }

// dead adds an instance that was killed five minutes ago.
func (l *life) dead(t testing.TB) {
	t.Helper()
	_, err := l.read.Writer().Exec(`insert into quotegate_instances
		(instance, host, plan, batch, started, written, stopped) values ('dead', 'gateway-2', $1, 1, $2, $3, 0)`,
		l.plan().Hash, l.unix.Load()-3600, l.unix.Load()-300)
	if err != nil {
		t.Fatal(err)
	}
}

func (l *life) plan() lifecycle.Snapshot { return l.keeper.Snapshot() }

// client is a client of the generated past.
type client struct {
	name, origin, agent string
	version             string
	moves               int // on this day to v3; 0: it stays
	calls               int // a day, about
	finding             event.Finding
}

var omits = event.Finding{Outcome: event.Refused, Code: fault.MissingParameter, Param: "recipient"}

// hours of the day in which clients call: few, so that few counts are written.
var hours = []time.Duration{9 * time.Hour, 14 * time.Hour}

// live has clients call for 90 days, as the plan of v1 lets them.
func (l *life) live(t testing.TB, clients []client) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	schedule := l.keeper.Snapshot().Plan.Versions["v1"]
	end := l.time()
	for d := range 90 {
		midnight := end.Truncate(24*time.Hour).AddDate(0, 0, d-89)
		for i, c := range clients {
			version := c.version
			if c.moves > 0 && d >= c.moves {
				version = "v3"
			}
			who := caller.Caller{Origin: c.origin, Agent: c.agent, Addr: netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})}
			quiet := 1.0
			if weekday := midnight.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
				quiet = 0.4
			}
			n := int(float64(c.calls) * quiet * (0.6 + 0.8*random.Float64()))
			for k := range n {
				at := midnight.Add(hours[k*len(hours)/n] + time.Duration(k%60)*time.Minute)
				if at.After(end) {
					break
				}
				e := &event.Event{Time: at, Version: version, Client: c.name, Caller: who, Quotes: true, Pair: &chain.Pair{}, Finding: c.finding, Exempt: schedule.Exempts(lifecycle.Calling(version, who))}
				if b, ok := schedule.NextBrownout(at); ok && version == "v1" && !at.Before(b.From) && schedule.Hits(b, lifecycle.Calling("v1", who)) {
					e.Code, e.Pair = fault.VersionBrownout, nil
				}
				l.recorder.Observe(e)
			}
		}
		if d%15 == 14 {
			l.setTime(slices.MinFunc([]time.Time{midnight.Add(day), end}, time.Time.Compare))
			if _, err := l.read.Report(t.Context(), evidence.Query{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.setTime(end)
	l.keeper.Poll()
}

// town is some clients of each kind.
func town() []client {
	same := event.Finding{Outcome: event.SameMoney}
	all := []client{
		{"client Harbour Wallet", "https://harbour.example", "mozilla", "v1", 0, 120, omits},
		{"client Lighthouse Pay", "https://pay.lighthouse.example", "mozilla", "v1", 62, 140, same},
		{"client Quayside", "https://quayside.example", "okhttp", "v1", 80, 60, event.Finding{Outcome: event.DifferentMoney, Param: "integratorId"}},
		{"client Meridian", "https://meridian.example", "mozilla", "v3legacy", 0, 30, same},
		{"integrator 0x0000000000000000000000009d7877ec33cf3397d79a3e06d4a5cb373b7961f1", "", "axios", "v1", 0, 12, same},
	}
	for i := range 34 {
		c := client{origin: fmt.Sprintf("https://app-%d.example", i), agent: "mozilla", version: "v1", calls: 3 + i*i%23, finding: same}
		c.name = "origin " + c.origin
		if i%5 == 0 {
			c.name, c.origin, c.agent = fmt.Sprintf("agent okhttp #5bdf%012x", i*7919), "", "okhttp"
		}
		switch i % 4 {
		case 0:
			c.moves = 63 + i%8
		case 1:
			c.moves = 20 + 2*i
		case 2:
			c.version = "v3"
			c.calls *= 2
		}
		if i%9 == 4 {
			c.finding = omits
		}
		all = append(all, c)
	}
	return all
}
