// Package child builds the gateway and runs it, or another server, as a child process, the way an operator does: what
// is tested and measured is the program that users run. On Linux it also reads from /proc what the process costs.
//
// A server that was started accepts connections. The caller ends it: Stop, Kill, or Signal and Wait. A Conn asks it as
// a client behind a trusted proxy does. That costs little, so that the server gets most of the processors.
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
)

const (
	startTimeout  = time.Minute      // longer than any server takes to start
	stopTimeout   = 30 * time.Second // longer than a gateway takes to drain
	answerTimeout = 40 * time.Second // longer than any request takes
	tailSize      = 6 << 10          // about 20 lines of a log
)

const source = "github.com/quotegate/quotegate/cmd/gateway"

var errOutside = errors.New("the gateway is built from its source, which is not here; " +
	"change to a checkout of github.com/quotegate/quotegate and start this there")

// Build compiles the gateway into dir, without data for debuggers. It needs Go, and a working directory within the
// module.
func Build(ctx context.Context, dir string, flags ...string) (binary string, err error) {
	args := append([]string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, source)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its temporary files
	cmd.WaitDelay = stopTimeout
	output, err := cmd.CombinedOutput()
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed && ctx.Err() == nil && exec.CommandContext(ctx, "go", "list", source).Run() != nil:
		return "", errOutside
	case err != nil:
		return "", fmt.Errorf("building the gateway: %w\n%s", err, output)
	}
	return filepath.Join(dir, "gateway"), nil
}

// Server is a child process that serves.
type Server struct {
	Addr  string // where it serves
	Admin string // the admin listener of a gateway

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended; what is below is to be read then
	err  error         // how it ended
	tail []byte        // of its log
}

// Gateway says how to run a built gateway.
type Gateway struct {
	Binary string
	Listen string    // where it serves; any free loopback address if this one is empty or taken
	Env    []string  // all its settings but the two addresses, as "NAME=value"
	Log    io.Writer // gets its log line by line; nil for the null device
}

// Start runs the gateway and waits until it serves. An error quotes the end of its log.
func (g Gateway) Start(ctx context.Context) (*Server, error) {
	admin, err := FreeAddress("")
	if err != nil {
		return nil, err
	}
	s, err := Start(ctx, g.Listen, g.Log, func(addr string) *exec.Cmd {
		cmd := exec.Command(g.Binary)
		cmd.Env = append(g.Env[:len(g.Env):len(g.Env)], "LISTEN_ADDR="+addr, "ADMIN_ADDR="+admin)
		return cmd
	})
	if err == nil {
		s.Admin = admin
	}
	return s, err
}

// StartRedis runs a Redis without persistence, at the wanted address or any free one. On a machine without Redis the
// error is exec.ErrNotFound.
func StartRedis(ctx context.Context, wanted string) (*Server, error) {
	return Start(ctx, wanted, nil, func(addr string) *exec.Cmd {
		_, port, _ := net.SplitHostPort(addr) // of a listener
		return exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	})
}

// Start runs what command makes for an address, the wanted one or any free one, and waits until it serves there.
func Start(ctx context.Context, wanted string, log io.Writer, command func(addr string) *exec.Cmd) (*Server, error) {
	addr, err := FreeAddress(wanted)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, cmd: command(addr), done: make(chan struct{})}
	s.cmd.SysProcAttr = apart()
	var stderr io.Reader
	if log != nil {
		if stderr, err = s.cmd.StderrPipe(); err != nil {
			return nil, err
		}
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		if log != nil {
			s.follow(stderr, log)
		}
		s.err = s.cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		select {
		case <-s.done:
			return nil, s.quoteLog(fmt.Errorf("%s ended: %v", s.cmd.Path, s.cmd.ProcessState))
		case <-ctx.Done():
			s.Kill()
			return nil, s.quoteLog(fmt.Errorf("%s does not serve: %w", s.cmd.Path, ctx.Err()))
		case <-time.After(10 * time.Millisecond):
		}
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return s, nil
		}
	}
}

// FreeAddress gives an address that is free now: the wanted one, or any of the loopback if that is empty or taken. Its
// port is below those that the system gives to connections, so that it stays free until the server takes it.
func FreeAddress(wanted string) (string, error) {
	for range 100 {
		if wanted != "" {
			if listener, err := net.Listen("tcp", wanted); err == nil {
				return listener.Addr().String(), listener.Close()
			}
		}
		wanted = fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(10_000))
	}
	return "", errors.New("no free port was found between 12000 and 22000")
}

// URL is where it serves, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.Addr }

