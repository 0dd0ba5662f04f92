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
	"strconv"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
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
	ctx     context.Context // of the measurement
	mixes   map[string][]exchange
	dir     string // of their databases
	node    *httptest.Server
	running []*child.Server
	err     error
}

func newFleet(ctx context.Context, o options) (*fleet, error) {
	mixes, err := newMixes(o.root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-")
	node := httptest.NewServer(http.HandlerFunc(serveNode))
	return &fleet{options: o, ctx: ctx, mixes: mixes, dir: dir, node: node}, err
}

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
		"RPC_URLS_369="+f.node.URL,
		"REDIS_URL="+redis,
		"USAGE_DB="+filepath.Join(f.dir, fmt.Sprintf("%d.db", len(f.running))),
	)}.Start(f.ctx))
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
	// The first answer to the request for all pairs is what the others must be.
	const listing = "/v3/app/pairs"
	first, err := load.Once(gateway.Addr, load.Request{Target: listing})
	if err != nil {
		return nil, err
	}
	f.mixes[pairs] = []exchange{{target: listing, body: first.Body}}
	for _, mix := range append(order, pairs) {
		rows = append(rows, f.row(theGateway, gateway, mix, many), f.bare(mix))
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		progress("SKIPPED, NOT MEASURED: %s: %v", theShared, child.ErrNoRedis)
	} else {
		redis := f.add(child.StartRedis(f.ctx, ""))
		rows = append(rows, f.row(theShared, f.startGateway(usualLimit, "redis://"+redis.Addr), direct, many))
	}
	if f.options.fastify && haveNode(theFastify) {
		rows = append(rows, f.fastifyRows()...)
	}
	return rows, f.err
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
	for _, r := range rows {
		r.background = true
	}
	return rows, f.err
}

// bare runs this program again as the bare handler of one mix. It answers all requests like the first.
func (f *fleet) bare(mix string) *row {
	answer := f.mixes[mix][0].body
	r := f.row(theBare, f.add(child.Start(f.ctx, "", nil, func(addr string) *exec.Cmd {
		cmd := exec.Command("/proc/self/exe", "-bare", addr)
		cmd.Stdin = bytes.NewReader(answer)
		return cmd
	})), mix, many)
	r.exchanges = nil
	for _, e := range f.mixes[mix] {
		r.exchanges = append(r.exchanges, exchange{target: e.target, body: answer})
	}
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

// serveNode speaks JSON-RPC as a node of the hub on which every partner is registered.
func serveNode(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
		Params []struct{ Data string }
	}
	_ = json.NewDecoder(r.Body).Decode(&call) // the second parameter is no object
	result := "0x171"                         // eth_chainId
	if call.Method == "eth_call" && len(call.Params[0].Data) == 2+8+64 {
		result = fmt.Sprintf("0x%s%064x%064x", call.Params[0].Data[10:], partnerBPS, 1)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, result)
}

// fastifyRows are the Fastify service as it is usually written, and tuned.
func (f *fleet) fastifyRows() (rows []*row) {
	dir, err := install(f.ctx, f.root, "fastify", "testdata/bench/fastify/.")
	if err != nil {
		f.err = err
		return nil
	}
	for _, name := range []string{theFastify, theTuned} {
		tuned := map[string]string{theTuned: "1"}[name]
		s := f.add(child.Start(f.ctx, "", nil, func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr) // of a listener
			cmd := exec.Command("node", "server.mjs",
				filepath.Join(f.root, "testdata/chains.json"), filepath.Join(f.root, "shared/chain/reference.json"))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "NODE_ENV=production", "PORT="+port, "TUNED="+tuned)
			return cmd
		}))
		for _, mix := range []string{direct, burn} {
			r := f.row(name, s, mix, many)
			r.mayReorder = true
			rows = append(rows, r)
			if f.err == nil { // Node.js compiles what it has run often, which takes longer than the first round
				_, f.err = load.Run(f.ctx, s.Addr, callers, len(r.exchanges), r.request)
			}
		}
	}
	return rows
}
