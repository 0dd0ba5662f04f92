package usage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
	"github.com/quotegate/quotegate/shared/chain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2027, 3, 10, 12, 32, 10, 0, time.UTC)

// database is one that takes batches as long as it does not fail. The real ones are in the
// tests of package evidence.
type database struct {
	batches []*Batch
	fails   error
}

func (d *database) Now(_ context.Context, own time.Time) (time.Time, error) { return own, nil }
func (d *database) Tend(context.Context, time.Time) error                   { return nil }
func (d *database) Stop(context.Context, string) error                      { return nil }
func (d *database) HasClock() bool                                          { return false }
func (d *database) Refresh(bool)                                            {}
func (d *database) Close() error                                            { return nil }

func (d *database) Write(_ context.Context, b *Batch) (Key, error) {
	if d.fails != nil {
		return Key{}, d.fails
	}
	d.batches = append(d.batches, b)
	return KeyFrom("secret"), nil
}

// last is the last batch.
func (d *database) last() *Batch { return d.batches[len(d.batches)-1] }

func begin(t testing.TB, d *database) *Recorder {
	t.Helper()
	r := New(d, Options{
		Versions: []string{"v3", "v1"}, Current: "v3", Now: func() time.Time { return noon },
		After: func(time.Duration) <-chan time.Time { return nil },
	})
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func call(r *Recorder, client string, known bool) {
	e := &event.Event{Time: noon, Version: "v1", Client: client, Pair: &chain.Pair{}}
	if known {
		e.Caller.Known = &caller.Client{}
	}
	r.Observe(e)
}

// Between two writes there is room for some unverified clients, and for all known clients.
// The calls of the others count without a name.
func TestMemoryIsBounded(t *testing.T) {
	d := &database{}
	r := begin(t, d)
	for i := range maxUnverified + 100 {
		call(r, fmt.Sprint("origin https://", i), false)
	}
	call(r, "origin https://7", false)
	call(r, "client Acme", true)
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum := d.last().Totals[Hour{"v1", noon.Truncate(time.Hour).Unix(), Served}]
	if len(d.last().Clients) != maxUnverified+1 || sum != (Total{maxUnverified + 102, 100}) {
		t.Errorf("got %d clients, %+v", len(d.last().Clients), sum)
	}
	call(r, "origin https://8", false)
	if err := r.Flush(t.Context()); err != nil || len(d.last().Clients) != 1 {
		t.Errorf("got %v and %d clients, want room after a write", err, len(d.last().Clients))
	}
}

// A batch that was not confirmed is written again as it was, and before the next.
func TestBatchesAreWrittenInOrder(t *testing.T) {
	d := &database{}
	r := begin(t, d)
	d.fails = errors.New("away")
	call(r, "client Acme", true)
	for range 2 {
		if err := r.Flush(t.Context()); !errors.Is(err, d.fails) || len(r.Notes()) != 1 || r.Unfit() != nil {
			t.Errorf("got %v, notes %q, %v", err, r.Notes(), r.Unfit())
		}
		call(r, "client Bold", true)
	}
	d.fails = Unusable{Why: errors.New("gone")}
	if _ = r.Flush(t.Context()); r.Unfit() == nil {
		t.Error("it is fit for a database that cannot be used")
	}
	d.fails = nil
	if err := r.Flush(t.Context()); err != nil || len(r.Notes()) != 0 {
		t.Errorf("got %v, notes %q", err, r.Notes())
	}
	var numbers, clients []int
	for _, b := range d.batches {
		numbers = append(numbers, int(b.Number))
		clients = append(clients, len(b.Clients))
	}
	if fmt.Sprint(numbers, clients) != "[1 2 3] [0 1 1]" {
		t.Errorf("got batches %v of %v clients", numbers, clients)
	}
}

// A database that cannot be used stops a start; one that is away does not.
func TestStart(t *testing.T) {
	for _, fails := range []error{errors.New("away"), Unusable{Why: errors.New("gone")}} {
		r := New(&database{fails: fails}, Options{Versions: []string{"v1"}})
		if err := r.Start(t.Context()); (err != nil) != isUnusable(fails) {
			t.Errorf("%v: got %v", fails, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = r.Close(ended)
	}
}

// A client that calls again takes no memory.
func TestClientsThatCallAgainAllocateNothing(t *testing.T) {
	r := begin(t, &database{})
	e := &event.Event{
		Time: noon, Version: "v1", Client: "client Acme", Pair: &chain.Pair{},
		Finding: event.Finding{Outcome: event.SameMoney},
	}
	r.Observe(e)
	if got := testing.AllocsPerRun(1000, func() { r.Observe(e) }); got != 0 {
		t.Errorf("got %v allocations a call", got)
	}
}

// BenchmarkObserve counts a call.
func BenchmarkObserve(b *testing.B) {
	for name, e := range map[string]*event.Event{
		"old client": {
			Time: noon, Version: "v1", Client: "client Acme", Pair: &chain.Pair{},
			Finding: event.Finding{Outcome: event.SameMoney},
		},
		"current": {Time: noon, Version: "v3", Client: "client Acme", Pair: &chain.Pair{}},
	} {
		b.Run(name, func(b *testing.B) {
			r := begin(b, &database{})
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					r.Observe(e)
				}
			})
		})
	}
}
