// Package child builds the gateway and runs it, a Redis or another server as a child process, the way an operator
// does: what is tried and measured is the program that users run. On Linux it also reads from /proc what a child costs.
//
// A server that has been started answers requests. Its end is the caller's business: Stop, Kill, or Signal and Wait.
package child

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Root is the folder of the module that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.mod in the working directory or above it")
		}
		dir = parent
	}
}

// Build compiles the gateway into dir. It needs Go, and a working directory within the module.
func Build(ctx context.Context, dir string, flags ...string) (binary string, err error) {
	args := append([]string{"build", "-o", dir + string(filepath.Separator)}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/quotegate/quotegate/cmd/gateway")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its temporary files
	cmd.WaitDelay = stopTimeout
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the gateway: %w\n%s", err, output)
	}
	return filepath.Join(dir, "gateway"), nil
}

// Server is a child process that serves.
type Server struct {
	Addr  string // where it serves
	Admin string // where a gateway serves its operator

	cmd  *exec.Cmd
	log  *Log          // nil if it has none
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; to be read after done
}

// Gateway says how to run a built gateway.
type Gateway struct {
	Binary string
	Listen string   // where it serves; any free address of the loopback if this one is empty or taken
	Env    []string // all its settings but the two addresses, as "NAME=value"
	Log    *Log     // nil for the null device
}

// Start runs the gateway and waits until it serves. An error quotes the end of its log.
func (g Gateway) Start(ctx context.Context) (*Server, error) {
	return start(ctx, g.Listen, answers("/v3/swap/healthcheck"), g.Log, func(addr, admin string) *exec.Cmd {
		cmd := exec.Command(g.Binary)
		cmd.Env = append(g.Env[:len(g.Env):len(g.Env)], "LISTEN_ADDR="+addr, "ADMIN_ADDR="+admin)
		if g.Log != nil {
			cmd.Stderr = g.Log
		}
		return cmd
	})
}

// Start runs what command makes for a free address, and waits until it answers GET path with 200.
func Start(ctx context.Context, path string, command func(addr string) *exec.Cmd) (*Server, error) {
	return start(ctx, "", answers(path), nil, func(addr, _ string) *exec.Cmd { return command(addr) })
}

// ErrNoRedis is what StartRedis returns on a machine without Redis.
var ErrNoRedis = errors.New("there is no redis-server on this machine; install the package redis-server")

// StartRedis runs a Redis that keeps nothing, at the wanted address or any free one.
func StartRedis(ctx context.Context, wanted string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, ErrNoRedis
	}
	return start(ctx, wanted, accepts, nil, func(addr, _ string) *exec.Cmd {
		_, port, _ := net.SplitHostPort(addr) // of a listener
		return exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	})
}

// ready tells whether the server at addr serves.
type ready func(ctx context.Context, addr string) bool

// answers waits for 200 to GET path.
func answers(path string) ready {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(ctx context.Context, addr string) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			return false
		}
		res, err := client.Do(req)
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
}

func accepts(_ context.Context, addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func start(
	ctx context.Context, wanted string, serves ready, log *Log, command func(addr, admin string) *exec.Cmd,
) (*Server, error) {
	for try := 1; ; try++ {
		addr, err := FreeAddress(wanted)
		if err != nil {
			return nil, err
		}
		admin, err := FreeAddress("")
		if err != nil {
			return nil, err
		}
		s := &Server{Addr: addr, Admin: admin, cmd: command(addr, admin), log: log, done: make(chan struct{})}
		if err := s.cmd.Start(); err != nil {
			return nil, err
		}
		starting, ended := context.WithCancelCause(ctx)
		go func() {
			s.err = s.cmd.Wait()
			close(s.done)
			ended(fmt.Errorf("it ended: %v", s.cmd.ProcessState))
		}()
		if err = s.await(starting, serves); err == nil {
			return s, nil
		}
		s.Kill()
		// Another process may have taken an address before the child did.
		if try == 5 || free(addr) && free(admin) {
			return nil, s.quoteLog(err)
		}
	}
}

// startTimeout is longer than any server takes to start.
const startTimeout = time.Minute

func (s *Server) await(ctx context.Context, serves ready) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !serves(ctx, s.Addr) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve: %w", s.cmd.Path, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// FreeAddress gives an address that is free now: the wanted one, or any of the loopback if that is empty or taken.
func FreeAddress(wanted string) (string, error) {
	if wanted != "" {
		if listener, err := net.Listen("tcp", wanted); err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func free(addr string) bool {
	got, err := FreeAddress(addr)
	return err == nil && got == addr
}

// URL is where it serves, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.Addr }

// Signal sends a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Done is closed when the process has ended, whoever ended it.
func (s *Server) Done() <-chan struct{} { return s.done }

// Wait waits until the process has ended, and says how; nil is exit code 0.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// Kill ends the process at once. It does nothing if the process has ended.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // an error means that it has ended
	<-s.done
}

// stopTimeout is longer than a gateway takes to drain.
const stopTimeout = 30 * time.Second

// Stop asks the process to end, waits until it has, and kills it if it does not. It gives an error, with the end of the
// log, unless the process ended with exit code 0. It may be called again.
func (s *Server) Stop() error {
	if err := s.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.Kill() // a system without such signals
	}
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		s.Kill()
	}
	if s.err != nil {
		return s.quoteLog(fmt.Errorf("%s ended: %w", s.cmd.Path, s.err))
	}
	return nil
}

func (s *Server) quoteLog(err error) error {
	if s.log == nil {
		return err
	}
	return fmt.Errorf("%w; its log ends with:\n%s", err, s.log.Tail())
}
