// Command soak loads a real gateway process while everything it depends on fails: nodes hang, hang up and send HTML,
// Redis and PostgreSQL die, callers leave, the fee service lies, the plan is rewritten, and in the end it is told to
// stop under load. Every answer is checked, quotes by the Go client. It ends at the first that is wrong, not JSON or
// missing, and exits 0 only if there was none and nothing was left behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/cmd/internal/swap"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
	"github.com/quotegate/quotegate/shared/testkit/quotecheck"
)

// size is how much a soak does, and what memory the gateway may come to meanwhile.
type size struct {
	duration time.Duration // of the outages together
	idlers   int           // clients that stay connected: more than the gateway accepts at a time
	limit    float64       // MiB, with hundreds of requests waiting for nodes that hang
	idle     float64       // MiB, with thousands of idle clients
	raced    bool          // the gateway has the race detector
}

func main() {
	much := size{idlers: 5000, limit: 120, idle: 192}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&much.duration, "duration", 2*time.Minute, "length of the outages; the rest takes a minute")
	err := cli.Parse(flags, os.Args[1:], "Loads a gateway while everything it depends on fails.", os.Stdout)
	os.Exit(cli.Run("soak", err, func(ctx context.Context) error {
		return soak(ctx, much, os.Stdout)
	}, os.Stderr))
}

// soak starts a gateway and everything it depends on, breaks one thing at a time, and stops the gateway under load.
// Progress and figures go to out. It ends soon after something went wrong, which is the error.
func soak(ctx context.Context, much size, out io.Writer) (err error) {
	w := newWorld(ctx)
	w.tell = log.New(out, "", log.Ltime).Printf
	issuer := httptest.NewServer(&w.issuer)
	defer issuer.Close()
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := child.Build(ctx, dir, fmt.Sprintf("-race=%t", much.raced))
	if err != nil {
		return err
	}
	w.plan = filepath.Join(dir, "plan.json")
	deployment := filepath.Join(dir, "deployment.json")
	err = errors.Join(
		os.WriteFile(deployment, chain.ReferenceAs("soak"), 0o600),
		os.WriteFile(w.plan, []byte(everythingActive), 0o600))
	if err != nil {
		return err
	}
	if w.checker, err = quotecheck.New(".", swap.Listing(chain.Reference())); err != nil {
		return err
	}
	for _, version := range quotecheck.Versions {
		if _, err := os.Stat(version); err == nil {
			w.versions = append(w.versions, version)
			w.retiring = version
		}
	}
	for i, id := range []uint64{369, 369, 1} {
		if w.nodes[i], err = startNode(id, &w.held); err != nil {
			return err
		}
		defer func() { w.nodes[i].server.Close() }() // the last of them
	}
	if w.redis, err = child.StartRedis(ctx, ""); err != nil {
		return err
	}
	defer func() { w.redis.Kill() }() // the last of them
	if w.postgres, err = postgres.New(ctx); err != nil {
		return err
	}
	defer w.postgres.Close()
	w.gateway, err = child.Gateway{Binary: binary, Log: &w.tally, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"DEPLOYMENT_FILE="+deployment,
		"RPC_URLS_369="+w.nodes[0].url()+","+w.nodes[1].url(),
		"RPC_URLS_1="+w.nodes[2].url(),
		"INTEGRATOR_CACHE_TTL=500ms",
		"ISSUER_FEE_URL="+issuer.URL,
		"LIFECYCLE_FILE="+w.plan,
		"USAGE_DB="+w.postgres.URL("postgres"),
		"REDIS_URL=redis://"+w.redis.Addr,
	)}.Start(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(size){w.live, w.idle, w.end} {
		if w.ctx.Err() == nil {
			step(much)
		}
	}
	w.gateway.Kill()
	w.tally.verdict(out)
	if err := context.Cause(w.ctx); err != nil {
		return fmt.Errorf("%w\nthe log of the gateway ends with:\n%s", err, w.gateway.Tail())
	}
	fmt.Fprintln(out, "not one wrong answer, and nothing left behind")
	return nil
}

// world is a gateway and everything it depends on, all of which can fail.
type world struct {
	ctx      context.Context // ends with the first thing that goes wrong, which is its cause
	tally    tally
	tell     func(format string, args ...any) // reports progress
	plan     string                           // its file
	checker  *quotecheck.Checker
	versions []string // that are served, the newest first
	retiring string   // the oldest, which the plan takes away and gives back
	nodes    [3]*node
	held     sync.Map // of the nodes
	issuer   issuer
	redis    *child.Server
	postgres *postgres.Server
	gateway  *child.Server

	refusing atomic.Bool // the plan may refuse the retiring version
	stopping atomic.Bool // the gateway was told to stop
}

func newWorld(ctx context.Context) *world {
	w := &world{tally: tally{counts: map[string]int{}}}
	w.ctx, w.tally.end = context.WithCancelCause(ctx)
	return w
}

