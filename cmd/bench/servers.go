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
	"reflect"
	"strconv"
	"time"

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

	// fewLimit is the most that the limiter can be set to. Ten clients come to it
	// within a second, and then ten others take their place.
	fewLimit = 1000
)

// fleet is all servers that are compared, and what they need.
type fleet struct {
	binary  string // of the gateway
	dir     string // of their databases
	node    *httptest.Server
	running []*child.Server
}

func newFleet(binary string) (*fleet, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	return &fleet{binary: binary, dir: dir, node: httptest.NewServer(http.HandlerFunc(serveNode))}, nil
}

func (f *fleet) stop() {
	for _, s := range f.running {
		s.Kill()
	}
	f.node.Close()
	os.RemoveAll(f.dir)
}

// add takes a server that was started, or why it was not.
func (f *fleet) add(name, db string, s *child.Server, err error) (*server, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.running = append(f.running, s)
	return &server{Server: s, name: name, db: db}, nil
}

// gateway runs a gateway with everything that production has, behind a proxy that it trusts. Its access log goes to the
// null device, its evidence into a file. It counts requests in memory if redis is empty.
func (f *fleet) gateway(ctx context.Context, name string, perMinute int, redis string) (*server, error) {
	db := filepath.Join(f.dir, fmt.Sprintf("%d.db", len(f.running)))
	s, err := child.Gateway{Binary: f.binary, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"RPC_URLS_369="+f.node.URL,
		"REDIS_URL="+redis,
		"USAGE_DB="+db,
	)}.Start(ctx)
	return f.add(name, db, s, err)
}

// shared runs a gateway that shares its budgets through Redis; nil, said aloud, where that is missing.
func (f *fleet) shared(ctx context.Context) (*server, error) {
	redis, err := child.StartRedis(ctx, "")
	if errors.Is(err, child.ErrNoRedis) {
		progress("SKIPPED, NOT MEASURED: %s: %v", theShared, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.running = append(f.running, redis)
	return f.gateway(ctx, theShared, usualLimit, "redis://"+redis.Addr)
}

// bare runs this program again as the bare handler of one mix. It answers all requests like the first.
func (f *fleet) bare(ctx context.Context, mix string, cases []load.Case) (*row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	same := make([]load.Case, len(cases))
	for i, c := range cases {
		same[i] = load.Case{Target: c.Target, Body: cases[0].Body}
	}
	process, err := child.Start(ctx, "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(self, "-bare", addr)
		cmd.Stdin = bytes.NewReader(cases[0].Body)
		return cmd
	})
	s, err := f.add(theBare, "", process, err)
	return &row{server: s, mix: mix, cases: same, clients: many}, err
}

// serveBare answers every request with the bytes it is given, and does nothing
// else: no server in Go on net/http can cost less.
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
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := "0x171" // eth_chainId
	if call.Method == "eth_call" {
		var to struct{ Data string }
		if len(call.Params) == 0 || json.Unmarshal(call.Params[0], &to) != nil || len(to.Data) != 2+8+64 {
			http.Error(w, "not a look-up of an integrator", http.StatusBadRequest)
			return
		}
		result = "0x" + to.Data[10:] + fmt.Sprintf("%064x%064x", partnerBPS, 1)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"%s"}`, call.ID, result)
}

// fastifyRows installs and runs the Fastify service as it is usually written, and tuned. It must mean what the gateway
// means.
func (f *fleet) fastifyRows(ctx context.Context, root, scratch string, mixes map[string][]load.Case) ([]*row, error) {
	source := filepath.Join(root, "testdata/bench/fastify")
	dir := filepath.Join(scratch, "fastify")
	if err := install(ctx, dir, filepath.Join(source, "package.json"), filepath.Join(source, ".npmrc"),
		filepath.Join(source, "server.mjs"), filepath.Join(source, "quote.mjs")); err != nil {
		return nil, err
	}
	var rows []*row
	for _, name := range []string{theFastify, theTuned} {
		s, err := f.fastify(ctx, root, dir, name)
		if err != nil {
			return nil, err
		}
		for _, mix := range []string{direct, burn} {
			own, err := sameMeaning(s.Addr, mixes[mix])
			if err != nil {
				return nil, fmt.Errorf("%s answers otherwise than the gateway: %w", name, err)
			}
			rows = append(rows, &row{server: s, mix: mix, cases: own, clients: many})
		}
	}
	return rows, nil
}

func (f *fleet) fastify(ctx context.Context, root, dir, name string) (*server, error) {
	s, err := child.Start(ctx, "/v3/swap/healthcheck", func(addr string) *exec.Cmd {
		_, port, _ := net.SplitHostPort(addr) // of a listener
		cmd := exec.Command("node", "server.mjs",
			filepath.Join(root, "testdata/chains.json"), filepath.Join(root, "shared/chain/reference.json"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "NODE_ENV=production", "PORT="+port)
		if name == theTuned {
			cmd.Env = append(cmd.Env, "TUNED=1")
		}
		return cmd
	})
	return f.add(name, "", s, err)
}

// install puts a Node.js program and what it needs into a scratch folder.
func install(ctx context.Context, dir string, files ...string) error {
	progress("installing %s", filepath.Base(dir))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "install", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install in %s: %w\n%s", dir, err, out)
	}
	return nil
}

// haveNode says aloud what is not measured where Node.js is missing.
func haveNode(what string) bool {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			progress("SKIPPED, NOT MEASURED: %s needs %s, which is not on this machine", what, tool)
			return false
		}
	}
	return true
}

// sameMeaning asks a server every case once. Its answers must mean the same, and may order the fields of an object
// otherwise; they are what it is held to from then on.
func sameMeaning(addr string, cases []load.Case) ([]load.Case, error) {
	conn, err := load.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	own := make([]load.Case, len(cases))
	for i, c := range cases {
		answer, err := conn.Ask(load.AppendRequest(nil, addr, c.Target, load.ClientAddress(i)), time.Minute)
		if err != nil {
			return nil, err
		}
		var got, want any
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			return nil, fmt.Errorf("GET %s: %w", c.Target, err)
		}
		if err := json.Unmarshal(c.Body, &want); err != nil {
			return nil, err
		}
		if answer.Status != 200 || !reflect.DeepEqual(got, want) {
			return nil, fmt.Errorf("GET %s\ngot %d %s\nwant 200 %s", c.Target, answer.Status, answer.Body, c.Body)
		}
		own[i] = load.Case{Target: c.Target, Body: answer.Body}
	}
	return own, nil
}
