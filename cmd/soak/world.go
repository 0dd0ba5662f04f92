package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	issuer    *issuer
	redis     *child.Server    // nil where there is none to be had
	postgres  *postgres.Server // nil where there is none, or none is wanted
	gateway   *child.Server
	log       *child.Log
	tally     tally
	tell      func(format string, args ...any) // reports progress

	versions   []string // that are served
	retiring   string   // the one that the plan takes away and gives back; empty if there is none
	listing    *client.Listing
	signed     atomic.Int64 // quotes of v3 that the client could have checked
	newClients atomic.Int64
	refusing   atomic.Bool // the plan may refuse the retiring version
	stopping   atomic.Bool // the gateway was told to stop
	dir        string
}

const (
	perMinute  = 60 // requests of one client
	askTimeout = 40 * time.Second

	// Client numbers: a crowd that stays within its budget, one that does not,
	// and those who ask once.
	crowdSize   = 1 << 16
	overLimit   = crowdSize
	firstOfMany = crowdSize + 1
)

// newWorld starts everything. The world is to be closed, after an error too. Without
// a database of its own the gateway counts in a file.
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
		n, err := startNode(chain)
		if err != nil {
			return w, err
		}
		w.nodes = append(w.nodes, n)
	}
	w.redis, err = child.StartRedis(ctx, "")
	if errors.Is(err, child.ErrNoRedis) {
		tell("NOT TESTED: Redis: %v", err)
	} else if err != nil {
		return w, err
	}
	if database {
		w.postgres, err = postgres.New(ctx)
		if errors.Is(err, postgres.ErrNone) {
			tell("NOT TESTED: PostgreSQL: %v", err)
		} else if err != nil {
			return w, err
		}
	}
	if err := w.writePlan(everythingActive); err != nil {
		return w, err
	}
	gateway := child.Gateway{Binary: binary, Env: w.env(), Log: w.log}
	if w.gateway, err = gateway.Start(ctx); err != nil {
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
	w.issuer.Close()
	for _, n := range w.nodes {
		n.close()
	}
	os.RemoveAll(w.dir)
}

// discover finds out which versions are served, and what the client holds quotes against. The oldest
// version retires, unless it is v3, which the soak asks most.
func (w *world) discover(ctx context.Context) error {
	c, err := client.New(w.gateway.URL())
	if err != nil {
		return err
	}
	if w.listing, err = c.Pairs(ctx); err != nil {
		return err
	}
	answer, err := w.askOnce("/")
	if err != nil {
		return err
	}
	var index struct {
		Contracts map[string]string // by version
	}
	if err := json.Unmarshal(answer.Body, &index); err != nil || index.Contracts["v3"] == "" {
		return fmt.Errorf("the gateway does not serve v3: %s", answer.Body)
	}
	for _, version := range referee.Versions {
		if index.Contracts[version] == "" {
			continue
		}
		w.versions = append(w.versions, version)
		delete(index.Contracts, version)
		if version != "v3" {
			w.retiring = version // the referee has the newest first
		}
	}
	for version := range index.Contracts {
		w.tell("NOT TESTED: %s, which shared/testkit/referee does not know", version)
	}
	if w.retiring == "" {
		w.tell("NOT TESTED: the plan; no older version is served that it could retire")
	}
	return nil
}

// newClient is the address of a client that has not asked before.
func (w *world) newClient() int { return firstOfMany + int(w.newClients.Add(1)) }

// askOnce asks as a client that has not asked before, on a connection of its own.
func (w *world) askOnce(target string) (load.Answer, error) {
	conn, err := load.Dial(w.gateway.Addr)
	if err != nil {
		return load.Answer{}, err
	}
	defer conn.Close()
	request := load.AppendRequest(nil, w.gateway.Addr, target, load.ClientAddress(w.newClient()))
	answer, err := conn.Ask(request, askTimeout)
	if err == nil && quotes(target) {
		w.tally.quoting.Add(1)
	}
	return answer, err
}

// eventually asks until the answer is yes, for a minute at most.
func eventually(ctx context.Context, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// vitals are the signs by which a leak shows.
type vitals struct {
	goroutines int
	files      int
	live       int64 // bytes on the heap that somebody holds
	rss        int64
}

func (v vitals) String() string {
	return fmt.Sprintf("goroutines %d, open files %d, live heap %.1f MiB, memory %.1f MiB",
		v.goroutines, v.files, mib(v.live), mib(v.rss))
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (w *world) vitals(ctx context.Context) (v vitals, err error) {
	if err := w.profile(ctx, "goroutine?debug=1", "goroutine profile: total ", &v.goroutines); err != nil {
		return v, err
	}
	if err := w.profile(ctx, "heap?gc=1&debug=1", "# HeapAlloc = ", &v.live); err != nil {
		return v, err
	}
	if v.files, err = w.gateway.Files(); err != nil {
		return v, err
	}
	v.rss, _, err = w.gateway.Memory()
	return v, err
}

// profile asks the operator's listener for a profile, and reads the figure after a label.
func (w *world) profile(ctx context.Context, name, label string, figure any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.gateway.Admin+"/debug/pprof/"+name, nil)
	if err != nil {
		return err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	_, figures, _ := strings.Cut(string(body), label)
	if _, err := fmt.Sscan(figures, figure); err != nil {
		return fmt.Errorf("the profile %s has no %q: %w", name, label, err)
	}
	return nil
}

// spareFiles is how many more open files than before are no leak: the pool of
// connections to Redis keeps as many as were ever needed at once.
const spareFiles = 20

// spareHeap is how much more than before is no leak: what the two limits and the evidence
// remember of each client of the crowd, about 340 bytes, and what the caches hold.
const spareHeap = 4<<20 + 384*crowdSize

// settle waits until the gateway holds no more than before, beside what it is
// to remember of the requests since.
func (w *world) settle(ctx context.Context, before vitals) (now vitals, err error) {
	err = eventually(ctx, func() (bool, error) {
		var err error
		now, err = w.vitals(ctx)
		return now.goroutines <= before.goroutines && now.files <= before.files+spareFiles &&
			now.live <= before.live+spareHeap, err
	})
	if err != nil {
		return now, fmt.Errorf("the gateway does not come back to where it was (%v): %v: %w", before, now, err)
	}
	return now, nil
}

// quiet waits until connections that were just closed are gone.
func (w *world) quiet(ctx context.Context) (v vitals, err error) {
	last := -1
	err = eventually(ctx, func() (bool, error) {
		time.Sleep(700 * time.Millisecond) // longer than a node keeps a connection
		var err error
		v, err = w.vitals(ctx)
		same := v.files == last
		last = v.files
		return same, err
	})
	return v, err
}
