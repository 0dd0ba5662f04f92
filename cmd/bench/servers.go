package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/load"
	"github.com/quotegate/quotegate/cmd/internal/redisserver"
)

// server is one of those that are compared.
type server struct {
	name  string
	mixes map[string][]load.Case // those it can answer
	*child.Server
}

const (
	theGateway = "gateway"
	theShared  = "gateway with Redis"
	theBare    = "bare net/http"
	theFastify = "Fastify + viem"
	theTuned   = "Fastify + viem, tuned"
)

// startGateway runs a gateway with everything that production has, behind a
// proxy that it trusts. Its access log goes to the null device, its evidence into the
// file db. It counts requests in memory if redis is empty.
func startGateway(ctx context.Context, binary string, perMinute int, node, redis, db string) (*child.Server, error) {
	return child.Gateway{Binary: binary, Env: append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(perMinute),
		"TRUSTED_PROXIES=127.0.0.1",
		"RPC_URLS_369="+node,
		"REDIS_URL="+redis,
		"USAGE_DB="+db,
	)}.Start(ctx)
}

// startBare runs this program again as the bare handler of one mix. It answers
// all requests like the first.
func startBare(ctx context.Context, cases []load.Case) (*child.Server, []load.Case, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	same := make([]load.Case, len(cases))
	for i, c := range cases {
		same[i] = load.Case{Target: c.Target, Body: cases[0].Body}
	}
	s, err := child.Start(ctx, "/", func(addr string) *exec.Cmd {
		cmd := exec.Command(self, "-bare", addr)
		cmd.Stdin = bytes.NewReader(cases[0].Body)
		return cmd
	})
	return s, same, err
}

// install puts a Node.js program and what it needs into a scratch folder.
func install(ctx context.Context, dir string, files ...string) error {
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

// haveRedis says aloud what is not measured where redis-server is missing.
func haveRedis() bool {
	if !redisserver.Installed() {
		progress("SKIPPED, NOT MEASURED: %s needs redis-server, which is not on this machine", theShared)
		return false
	}
	return true
}

// installFastify installs the Fastify service and gives its folder.
func installFastify(ctx context.Context, root, scratch string) (dir string, err error) {
	source, dir := filepath.Join(root, "testdata/bench/fastify"), filepath.Join(scratch, "fastify")
	progress("installing the Fastify service")
	return dir, install(ctx, dir, filepath.Join(source, "package.json"), filepath.Join(source, ".npmrc"),
		filepath.Join(source, "server.mjs"), filepath.Join(source, "quote.mjs"))
}

// startFastify runs the Fastify service as it is usually written, or tuned.
func startFastify(ctx context.Context, root, dir string, tuned bool) (*child.Server, error) {
	return child.Start(ctx, "/v3/swap/healthcheck", func(addr string) *exec.Cmd {
		cmd := exec.Command("node", "server.mjs",
			filepath.Join(root, "testdata/chains.json"), filepath.Join(root, "shared/chain/reference.json"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "NODE_ENV=production", "PORT="+portOf(addr))
		if tuned {
			cmd.Env = append(cmd.Env, "TUNED=1")
		}
		return cmd
	})
}

// sameMeaning asks a server every case once. Its answers must mean the same,
// and may order the fields of an object otherwise; they are what it is held to
// from then on.
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
		own[i] = load.Case{Target: c.Target, Body: bytes.Clone(answer.Body)}
	}
	return own, nil
}
