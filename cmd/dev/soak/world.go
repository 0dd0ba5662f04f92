package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
)

// world is a gateway and everything it depends on, all of which can fail.
type world struct {
	checker  *quotecheck.Checker
	versions []string // that are served, the newest first
	retiring string   // the oldest, which the plan takes away and gives back
	nodes    []*node
	held     sync.Map // see node
	issuer   *issuer
	redis    *child.Server
	postgres *postgres.Server
	gateway  *child.Server
	log      *child.Log
	tally    tally
	tell     func(format string, args ...any) // reports progress
	dir      string

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
	w = &world{tell: tell, issuer: &issuer{}}
	w.issuer.Server = httptest.NewServer(w.issuer)
	w.log = &child.Log{See: w.tally.see}
	file := chain.ReferenceAs("soak")
	deployment, err := chain.ParseDeployment(file)
	if err != nil {
		return w, err
	}
	if w.checker, err = quotecheck.New(root, swap.Listing(deployment)); err != nil {
		return w, err
	}
	for _, version := range quotecheck.Versions {
		if _, err := os.Stat(filepath.Join(root, version)); err == nil {
			w.versions = append(w.versions, version)
			w.retiring = version
		}
	}
	if w.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return w, err
	}
	for _, id := range []uint64{369, 369, 1} {
		n, err := startNode(id, &w.held)
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
	path := filepath.Join(w.dir, "deployment.json")
	if err := errors.Join(os.WriteFile(path, file, 0o600), w.writePlan(everythingActive)); err != nil {
		return w, err
	}
	w.gateway, err = child.Gateway{Binary: binary, Log: w.log, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"DEPLOYMENT_FILE="+path,
		"RPC_URLS_369="+w.nodes[0].url()+","+w.nodes[1].url(),
		"RPC_URLS_1="+w.nodes[2].url(),
		"INTEGRATOR_CACHE_TTL=500ms",
		"ISSUER_FEE_URL="+w.issuer.URL,
		"LIFECYCLE_FILE="+w.dir+planFile,
		"USAGE_DB="+w.postgres.URL("postgres"),
		"REDIS_URL=redis://"+w.redis.Addr,
		"LOG_FORMAT=json",
		"LOG_LEVEL=info",
	)}.Start(ctx)
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

// isWell tells whether nothing went wrong so far.
func (w *world) isWell(ctx context.Context) bool { return ctx.Err() == nil && w.tally.err() == nil }

// eventually asks until the answer is yes, for a minute at most.
func (w *world) eventually(ctx context.Context, what string, ask func() bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for w.isWell(ctx) {
		if ask() {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	w.tally.fail("given up waiting until %s", what)
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
	return fmt.Sprintf("goroutines %.0f, files %.0f, live heap %.1f MiB", v.goroutines, v.files, v.heap/(1<<20))
}

// vitals reads them after a garbage collection.
func (w *world) vitals() (v vitals) {
	_, err := load.Once(w.gateway.Admin, load.Request{Target: "/debug/pprof/heap?gc=1&debug=1"})
	w.tally.note(err)
	metrics, err := load.Once(w.gateway.Admin, load.Request{Target: "/metrics"})
	w.tally.note(err)
	for name, figure := range map[string]*float64{
		"go_goroutines":                &v.goroutines,
		"process_open_fds":             &v.files,
		"go_memstats_heap_alloc_bytes": &v.heap,
	} {
		_, text, _ := strings.Cut(string(metrics.Body), "\n"+name+" ")
		if _, err := fmt.Sscan(text, figure); err != nil {
			w.tally.fail("the metric %s: %w", name, err)
		}
	}
	return v
}

// quiet waits until connections that were just closed are gone.
func (w *world) quiet(ctx context.Context) (now vitals) {
	w.eventually(ctx, "connections are closed", func() bool {
		files := now.files
		pause(ctx, 700*time.Millisecond) // longer than a node keeps a connection
		now = w.vitals()
		return now.files == files
	})
	return now
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
func (w *world) settle(ctx context.Context, before vitals) (now vitals) {
	w.eventually(ctx, "it comes back to "+before.String(), func() bool {
		now = w.vitals()
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles &&
			now.heap <= before.heap+spareHeap
	})
	return now
}
