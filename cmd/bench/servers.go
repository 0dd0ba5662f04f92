package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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

// fleet is all servers that are compared, and what they need. After an error it starts no more.
type fleet struct {
	ctx     context.Context // of the measurement
	binary  string          // of the gateway
	mixes   map[string][]exchange
	dir     string // of their databases
	node    *httptest.Server
	running []*child.Server
	err     error
}

func newFleet(ctx context.Context, binary string, mixes map[string][]exchange) *fleet {
	f := &fleet{ctx: ctx, binary: binary, mixes: mixes, node: httptest.NewServer(http.HandlerFunc(serveNode))}
	f.dir, f.err = os.MkdirTemp("", "bench-")
	return f
}

func (f *fleet) stop() {
	for _, s := range f.running {
		s.Kill()
	}
	f.node.Close()
	os.RemoveAll(f.dir)
}

// start runs a server, and gives an empty one after an error.
func (f *fleet) start(name string, run func() (*child.Server, error)) *server {
	s := &server{Server: &child.Server{}, name: name}
	if f.err != nil {
		return s
	}
	started, err := run()
	if err != nil {
		f.err = fmt.Errorf("%s: %w", name, err)
		return s
	}
	f.running = append(f.running, started)
	s.Server = started
	return s
}

// gateway runs a gateway with everything that production has, behind a proxy that it trusts. Its access log goes to the
// null device, its evidence into a file. It counts requests in memory if redis is empty.
func (f *fleet) gateway(name string, perMinute int, redis string) *server {
	gateway := child.Gateway{Binary: f.binary, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"RPC_URLS_369="+f.node.URL,
		"REDIS_URL="+redis,
		"USAGE_DB="+filepath.Join(f.dir, fmt.Sprintf("%d.db", len(f.running))),
	)}
	return f.start(name, func() (*child.Server, error) { return gateway.Start(f.ctx) })
}

func (f *fleet) row(s *server, mix string, clients int) *row {
	return &row{server: s, mix: mix, exchanges: f.mixes[mix], clients: clients}
}

// mixRows are all servers under every mix that they know.
func (f *fleet) mixRows(fastify bool, root, scratch string) (rows []*row, err error) {
	gateway := f.gateway(theGateway, usualLimit, "")
	if f.err != nil {
		return nil, f.err
	}
	listing, err := load.Once(gateway.Addr, load.Request{Target: listingTarget})
	if err != nil {
		return nil, err
	}
	f.mixes[pairs] = []exchange{{target: listingTarget, body: listing.Body}}
	for _, mix := range append(order, pairs) {
		rows = append(rows, f.row(gateway, mix, many), f.bare(mix))
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		progress("SKIPPED, NOT MEASURED: %s: %v", theShared, child.ErrNoRedis)
	} else {
		redis := f.start("Redis", func() (*child.Server, error) { return child.StartRedis(f.ctx, "") })
		rows = append(rows, f.row(f.gateway(theShared, usualLimit, "redis://"+redis.Addr), direct, many))
	}
	if fastify && haveNode(theFastify) {
		rows = append(rows, f.fastify(root, scratch)...)
	}
	return rows, f.err
}

// listingTarget is the request for all pairs. Its first answer is what the others must be.
const listingTarget = "/v3/app/pairs"

// crowdRows are gateways, each with another number of clients.
func (f *fleet) crowdRows() ([]*row, error) {
	rows := []*row{
		f.bare(direct),
		f.bare(v1),
		f.row(f.gateway(theGateway, fewLimit, ""), direct, few),
		f.row(f.gateway(theGateway, usualLimit, ""), direct, many),
		f.row(f.gateway(theGateway, usualLimit, ""), direct, flood),
		f.row(f.gateway(theGateway, usualLimit, ""), v1, many),
	}
	for _, r := range rows {
		r.background = true
	}
	return rows, f.err
}

// bare runs this program again as the bare handler of one mix. It answers all requests like the first.
func (f *fleet) bare(mix string) *row {
	answer := f.mixes[mix][0].body
	s := f.start(theBare, func() (*child.Server, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return child.Start(f.ctx, func(addr string) *exec.Cmd {
			cmd := exec.Command(self, "-bare", addr)
			cmd.Stdin = bytes.NewReader(answer)
			return cmd
		})
	})
	r := &row{server: s, mix: mix, clients: many}
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

// fastify installs and runs the Fastify service as it is usually written, and tuned. It must mean what the gateway
// means.
func (f *fleet) fastify(root, scratch string) (rows []*row) {
	dir := filepath.Join(scratch, "fastify")
	source := filepath.Join(root, "testdata/bench/fastify")
	if f.err == nil {
		f.err = install(f.ctx, dir, filepath.Join(source, "package.json"), filepath.Join(source, ".npmrc"),
			filepath.Join(source, "server.mjs"), filepath.Join(source, "quote.mjs"))
	}
	for _, name := range []string{theFastify, theTuned} {
		tuned := map[string]string{theTuned: "1"}[name]
		s := f.start(name, func() (*child.Server, error) {
			return child.Start(f.ctx, func(addr string) *exec.Cmd {
				_, port, _ := net.SplitHostPort(addr) // of a listener
				cmd := exec.Command("node", "server.mjs",
					filepath.Join(root, "testdata/chains.json"), filepath.Join(root, "shared/chain/reference.json"))
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "NODE_ENV=production", "PORT="+port, "TUNED="+tuned)
				return cmd
			})
		})
		for _, mix := range []string{direct, burn} {
			r := f.row(s, mix, many)
			if f.err == nil {
				r.exchanges, f.err = sameMeaning(s.Addr, f.mixes[mix])
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// sameMeaning asks a server every request once. Its answers must mean the same, and may order the fields of an object
// otherwise; from then on they are expected to the byte.
func sameMeaning(addr string, exchanges []exchange) ([]exchange, error) {
	conn, err := load.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	own := make([]exchange, len(exchanges))
	for i, e := range exchanges {
		answer, err := conn.Ask(load.Request{Target: e.target, Client: i})
		if err != nil {
			return nil, err
		}
		var got, want any
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			return nil, fmt.Errorf("GET %s: %w", e.target, err)
		}
		if err := json.Unmarshal(e.body, &want); err != nil {
			return nil, err
		}
		if answer.Status != 200 || !reflect.DeepEqual(got, want) {
			return nil, fmt.Errorf("GET %s\ngot %d %s\nwant 200 %s", e.target, answer.Status, answer.Body, e.body)
		}
		own[i] = exchange{target: e.target, body: answer.Body}
	}
	return own, nil
}

// haveNode says what is not measured where Node.js is missing.
func haveNode(what string) bool {
	_, err := exec.LookPath("npm")
	if err != nil {
		progress("SKIPPED, NOT MEASURED: %s needs npm, which is not on this machine", what)
	}
	return err == nil
}

// install puts a Node.js program and what it needs into a scratch folder.
func install(ctx context.Context, dir string, files ...string) error {
	progress("installing %s", filepath.Base(dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	copies := append([]string{"cp", "-t", "."}, files...)
	for _, args := range [][]string{copies, {"npm", "install", "--loglevel=error"}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s in %s: %w\n%s", args[0], dir, err, out)
		}
	}
	return nil
}
