package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/quotegate/quotegate/cmd/internal/child"
	testnode "github.com/quotegate/quotegate/shared/testkit/node"
)

// The servers.
const (
	bare      = "bare net/http"
	plain     = "plain route"
	gateway   = "gateway"
	withRedis = "gateway with Redis"
)

// fleet is what all servers need, and those that run.
type fleet struct {
	options
	ctx       context.Context // of the measurement
	dir       string          // of the gateway and the databases
	node      *httptest.Server
	exchanges map[string][]exchange // see learn
	running   []*child.Server
}

// newFleet prepares everything. The fleet is to be stopped, after an error too.
func newFleet(ctx context.Context, o options) (f *fleet, err error) {
	f = &fleet{options: o, ctx: ctx, node: httptest.NewServer(testnode.Answers(answerNode))}
	if f.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return f, err
	}
	if err := os.WriteFile(f.deployment(), deploymentFile(), 0o600); err != nil {
		return f, err
	}
	if f.gateway == "" {
		progress("building the gateway")
		if f.gateway, err = child.Build(ctx, f.dir); err != nil {
			return f, err
		}
	}
	return f, f.learn()
}

// deployment is where gateways read what they quote.
func (f *fleet) deployment() string { return filepath.Join(f.dir, "deployment.json") }

func (f *fleet) stop() {
	for _, s := range f.running {
		s.Kill()
	}
	f.node.Close()
	os.RemoveAll(f.dir)
}

// answerNode answers as a node of the hub on which every partner is registered.
func answerNode(c testnode.Call) any {
	var call struct{ Data string }
	if c.Method == "eth_call" && json.Unmarshal(c.Params[0], &call) == nil && len(call.Data) == 2+8+64 {
		return fmt.Sprintf("0x%s%064x%064x", call.Data[10:], partnerBPS, 1)
	}
	return "0x171" // eth_chainId
}

// start starts the server of a row.
func (f *fleet) start(r *row) (s *child.Server, err error) {
	if r.server == bare || r.server == plain {
		s, err = child.Start(f.ctx, "", nil, func(addr string) *exec.Cmd {
			cmd := exec.Command("/proc/self/exe", r.server, addr)
			cmd.Env = append(os.Environ(), r.goMaxProcs()...)
			cmd.Stdin = bytes.NewReader(r.exchanges[0].body)
			return cmd
		})
	} else {
		s, err = f.startGateway(r)
	}
	if err == nil {
		f.running = append(f.running, s)
	}
	return s, err
}

// startGateway runs a gateway with everything that production has, behind a proxy that it trusts. Its access log goes
// to the null device, its evidence into a file.
func (f *fleet) startGateway(r *row) (*child.Server, error) {
	env := append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(r.limit()),
		"TRUSTED_PROXIES=127.0.0.1",
		"DEPLOYMENT_FILE="+f.deployment(),
		"RPC_URLS_369="+f.node.URL,
		"USAGE_DB="+filepath.Join(f.dir, fmt.Sprint(len(f.running), ".db")),
	)
	env = append(env, r.goMaxProcs()...)
	if r.server == withRedis {
		redis, err := child.StartRedis(f.ctx, "")
		if err != nil {
			return nil, err
		}
		f.running = append(f.running, redis)
		env = append(env, "REDIS_URL=redis://"+redis.Addr)
	}
	return child.Gateway{Binary: f.gateway, Env: env}.Start(f.ctx)
}

// newBare answers every request with the bytes that it reads at first, and does nothing else: no server in Go on
// net/http can cost less.
func newBare(answer io.Reader) (http.Handler, error) {
	body, err := io.ReadAll(answer)
	length := strconv.Itoa(len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body) // an error here means that the client has left
	}), err
}
