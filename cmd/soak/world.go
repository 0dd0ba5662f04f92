package main

import (
	"context"
	"fmt"
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
	plainPair referee.Pair // one that every version knows
	versions  []string     // that are served, the newest first
	retiring  string       // the oldest, which the plan takes away and gives back
	listing   *client.Listing
	nodes     []*node
	held      sync.Map // see node
	issuer    *issuer
	redis     *child.Server
	postgres  *postgres.Server
	gateway   *child.Server
	log       *child.Log
	tally     tally
	tell      func(format string, args ...any) // reports progress
	dir       string

	signEvery  int64 // the client checks one in so many quotes of v3, which takes longer than the referee
	signed     atomic.Int64
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

// newWorld starts everything. The world is to be closed, after an error too.
func newWorld(ctx context.Context, root, binary string, tell func(string, ...any)) (w *world, err error) {
	w = &world{tell: tell, issuer: startIssuer(), signEvery: 64}
	w.log = &child.Log{See: w.tally.see}
	if w.judge, err = referee.New(root); err != nil {
		return w, err
	}
	if w.plainPair, err = w.judge.Find("USDC", 1, "USDC", 369); err != nil {
		return w, err
	}
	for _, version := range referee.Versions {
		if _, err := os.Stat(filepath.Join(root, version)); err == nil {
			w.versions = append(w.versions, version)
			w.retiring = version
		}
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
	if w.redis, err = child.StartRedis(ctx, ""); err != nil {
		return w, err
	}
	if w.postgres, err = postgres.New(ctx); err != nil {
		return w, err
	}
	if err := w.writePlan(everythingActive); err != nil {
		return w, err
	}
	w.gateway, err = child.Gateway{Binary: binary, Log: w.log, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"RPC_URLS_369="+w.nodes[0].url()+","+w.nodes[1].url(),
		"RPC_URLS_1="+w.nodes[2].url(),
		"INTEGRATOR_CACHE_TTL=500ms",
		"ISSUER_FEE_URL="+w.issuer.URL,
		"LIFECYCLE_FILE="+w.planFile(),
		"USAGE_DB="+w.postgres.URL("postgres"),
		"REDIS_URL=redis://"+w.redis.Addr,
		"LOG_FORMAT=json",
		"LOG_LEVEL=info",
	)}.Start(ctx)
	if err != nil {
		return w, err
	}
	c, err := client.New(w.gateway.URL())
	if err != nil {
		return w, err
	}
	w.listing, err = c.Pairs(ctx)
	return w, err
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
	for _, n := range w.nodes {
		n.server.Close()
	}
	w.issuer.Close()
	os.RemoveAll(w.dir)
}

// eventually asks until the answer is yes, for a minute at most. The error says what did not come about.
func eventually(ctx context.Context, what string, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
	return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
}

func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// vitals are the signs by which a leak shows.
type vitals struct{ goroutines, files, heap float64 }

func (v vitals) String() string {
	return fmt.Sprintf("goroutines %.0f, files %.0f, live heap %.1f MiB", v.goroutines, v.files, mib(int64(v.heap)))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// vitals reads them after a garbage collection.
func (w *world) vitals() (v vitals, err error) {
	if _, err := load.Once(w.gateway.Admin, load.Request{Target: "/debug/pprof/heap?gc=1&debug=1"}); err != nil {
		return v, err
	}
	metrics, err := load.Once(w.gateway.Admin, load.Request{Target: "/metrics"})
	if err != nil {
		return v, err
	}
	for name, figure := range map[string]*float64{
		"go_goroutines":                &v.goroutines,
		"process_open_fds":             &v.files,
		"go_memstats_heap_alloc_bytes": &v.heap,
	} {
		_, text, _ := strings.Cut(string(metrics.Body), "\n"+name+" ")
		if _, err := fmt.Sscan(text, figure); err != nil {
			return v, fmt.Errorf("the metric %s: %w", name, err)
		}
	}
	return v, nil
}

// quiet waits until connections that were just closed are gone.
func (w *world) quiet(ctx context.Context) (now vitals, err error) {
	err = eventually(ctx, "connections are closed", func() (bool, error) {
		files := now.files
		pause(ctx, 700*time.Millisecond) // longer than a node keeps a connection
		var err error
		now, err = w.vitals()
		return now.files == files, err
	})
	return now, err
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
	err = eventually(ctx, "it comes back to "+before.String(), func() (bool, error) {
		var err error
		now, err = w.vitals()
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles &&
			now.heap <= before.heap+spareHeap, err
	})
	return now, err
}
