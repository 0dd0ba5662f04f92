package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/redisserver"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/referee"
	"github.com/quotegate/quotegate/v3/client"
)

// world is a gateway and everything it depends on, all of which can fail.
type world struct {
	judge  *referee.Referee
	pairs  []referee.Pair
	nodes  []*node
	issuer *issuer
	redis  *redisserver.Server // nil where there is none to be had

	postgres *postgres.Server // nil where there is none, or none is wanted
	plan     *plan
	planned  bool // the gateway follows a plan
	gateway  *child.Server
	log      *child.Log
	tally    tally

	served     versions
	listing    *client.Listing
	signed     atomic.Int64 // quotes of v3 that the client could have checked
	newClients atomic.Int64
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
func newWorld(ctx context.Context, root, binary string, database bool) (w *world, err error) {
	w = &world{}
	w.log = &child.Log{See: w.tally.see}
	if w.judge, err = referee.New(root); err != nil {
		return w, err
	}
	w.pairs = w.judge.Pairs()
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
	if w.issuer, err = startIssuer(); err != nil {
		return w, err
	}
	if redisserver.Installed() {
		if w.redis, err = redisserver.Start(ctx); err != nil {
			return w, err
		}
	}
	if w.plan, err = newPlan(w.dir); err != nil {
		return w, err
	}
	if database {
		w.postgres, err = postgres.New(ctx)
		if err != nil && !errors.Is(err, postgres.ErrNone) {
			return w, err
		}
	}
	gateway := child.Gateway{Binary: binary, Env: w.env(), Log: w.log}
	if w.gateway, err = gateway.Start(ctx); err != nil {
		return w, err
	}
	if err := w.readListing(ctx); err != nil {
		return w, err
	}
	return w, w.discover()
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
		"RPC_URLS_369="+w.nodes[0].url+","+w.nodes[1].url,
		"RPC_URLS_1="+w.nodes[2].url,
		"INTEGRATOR_CACHE_TTL=500ms",
		"ISSUER_FEE_URL="+w.issuer.url,
		"LIFECYCLE_FILE="+w.plan.path,
		"USAGE_DB="+counts,
		"LOG_FORMAT=json",
		"LOG_LEVEL=info",
	)
	if w.redis != nil {
		env = append(env, "REDIS_URL=redis://"+w.redis.Addr)
	}
	return env
}

// readListing gets what the client holds quotes against.
func (w *world) readListing(ctx context.Context) error {
	c, err := client.New(w.gateway.URL())
	if err != nil {
		return err
	}
	w.listing, err = c.Pairs(ctx)
	return err
}

func (w *world) close() {
	if w.gateway != nil {
		w.gateway.Kill()
	}
	if w.redis != nil {
		w.redis.Close()
	}
	if w.postgres != nil {
		w.postgres.Close()
	}
	if w.issuer != nil {
		w.issuer.close()
	}
	for _, n := range w.nodes {
		n.close()
	}
	os.RemoveAll(w.dir)
}

// discover finds out which versions are served, and whether a plan is followed.
func (w *world) discover() error {
	answer, err := w.askOnce("/")
	if err != nil {
		return err
	}
	var index struct {
		Contracts map[string]string // by version
	}
	if err := json.Unmarshal(answer.Body, &index); err != nil {
		return fmt.Errorf("the index of the gateway: %w", err)
	}
	w.served = sortVersions(slices.Sorted(maps.Keys(index.Contracts)))
	if !slices.Contains(w.served.judged, "v3") {
		return fmt.Errorf("the gateway does not serve v3: %s", answer.Body)
	}
	answer, err = w.askOnce("/versions")
	w.planned = answer.Status == http.StatusOK && w.served.retiring != ""
	return err
}

// versions are those that a gateway serves.
type versions struct {
	judged   []string // that the referee knows
	unjudged []string // that it does not know, and nobody asks
	retiring string   // the one that the plan takes away and gives back; empty if there is none
}

// sortVersions takes the names of the versions in their order, the oldest first. That
// one retires, unless it is v3, which the soak asks most.
func sortVersions(names []string) (v versions) {
	for _, name := range names {
		if !slices.Contains(referee.Versions, name) {
			v.unjudged = append(v.unjudged, name)
			continue
		}
		v.judged = append(v.judged, name)
		if v.retiring == "" && name != "v3" {
			v.retiring = name
		}
	}
	return v
}

// askOnce asks as a client that has not asked before, on a connection of its
// own.
func (w *world) askOnce(target string) (load.Answer, error) {
	conn, err := load.Dial(w.gateway.Addr)
	if err != nil {
		return load.Answer{}, err
	}
	defer conn.Close()
	client := load.ClientAddress(firstOfMany + int(w.newClients.Add(1)))
	answer, err := conn.Ask(load.AppendRequest(nil, w.gateway.Addr, target, client), askTimeout)
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