// live takes the gateway through all that can go wrong, and sees it well again.
func (w *world) live(much size) {
	warm, cancel := context.WithTimeout(w.ctx, 2*time.Second)
	defer cancel()
	w.drive(warm)
	time.Sleep(time.Second) // longer than a node keeps a connection that nobody uses
	before := w.vitals()
	w.tell("warmed up: %v", before)
	loaded, unload := context.WithCancel(w.ctx)
	defer unload()
	var loads sync.WaitGroup
	loads.Go(func() { w.drive(loaded) })
	loads.Go(func() { w.rush(loaded) })
	loads.Go(func() { w.overdraw(loaded) })
	for n := range hostileClients {
		loads.Go(func() { w.attack(hostiles[n%len(hostiles)]) })
	}
	w.breakThings(much.duration)
	w.eventually("integrators are verified again", func() bool {
		answer, _ := w.askOnce(w.quoteQuestion(heldAtNode, "v3", isPlain))
		return answer.Status == http.StatusOK
	})
	unload()
	loads.Wait()
	w.memory("under load", much.limit) // now, since reading the vitals takes some memory itself
	var now map[string]float64
	w.eventually("no more is left than before", func() bool {
		now = w.vitals()
		for name, more := range spare {
			if now[name] > before[name]+more {
				return false
			}
		}
		return true
	})
	w.tell("afterwards: %v", now)
}

// spare is how much more than before is no leak, of each sign of one. The pool of connections to Redis keeps as many as
// were ever needed at once. The two limits and the evidence remember about 360 bytes of each client of the crowd, and
// the caches hold something.
var spare = map[string]float64{
	"go_goroutines":                0,
	"process_open_fds":             20,
	"go_memstats_heap_alloc_bytes": 4<<20 + 448*crowdSize,
}

// vitals reads the signs of a leak after a garbage collection.
func (w *world) vitals() map[string]float64 {
	admin := http.Client{Transport: &http.Transport{}} // no proxy, and one connection for both
	defer admin.CloseIdleConnections()
	_, errGC := w.adminPage(&admin, "/debug/pprof/heap?gc=1&debug=1")
	metrics, err := w.adminPage(&admin, "/metrics")
	w.tally.fail(errors.Join(errGC, err))
	now := map[string]float64{}
	for name := range spare {
		_, text, _ := strings.Cut(metrics, "\n"+name+" ")
		value, _, _ := strings.Cut(text, "\n")
		now[name], err = strconv.ParseFloat(value, 64)
		w.tally.fail(err)
	}
	return now
}

func (w *world) adminPage(client *http.Client, path string) (string, error) {
	answer, err := client.Get("http://" + w.gateway.Admin + path)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, answer.Status)
	}
	return string(text), err
}

// memory tells what the gateway has come to so far, and holds it to a limit, in MiB.
func (w *world) memory(when string, limit float64) {
	_, peak, err := w.gateway.Costs()
	w.tally.fail(err)
	w.tell("%s: %.1f MiB at most", when, peak)
	if peak > limit {
		w.tally.fail(fmt.Errorf("%s the gateway came to %.1f MiB, and may not exceed %.0f", when, peak, limit))
	}
}

// idle has thousands of clients ask once and stay connected. Others are answered all the same, and memory is bounded.
func (w *world) idle(much size) {
	for range much.idlers {
		conn := &child.Conn{Addr: w.gateway.Addr}
		defer conn.Close()
		if _, err := w.ask(conn, w.plainQuestion(), rand.IntN(crowdSize)); err != nil || w.ctx.Err() != nil {
			return
		}
	}
	_, _ = child.Load(w.ctx, w.gateway.Addr, 1, 200, func(*child.Conn, int) error {
		_, err := w.askOnce(healthQuestion)
		return err
	}) // errors are in the tally
	w.memory(fmt.Sprintf("with %d clients that stay connected", much.idlers), much.idle)
}

// end stops the gateway while it is loaded and some requests wait for a node. They are answered, and later ones are
// refused in order.
func (w *world) end(size) {
	var asking sync.WaitGroup
	w.setNodes(hung)
	for range 4 {
		q := w.quoteQuestion(heldAtNode, "v3", isPlain)
		asking.Go(func() { _, _ = w.askOnce(q) }) // an error is in the tally
		w.eventually("a request reaches a node", func() bool {
			_, waits := w.held.Load(q.swap.Integrator)
			return waits
		})
	}
	asking.Go(func() { w.drive(w.ctx) })
	time.Sleep(100 * time.Millisecond)
	w.stopping.Store(true)
	w.tally.fail(w.gateway.Signal(syscall.SIGTERM))
	w.eventually("new connections are refused", func() bool {
		conn, err := net.Dial("tcp", w.gateway.Addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	asking.Wait()
	w.tally.fail(w.gateway.Wait())
	if w.issuer.asked.Load() < 2 {
		w.tally.fail(errors.New("the fee service was not asked"))
	}
}

// eventually asks until the answer is yes, for a minute at most.
func (w *world) eventually(what string, ask func() bool) {
	start := time.Now()
	for w.ctx.Err() == nil && !ask() {
		if time.Since(start) > time.Minute {
			w.tally.fail(fmt.Errorf("given up waiting until %s", what))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
