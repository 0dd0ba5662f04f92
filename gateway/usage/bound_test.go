package usage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// long is all but the number of an identity that is as long as they get.
var long = "https://" + strings.Repeat("x", caller.MaxText-len("https://")-10)

func longOrigin(n uint64) caller.Identity {
	return caller.Identity{Kind: caller.Origin, Text: fmt.Sprintf("%s%010d", long, n)}
}

// TestAMillionClients calls from a million clients with the longest of names,
// over two weeks, so that every sketch is full and every row is taken.
func TestAMillionClients(t *testing.T) {
	const million = 1_000_000
	r := start(t, Config{}, "", &clock{t: noon})
	before := heap()
	for n := range uint64(million) {
		if n%(million/4096) == 0 {
			r.clock.pass(5 * time.Minute)
		}
		r.Record("v1", longOrigin(n), r.clock.now())
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("got %d bytes for a million clients, want at most 1 MiB", grown)
	} else {
		t.Logf("a million clients take %d bytes", grown)
	}
	got := r.v1(t).Week
	// A slot is 244 calls, each of a client of its own. The window covers
	// between 7 days and 7 days and 6 hours.
	if least, most := uint64(7*24*12*244), uint64((7*24+6)*12*244); got.Calls < least || got.Calls > most {
		t.Errorf("got %d calls within the week, want %d to %d", got.Calls, least, most)
	}
	if off := math.Abs(float64(got.Clients)/float64(got.Calls) - 1); off > 0.08 { // five standard errors
		t.Errorf("got %d clients, want %d within 8 %%", got.Clients, got.Calls)
	}
	data, err := r.snapshot().encode()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("its state takes %d bytes", len(data))
	if len(data) > maxPacked/8 {
		t.Errorf("got a state of %d bytes for one version, want at most %d", len(data), maxPacked/8)
	}
	if _, err := decode(data, versions, *r.key.Load()); err != nil {
		t.Errorf("the state cannot be read back: %v", err)
	}
}

// TestOthersAreBoundedToo merges instances that have every sketch full and
// every row taken, each by clients of its own.
func TestOthersAreBoundedToo(t *testing.T) {
	merged := newBook(mostOthers)
	random := rand.New(rand.NewPCG(1, 2))
	instance := func() *book {
		b := newBook(maxRows)
		for w := range b.rings {
			for i := range b.rings[w].slots {
				place, _ := b.rings[w].open(noon.Unix() - int64(i)*widths[w])
				for range 2000 {
					b.rings[w].slots[place].clients.InsertHash(random.Uint64())
				}
			}
		}
		for range maxRows {
			r, _ := b.rows.call(random.Uint64())
			r.name, r.last = name{kind: caller.Origin, text: longOrigin(r.hash % 1e10).Text}, noon.Unix()
		}
		return b
	}
	before := heap()
	for range 4 {
		merged.merge(instance(), noon.Unix())
	}
	if grown := int64(heap()) - int64(before); grown > 3<<19 {
		t.Errorf("got %d bytes for what others say, want at most 1.5 MiB", grown)
	} else {
		t.Logf("what others say takes %d bytes", grown)
	}
	checkHeap(t, &merged.rows)
	if got := len(merged.rows.heap); got != mostOthers {
		t.Errorf("got %d rows, want %d", got, mostOthers)
	}
}

// TestFewClientsAreExact, because a gate is about few.
func TestFewClientsAreExact(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	for n := 1; n <= 1300; n++ {
		r.clock.pass(time.Minute)
		r.call(origin(n), 1)
		r.call(origin(n/2), 1)
		if n%100 != 0 && n > 20 {
			continue
		}
		if clients, calls := r.LastDay("v1"); calls != 2*n || clients < n || clients > n+1 {
			t.Fatalf("after %d clients got %d clients and %d calls", n, clients, calls)
		}
	}
}

// TestHeavyClientsAlwaysHaveARow holds the table to what space-saving proves:
// of n rows, whoever makes more than one in n calls has one.
func TestHeavyClientsAlwaysHaveARow(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows := newRows(20)
		calls := map[uint64]int{}
		const total = 20_000
		for range total {
			hash := 1000 + random.Uint64N(100_000) // one of many
			if random.IntN(3) == 0 {
				hash = random.Uint64N(5) // one of a few
			}
			r, fresh := rows.call(hash)
			if fresh && r.rank > 1 && len(rows.heap) < rows.most {
				t.Fatal("a row was inherited while there was room")
			}
			calls[hash]++
		}
		for hash, n := range calls {
			r := rows.byHash[hash]
			if n > total/20 && r == nil {
				t.Errorf("seed %d: a client with %d of %d calls has no row", seed, n, total)
			}
			if r != nil && r.rank < uint64(n) {
				t.Errorf("seed %d: got rank %d for %d calls, want no less", seed, r.rank, n)
			}
		}
		checkHeap(t, &rows)
	}
}

func checkHeap(t *testing.T, rows *rows) {
	t.Helper()
	if len(rows.heap) != len(rows.byHash) {
		t.Errorf("got %d rows and %d hashes", len(rows.heap), len(rows.byHash))
	}
	for i, r := range rows.heap {
		if r.place != i || rows.byHash[r.hash] != r {
			t.Errorf("row %d does not know its place", i)
		}
		if parent := (i - 1) / 2; i > 0 && rows.heap[parent].rank > r.rank {
			t.Errorf("row %d has a lower rank than its parent", i)
		}
	}
}

// TestThoseWhoLeftMakeRoom fills the table with heavy clients of the past.
func TestThoseWhoLeftMakeRoom(t *testing.T) {
	r := start(t, Config{}, "", &clock{t: noon})
	for n := range maxRows {
		r.call(origin(n), 1000)
	}
	r.clock.pass(6 * 24 * time.Hour)
	r.call(origin(-1), 1)
	if got := len(r.desks["v1"].book.rows.heap); got != maxRows {
		t.Fatalf("got %d rows, want all %d", got, maxRows)
	}
	r.clock.pass(2 * 24 * time.Hour)
	r.call(origin(-2), 1)
	rows := &r.desks["v1"].book.rows
	if got := len(rows.heap); got != 2 {
		t.Errorf("got %d rows a week after most were last seen, want 2", got)
	}
	checkHeap(t, rows)
}
