package evidence_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/lifecycle"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/shared/testkit/clock"
)

// retirement is a recorder and the plan that looks at it.
type retirement struct {
	*recorded.Rig
	keeper *lifecycle.Keeper
}

func retire(t *testing.T, cfg evidence.Config, at *clock.Clock, plan string) *retirement {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &retirement{Rig: recorded.Begin(t, cfg, at)}
	var err error
	w.keeper, err = lifecycle.New(lifecycle.Options{File: file, Versions: []string{"v3", "v1"}, Usage: w.Read, Follow: w.Recorder.Follow, Now: at.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w.keeper.Poll()
	return w
}

// live lets time pass, with calls of clients every four hours, refused as the plan
// says.
func (w *retirement) live(t *testing.T, n int, clients ...string) {
	t.Helper()
	for range n / 4 {
		w.Clock.Advance(4 * time.Hour)
		w.keeper.Poll()
		for _, client := range clients {
			e := event.Event{Time: w.Clock.Now(), Version: "v1", Client: client, Pair: recorded.Pair}
			switch w.stage() {
			case lifecycle.BrowningOut: // of everybody
				e.Pair, e.Quotes, e.Code = nil, true, "VERSION_BROWNOUT"
			case lifecycle.Retired:
				e.Pair, e.Quotes, e.Code = nil, true, "VERSION_RETIRED"
			}
			w.Observe(&e)
		}
		w.Flush(t)
	}
	w.poll()
}

// poll has the gates be read, however long that takes: a poll goes on without a reading
// that takes two seconds, and the next one may be given what was read before.
func (w *retirement) poll() {
	for inTime := 0; inTime < 2; inTime++ {
		began := time.Now()
		w.keeper.Poll()
		if time.Since(began) > time.Second {
			inTime = -1
		}
	}
}

func (w *retirement) v1() lifecycle.Status { return w.keeper.Snapshot().Versions[1] }

func (w *retirement) stage() lifecycle.Stage { return w.v1().Stage }

// A version is walked out over a month. Its gate is fooled by none of: a quiet
// weekend at the sunset, a brownout that lasts for days, a killed instance. What it
// has decided survives a restart and retries.
func TestWalkOut(t *testing.T) {
	test := func(t *testing.T, cfg evidence.Config) {
		at := clock.At(time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC))
		plan := `{"versions": {"v1": {"deprecated": "2027-01-01T00:00:00Z", "sunset": "2027-02-15T00:00:00Z", "successor": "/v3/swap/quote", "docs": "https://example.org/m",
			"brownouts": [{"from": "2027-02-09T00:00:00Z", "to": "2027-02-13T00:00:00Z", "share": 1}],
			"gate": {"maxClients": 1, "maxCallsPerDay": 30, "days": 5}}}}`
		w := retire(t, cfg, at, plan)
		holds := func(when string, why ...string) {
			t.Helper()
			g := w.v1().Gate
			for _, why := range why {
				if !g.Holds || !strings.Contains(g.Why, why) {
					t.Errorf("%s: got %+v, want it to hold because %s", when, g, why)
				}
			}
		}
		clients := []string{"origin https://a.example", "origin https://b.example", "client Acme"}
		w.live(t, 24, clients...)
		holds("on the first day", "3 clients in 5 days (limit 1)")
		w.live(t, 11*24, clients...) // until the end of the brownout
		if w.stage() != lifecycle.Deprecated {
			t.Fatalf("got %s at %s", w.stage(), at.Now())
		}
		holds("after a brownout of four days", "3 clients in 5 days (limit 1)")
		w.live(t, 2*24) // a quiet weekend
		if w.stage() != lifecycle.Held {
			t.Errorf("got %s at the sunset, want held", w.stage())
		}
		holds("at the sunset", "3 clients in 5 days")
		w.live(t, 24, clients[2])
		holds("with one client left", "3 clients in 5 days") // within five days
		w.Exec(t, fmt.Sprintf("insert into quotegate_instances (instance, host, plan, batch, started, written, stopped) values ('OTHER', '', '', 1, 0, %d, 0)", at.Now().Unix()))
		w.live(t, 3*24, clients[2])
		holds("after an instance died", "the evidence of 5 days is incomplete", "instance OTHER has not reported since")
		w.live(t, 10*24, clients[2])
		holds("long after it died", "instance OTHER has not reported since")
		if _, err := w.Read.Gone(t.Context(), "OTHER", time.Time{}); err != nil {
			t.Fatal(err)
		}
		w.live(t, 4, clients[2])
		if w.stage() != lifecycle.Retired || w.v1().Gate.Released.IsZero() {
			t.Fatalf("got %+v %+v once it is known to be gone, want retired", w.v1(), w.v1().Gate)
		}
		w.live(t, 24, append(clients, "origin https://c.example", "origin https://d.example")...) // retries
		if w.stage() != lifecycle.Retired {
			t.Errorf("got %s after retries, want retired", w.stage())
		}
		w.Close()
		again := retire(t, cfg, at, plan)
		again.live(t, 4, clients...)
		if again.stage() != lifecycle.Retired {
			t.Errorf("got %s after a restart, want retired", again.stage())
		}
	}
	recorded.OnDisk(t, test)
}