// Signal sends a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Kill ends the process at once. It does nothing if the process has ended.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // an error means that it has ended
	<-s.done
}

// Stop asks the process to end, and waits as Wait does. It may be called again.
func (s *Server) Stop() error {
	_ = s.Signal(os.Interrupt) // an error means that it has ended
	return s.Wait()
}

// Wait waits until the process has ended, and kills it if that takes too long. It gives an error, with the end of the
// log, unless the process ended with exit code 0.
func (s *Server) Wait() error {
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

// follow passes the log on, line by line, and keeps its end.
func (s *Server) follow(stderr io.Reader, log io.Writer) {
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadBytes('\n')
		_, _ = log.Write(line) // the process does not depend on who reads its log
		s.tail = append(s.tail, line...)
		s.tail = s.tail[max(0, len(s.tail)-tailSize):]
		if err != nil {
			return
		}
	}
}

// Tail is the end of its log, once the process has ended.
func (s *Server) Tail() string {
	<-s.done
	return string(s.tail)
}

func (s *Server) quoteLog(err error) error {
	if tail := s.Tail(); tail != "" {
		return fmt.Errorf("%w; its log ends with:\n%s", err, tail)
	}
	return err
}

// Costs are the time that the process has had on all processors, in user and kernel mode, to a hundredth of a second,
// and the most that it ever held in RAM.
func (s *Server) Costs() (cpu time.Duration, peakMiB float64, err error) {
	proc, err := procfs.NewProc(s.cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, 0, err
	}
	status, err := proc.NewStatus()
	return time.Duration(stat.CPUTime() * float64(time.Second)), float64(status.VmHWM) / (1 << 20), err
}

// Answer is what came back for a request, in full.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// ErrUnanswered is the error of a request for which not one byte came back.
var ErrUnanswered = errors.New("the connection ended before the answer began")

// Conn is an HTTP/1.1 connection that is opened when it is needed and kept open. Unlike net/http's client it never
// retries by itself, so that a missing answer is noticed.
type Conn struct {
	Addr string

	conn net.Conn // nil while there is none
	r    *bufio.Reader
}

// Close ends the connection, if there is one. The next request opens another.
func (c *Conn) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// Ask gets a path and query for a client, which is one of 7 million. Each is in a network of its own, since a gateway
// takes those of one network for one client.
func (c *Conn) Ask(target string, client int) (a Answer, err error) {
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	err = c.send(target, client)
	if err == nil {
		_, err = c.r.Peek(1)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return a, fmt.Errorf("no answer within %s", answerTimeout)
	}
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	res, err := http.ReadResponse(c.r, nil)
	if err == nil {
		defer res.Body.Close()
		a = Answer{Status: res.StatusCode, Header: res.Header}
		a.Body, err = io.ReadAll(res.Body)
	}
	if err != nil {
		return a, fmt.Errorf("the answer is broken after %d %v: %w", a.Status, a.Header, err)
	}
	return a, nil
}

// Leave asks as Ask does, and closes the connection after some time. Nobody reads the answer, if there is one.
func (c *Conn) Leave(target string, client int, after time.Duration) {
	defer c.Close()
	if c.send(target, client) == nil {
		time.Sleep(after)
	}
}

func (c *Conn) send(target string, client int) (err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("tcp", c.Addr, 10*time.Second); err != nil {
			return err
		}
		c.r = bufio.NewReaderSize(c.conn, 8<<10)
	}
	_ = c.conn.SetDeadline(time.Now().Add(answerTimeout)) // an error shows when writing
	_, err = fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: quotegate-load\r\n"+
		"Accept: application/json\r\nX-Forwarded-For: %d.%d.%d.1\r\n\r\n",
		target, c.Addr, 10+client>>16, byte(client>>8), byte(client))
	return err
}

// Load calls ask with 0, 1 and so on until ctx ends, or so many times if that is not 0. Each caller has one connection
// with one request under way, and asks once however short the time is. It gives how many calls went well; the error is
// what ended a caller.
func Load(ctx context.Context, addr string, callers, requests int, ask func(*Conn, int) error) (int, error) {
	var asked, answers atomic.Int64
	var running errgroup.Group
	for range callers {
		running.Go(func() error {
			conn := Conn{Addr: addr}
			defer conn.Close()
			for first := true; first || ctx.Err() == nil; first = false {
				n := int(asked.Add(1) - 1)
				if requests > 0 && n >= requests {
					break
				}
				if err := ask(&conn, n); err != nil {
					return err
				}
				answers.Add(1)
			}
			return nil
		})
	}
	err := running.Wait()
	return int(answers.Load()), err
}
