package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
	"github.com/quotegate/quotegate/shared/testkit/referee"
	"github.com/quotegate/quotegate/v3/client"
)

// world is a gateway and everything it depends on, all of which can fail.
type world struct {
	judge     *referee.Referee
	pairs     []referee.Pair
	plainPair referee.Pair // one that every version knows
	nodes     []*node
	held      sync.Map // see node
	issuer    *issuer
	redis     *child.Server    // nil where there is none
	postgres  *postgres.Server // nil where there is none, or none is wanted
	gateway   *child.Server
	log       *child.Log
	tally     tally
	tell      func(format string, args ...any) // reports progress
	dir       string

	versions   []string // that are served
	retiring   string   // the one that the plan takes away and gives back; empty if there is none
	listing    *client.Listing
	signed     atomic.Int64 // quotes of v3 that the client could have checked
	newClients atomic.Int64
	refusing   atomic.Bool // the plan may refuse the retiring version
	stopping   atomic.Bool // the gateway was told to stop
}

const (
	perMinute = 60 // requests of one client

	// Client numbers: a crowd that stays within its rate limit, one that does not, and those who ask once.
	crowdSize   = 1 << 16
	overLimit   = crowdSize
	firstOfMany = crowdSize + 1
)

// newClient is the number of a client that has not asked before.
func (w *world) newClient() int { return firstOfMany + int(w.newClients.Add(1)) }

// newWorld starts everything. The world is to be closed, after an error too. Without a database of its own the gateway
// counts in a file.
func newWorld(
	ctx context.Context, root, binary string, database bool, tell func(string, ...any),
) (w *world, err error) {
	w = &world{tell: tell, issuer: startIssuer()}
	w.log = &child.Log{See: w.tally.see}
	if w.judge, err = referee.New(root); err != nil {
		return w, err
	}
	w.pairs = w.judge.Pairs()
	if w.plainPair, err = w.judge.Find("USDC", 1, "USDC", 369); err != nil {
		return w, err
	}
	if w.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return w, err
	}
	for _, chain := range []uint64{369, 369, 1} {
		n, err := startNode(chain, &w.held)
		if err != nil {
			return w, err
		}
		w.nodes = append(w.nodes, n)
	}
	if w.redis, err = child.StartRedis(ctx, ""); err != nil && !errors.Is(err, child.ErrNoRedis) {
		return w, err
	}
	if w.redis == nil {
		tell("NOT TESTED: Redis: %v", err)
	}
	if database {
		if w.postgres, err = postgres.New(ctx); err != nil && !errors.Is(err, postgres.ErrNone) {
			return w, err
		}
		if w.postgres == nil {
			tell("NOT TESTED: PostgreSQL: %v", err)
		}
	}
	if err := w.writePlan(everythingActive); err != nil {
		return w, err
	}
	if w.gateway, err = (child.Gateway{Binary: binary, Env: w.env(), Log: w.log}).Start(ctx); err != nil {
		return w, err
	}
	return w, w.discover(ctx)
}

// env is the environment of the gateway.
func (w *world) env() []string {
	counts := filepath.Join(w.dir, "usage.db")
	if w.postgres != nil {
		counts = w.postgres.URL("postgres")
	}
	env := append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"RPC_URLS_369="+w.nodes[0].url()+","+w.nodes[1].url(),
		"RPC_URLS_1="+w.nodes[2].url(),
		"INTEGRATOR_CACHE_TTL=500ms",
		"ISSUER_FEE_URL="+w.issuer.URL,
		"LIFECYCLE_FILE="+w.planFile(),
		"USAGE_DB="+counts,
		"LOG_FORMAT=json",
		"LOG_LEVEL=info",
	)
	if w.redis != nil {
		env = append(env, "REDIS_URL=redis://"+w.redis.Addr)
	}
	return env
}

func (w *world) close() {
	if w.gateway != nil {
		w.gateway.Kill()
	}
	if w.redis != nil {
		w.redis.Kill()
	}
	if w.postgres != nil {
		w.postgres.Close()
	}
	w.setNodes(working)
	for _, n := range w.nodes {
		n.server.Close()
	}
	w.issuer.Close()
	os.RemoveAll(w.dir)
}

// discover finds out which versions are served, and what the client holds quotes against. The oldest version retires,
// unless it is v3, which the soak asks most.
func (w *world) discover(ctx context.Context) error {
	c, err := client.New(w.gateway.URL())
	if err != nil {
		return err
	}
	if w.listing, err = c.Pairs(ctx); err != nil {
		return err
	}
	swap := w.judge.RandomSwap(newRand(), w.plainPair)
	for _, version := range referee.Versions { // the newest first
		answer, err := w.get(swap.Target(version))
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK {
			continue
		}
		w.versions = append(w.versions, version)
		if version != "v3" {
			w.retiring = version
		}
	}
	if w.retiring == "" {
		w.tell("NOT TESTED: the plan; no older version is served that it could retire")
	}
	return nil
}

// eventually asks until the answer is yes, for a minute at most.
func eventually(ctx context.Context, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
	return ctx.Err()
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// vitals are the signs by which a leak shows.
type vitals struct {
	goroutines, files float64
	live, rss         float64 // bytes on the heap that are in use, and of the process
}

func (v vitals) String() string {
	return fmt.Sprintf("goroutines %.0f, open files %.0f, live heap %.1f MiB, memory %.1f MiB",
		v.goroutines, v.files, mib(int64(v.live)), mib(int64(v.rss)))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (w *world) vitals() (v vitals, err error) {
	collect := load.Request{Target: "/debug/pprof/heap?gc=1&debug=1"}
	if _, err := load.Once(w.gateway.Admin, collect); err != nil {
		return v, err
	}
	metrics, err := load.Once(w.gateway.Admin, load.Request{Target: "/metrics"})
	if err != nil {
		return v, err
	}
	for name, figure := range map[string]*float64{
		"go_goroutines":                 &v.goroutines,
		"process_open_fds":              &v.files,
		"go_memstats_heap_alloc_bytes":  &v.live,
		"process_resident_memory_bytes": &v.rss,
	} {
		_, text, _ := strings.Cut(string(metrics.Body), "\n"+name+" ")
		if _, err := fmt.Sscan(text, figure); err != nil {
			return v, fmt.Errorf("the metric %s: %w", name, err)
		}
	}
	return v, nil
}

// quiet waits until connections that were just closed are gone.
func (w *world) quiet(ctx context.Context) (v vitals, err error) {
	last := 0.0
	err = eventually(ctx, func() (bool, error) {
		pause(ctx, 700*time.Millisecond) // longer than a node keeps a connection
		var err error
		v, err = w.vitals()
		same := v.files == last
		last = v.files
		return same, err
	})
	return v, err
}

const (
	// spareFiles is how many more open files than before are no leak: the pool of connections to Redis keeps as many as
	// were ever needed at once.
	spareFiles = 20

	// spareHeap is how much more than before is no leak: what the two limits and the evidence remember of each client
	// of the crowd, about 340 bytes, and what the caches hold.
	spareHeap = 4<<20 + 384*crowdSize
)

// settle waits until the gateway holds no more than before, apart from what it is to remember of the requests since.
func (w *world) settle(ctx context.Context, before vitals) (now vitals, err error) {
	err = eventually(ctx, func() (bool, error) {
		var err error
		now, err = w.vitals()
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles &&
			now.live <= before.live+spareHeap, err
	})
	if err != nil {
		return now, fmt.Errorf("the gateway does not come back to where it was (%v): %v: %w", before, now, err)
	}
	return now, nil
}
