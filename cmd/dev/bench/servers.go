package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/shared/chain"
	testnode "github.com/quotegate/quotegate/shared/testkit/node"
)

const (
	theGateway = "gateway"
	theShared  = "gateway with Redis"
	theBare    = "bare net/http"
	theFastify = "Fastify + viem"
	theTuned   = "Fastify + viem, tuned"
)

// Numbers of distinct clients.
const (
	few   = 10
	many  = 1 << 16
	flood = 1_000_000
)

const (
	usualLimit = 30 // requests a minute per client, the default

	// fewLimit is the most that the limiter can be set to. Ten clients come to it within a second, and then ten others
	// take their place.
	fewLimit = 1000
)

// fleet is all servers that are compared, and what they need.
type fleet struct {
	options
	ctx     context.Context       // of the measurement
	mixes   map[string][]exchange // see learn
	dir     string                // of the gateway and the databases
	node    *httptest.Server
	running []*child.Server
	err     error
}

// newFleet prepares the servers. The fleet is to be stopped, after an error too.
func newFleet(ctx context.Context, o options) (f *fleet, err error) {
	f = &fleet{options: o, ctx: ctx, node: httptest.NewServer(testnode.Answers(answerNode))}
	if f.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return f, err
	}
	err = os.WriteFile(f.deployment(), deploymentFile(), 0o600)
	if err != nil || f.gateway != "" {
		return f, err
	}
	progress("building the gateway")
	f.gateway, err = child.Build(ctx, f.dir)
	return f, err
}

// deploymentFile is what the gateways quote: the reference contracts, under a name of its own.
func deploymentFile() []byte { return chain.ReferenceAs("bench") }

// deployment is where they read it.
func (f *fleet) deployment() string { return filepath.Join(f.dir, "deployment.json") }

func (f *fleet) stop() {
	for _, s := range f.running {
		s.Kill()
	}
	f.node.Close()
	os.RemoveAll(f.dir)
}

// add keeps a server that was started, or the error.
func (f *fleet) add(s *child.Server, err error) *server {
	if err != nil {
		f.err = errors.Join(f.err, err)
		return &server{Server: &child.Server{}}
	}
	f.running = append(f.running, s)
	return &server{Server: s}
}

// startGateway runs a gateway with everything that production has, behind a proxy that it trusts. Its access log goes
// to the null device, its evidence into a file. It counts requests in memory if redis is empty.
func (f *fleet) startGateway(perMinute int, redis string) *server {
	return f.add(child.Gateway{Binary: f.gateway, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"DEPLOYMENT_FILE="+f.deployment(),
		"RPC_URLS_369="+f.node.URL,
		"REDIS_URL="+redis,
		"USAGE_DB="+filepath.Join(f.dir, fmt.Sprintf("%d.db", len(f.running))),
	)}.Start(f.ctx))
}

// answerNode answers as a node of the hub on which every partner is registered.
func answerNode(c testnode.Call) any {
	var call struct{ Data string }
	if c.Method == "eth_call" && json.Unmarshal(c.Params[0], &call) == nil && len(call.Data) == 2+8+64 {
		return fmt.Sprintf("0x%s%064x%064x", call.Data[10:], partnerBPS, 1)
	}
	return "0x171" // eth_chainId
}

func (f *fleet) row(name string, s *server, mix string, clients int) *row {
	return &row{name: name, server: s, mix: mix, exchanges: f.mixes[mix], clients: clients}
}

// mixRows are all servers under every mix that they know.
func (f *fleet) mixRows() (rows []*row, err error) {
	gateway := f.startGateway(usualLimit, "")
	if f.err != nil {
		return nil, f.err
	}
	for _, mix := range append(order, pairs) {
		rows = append(rows, f.row(theGateway, gateway, mix, many), f.bare(mix))
	}
	if has(theShared, "redis-server") {
		redis := f.add(child.StartRedis(f.ctx, ""))
		rows = append(rows, f.row(theShared, f.startGateway(usualLimit, "redis://"+redis.Addr), direct, many))
	}
	if f.fastify && has(theFastify, "npm") {
		rows = append(rows, f.fastifyRows()...)
	}
	return rows, f.err
}

