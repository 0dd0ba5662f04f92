// Command bench measures the gateway as it is served, with all that production has, beside two other servers: a bare
// net/http handler that returns the same bytes, and one plain route of chi, httprate, log/slog, go-ethereum's abi and
// encoding/json that gives the same quotes. Every answer is checked, and the figures are printed as Markdown.
//
// What counts is the CPU time of the server's process, and the ratios within one run. Other work on the machine adds
// little to the former, but changes throughput much.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
	"github.com/quotegate/quotegate/cmd/internal/cli"
	"github.com/quotegate/quotegate/shared/chain"
	testnode "github.com/quotegate/quotegate/shared/testkit/node"
)

type options struct {
	rounds   int
	duration time.Duration // of the load of one row in one round
	warmup   int           // requests to each row before the first round
	gateway  string        // its binary; built if empty
}

func main() {
	serveIfAsked(os.Args)
	o := options{duration: 2 * time.Second, warmup: many}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "how often every load is repeated; the median counts")
	flags.StringVar(&o.gateway, "gateway", "", "a built gateway to use instead of the one in this tree")
	err := cli.Parse(flags, os.Args[1:], "Compares the gateway with a bare handler and one plain route.", os.Stdout)
	if err == nil && o.rounds < 1 {
		err = errors.New("-rounds must be positive")
	}
	os.Exit(cli.Run("bench", err, func(ctx context.Context) error {
		describeMachine(os.Stdout)
		r, err := compare(ctx, o)
		if err == nil {
			r.print(os.Stdout)
		}
		return err
	}, os.Stderr))
}

// serveIfAsked makes this program one of the servers that it starts, which never returns, if its arguments are the name
// of one and an address.
func serveIfAsked(args []string) {
	if len(args) != 3 {
		return
	}
	server := http.Server{Addr: args[2]}
	switch args[1] {
	case bare:
		server.Handler = newBare(os.Stdin)
	case plain:
		server.ReadTimeout = 5 * time.Second // what a server on the Internet has, and the gateway too
		server.WriteTimeout = 20 * time.Second
		server.IdleTimeout = 75 * time.Second
		server.Handler = newPlain(os.Stderr)
	default:
		return
	}
	panic(server.ListenAndServe())
}

// progress tells the person who waits, apart from the results.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

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
	dir       string // of the gateway, its deployment and the databases
	node      *httptest.Server
	exchanges map[string][]exchange // by mix; see learn
	running   []*child.Server
}

// compare measures all rows.
func compare(ctx context.Context, o options) (r report, err error) {
	f := &fleet{options: o, exchanges: map[string][]exchange{}}
	f.node = httptest.NewServer(testnode.Answers(answerNode))
	defer f.node.Close()
	if f.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(f.dir)
	defer func() {
		for _, s := range f.running {
			s.Kill()
		}
	}()
	err = os.WriteFile(filepath.Join(f.dir, "deployment.json"), chain.ReferenceAs("bench"), 0o600)
	if err != nil {
		return nil, err
	}
	if f.gateway == "" {
		progress("building the gateway")
		if f.gateway, err = child.Build(ctx, f.dir); err != nil {
			return nil, err
		}
	}
	if err := f.learn(ctx); err != nil {
		return nil, err
	}
	return f.measure(ctx, allRows())
}

// answerNode answers as a node of the hub on which every partner is registered.
func answerNode(c testnode.Call) any {
	if wallet, ok := c.Integrator(); ok {
		return testnode.Registered(wallet, partnerBPS)
	}
	return "0x171" // eth_chainId
}

// start starts the server of a row. A gateway has everything that production has, and is behind a proxy that it trusts.
// Its access log goes to the null device, its evidence into a file.
func (f *fleet) start(ctx context.Context, r *row) (s *child.Server, err error) {
	env := append(os.Environ(),
		"RATE_LIMIT="+strconv.Itoa(limit),
		"TRUSTED_PROXIES=127.0.0.1",
		"DEPLOYMENT_FILE="+filepath.Join(f.dir, "deployment.json"),
		"RPC_URLS_369="+f.node.URL,
		"USAGE_DB="+filepath.Join(f.dir, fmt.Sprint(len(f.running), ".db")),
	)
	if r.procs > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", r.procs))
	}
	if r.server == withRedis {
		redis, err := child.StartRedis(ctx, "")
		if err != nil {
			return nil, err
		}
		f.running = append(f.running, redis)
		env = append(env, "REDIS_URL=redis://"+redis.Addr)
	}
	if r.server == bare || r.server == plain {
		s, err = child.Start(ctx, "", nil, func(addr string) *exec.Cmd {
			cmd := exec.Command("/proc/self/exe", r.server, addr)
			cmd.Env = env
			cmd.Stdin = bytes.NewReader(r.exchanges[0].body)
			return cmd
		})
	} else {
		s, err = child.Gateway{Binary: f.gateway, Env: env}.Start(ctx)
	}
	if err == nil {
		f.running = append(f.running, s)
	}
	return s, err
}

// newBare answers every request with the bytes that it reads at first, and does nothing else: no server in Go on
// net/http can cost less.
func newBare(answer io.Reader) http.Handler {
	body, err := io.ReadAll(answer)
	if err != nil {
		panic(err)
	}
	length := strconv.Itoa(len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body) // an error here means that the client has left
	})
}