// has tells whether a program is on this machine, and says what is not measured without it.
func has(what, program string) bool {
	_, err := exec.LookPath(program)
	if err != nil {
		progress("SKIPPED, NOT MEASURED: %s: %v", what, err)
	}
	return err == nil
}

// crowdRows are gateways, each with another number of clients.
func (f *fleet) crowdRows() ([]*row, error) {
	rows := []*row{
		f.bare(direct),
		f.bare(v1),
		f.row(theGateway, f.startGateway(fewLimit, ""), direct, few),
		f.row(theGateway, f.startGateway(usualLimit, ""), direct, many),
		f.row(theGateway, f.startGateway(usualLimit, ""), direct, flood),
		f.row(theGateway, f.startGateway(usualLimit, ""), v1, many),
	}
	return rows, f.err
}

// bare runs this program again as the bare handler of one mix, which is asked the first request only.
func (f *fleet) bare(mix string) *row {
	s := f.add(child.Start(f.ctx, "", nil, func(addr string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "-bare", addr)
		cmd.Stdin = bytes.NewReader(f.mixes[mix][0].body)
		return cmd
	}))
	r := f.row(theBare, s, mix, many)
	r.exchanges = r.exchanges[:1]
	return r
}

// serveBare answers every request with the bytes it is given, and does nothing else: no server in Go on net/http can
// cost less.
func serveBare(addr string, answer io.Reader) error {
	body, err := io.ReadAll(answer)
	if err != nil {
		return err
	}
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // an error here means that the client has left
	}))
}

// fastifyRows are the Fastify service as it is usually written, and tuned.
func (f *fleet) fastifyRows() (rows []*row) {
	program, err := install(f.ctx, f.root, "fastify", "testdata/bench/fastify/.")
	if err != nil {
		f.err = err
		return nil
	}
	for _, name := range []string{theFastify, theTuned} {
		tuned := strconv.FormatBool(name == theTuned)
		s := f.add(child.Start(f.ctx, "", nil, func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr) // of a listener
			cmd := exec.Command("node", program+"/server.mjs", "testdata/chains.json", "shared/chain/reference.json")
			cmd.Dir = f.root
			cmd.Env = append(os.Environ(), "NODE_ENV=production", "PORT="+port, "TUNED="+tuned)
			return cmd
		}))
		for _, mix := range []string{direct, burn} {
			r := f.row(name, s, mix, many)
			rows = append(rows, r)
			if f.err == nil { // Node.js compiles what it has run often, which takes longer than the first round
				_, f.err = load.Run(f.ctx, s.Addr, callers, len(r.exchanges), r.request)
			}
		}
	}
	return rows
}

// install copies the files of a Node.js program into a scratch folder, with the packages that it needs. The folder is
// named as seen from the root.
func install(ctx context.Context, root, name string, files ...string) (dir string, err error) {
	progress("installing %s", name)
	dir = ".scratch/bench/" + name
	const script = `mkdir -p "$0" && cp -r -t "$0" "$@" && npm install --loglevel=error --prefix "$0"`
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, dir}, files...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("installing %s: %w\n%s", name, err, out)
	}
	return dir, nil
}

// measureEngine has the public RAILGUN engine make shield notes on every core at once, since the gateway, too, is
// measured on a busy machine. It gives how many it makes in a second of CPU time, 0 where Node.js is missing.
func measureEngine(ctx context.Context, root string) (notesPerSecond float64, err error) {
	if !has("the public RAILGUN engine", "npm") {
		return 0, nil
	}
	dir, err := install(ctx, root, "railgun",
		"testdata/interop/package.json", "testdata/interop/.npmrc", "testdata/bench/railgun.mjs")
	if err != nil {
		return 0, err
	}
	progress("measuring the public RAILGUN engine")
	each := make([]struct{ Notes, CPUSeconds float64 }, runtime.NumCPU())
	var runs errgroup.Group
	for i := range each {
		runs.Go(func() error {
			cmd := exec.CommandContext(ctx, "node", dir+"/railgun.mjs", "9")
			cmd.Dir = root
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("railgun.mjs: %w", err)
			}
			return json.Unmarshal(out, &each[i])
		})
	}
	err = runs.Wait()
	var notes, seconds float64
	for _, one := range each {
		notes += one.Notes
		seconds += one.CPUSeconds
	}
	return notes / seconds, err
}
