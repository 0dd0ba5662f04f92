// Package child builds the gateway and runs it, or another server, as a child process, the way an operator does: what
// is tested and measured is the program that users run. On Linux it also reads from /proc what the process costs.
//
// A server that was started accepts connections. The caller ends it: Stop, Kill, or Signal and Wait.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

// Build compiles the gateway into dir, without data for debuggers. It needs Go, and a working directory within the
// module.
func Build(ctx context.Context, dir string, flags ...string) (binary string, err error) {
	args := append([]string{"build", "-ldflags=-w", "-o", dir + string(filepath.Separator)}, flags...)
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
	Admin string // the admin listener of a gateway

	cmd  *exec.Cmd
	log  *Log          // nil if it has none
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; to be read after done
}

// Gateway says how to run a built gateway.
type Gateway struct {
	Binary string
	Listen string   // where it serves; any free loopback address if this one is empty or taken
	Env    []string // all its settings but the two addresses, as "NAME=value"
	Log    *Log     // nil for the null device
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

// startTimeout is longer than any server takes to start.
const startTimeout = time.Minute

// Start runs what command makes for an address, the wanted one or any free one, and waits until it serves there.
func Start(ctx context.Context, wanted string, log *Log, command func(addr string) *exec.Cmd) (*Server, error) {
	addr, err := FreeAddress(wanted)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, cmd: command(addr), log: log, done: make(chan struct{})}
	if log != nil {
		s.cmd.Stderr = log
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
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

// stopTimeout is longer than a gateway takes to drain.
const stopTimeout = 30 * time.Second

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

func (s *Server) quoteLog(err error) error {
	if s.log == nil {
		return err
	}
	return fmt.Errorf("%w; its log ends with:\n%s", err, s.log.Tail())
}

// CPU is the time the process has had on all processors, in user and kernel mode, to a hundredth of a second.
func (s *Server) CPU() (time.Duration, error) {
	proc, err := procfs.NewProc(s.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	return time.Duration(stat.CPUTime() * float64(time.Second)), err
}

// PeakMemory is the most that the process ever held in RAM, in bytes.
func (s *Server) PeakMemory() (uint64, error) {
	proc, err := procfs.NewProc(s.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	status, err := proc.NewStatus()
	return status.VmHWM, err
}

// Log takes the log of a process: it passes each line to See, if that is set, and keeps the end.
type Log struct {
	See func(line []byte)

	mu      sync.Mutex
	partial []byte // a line whose end has not been written
	tail    []byte
}

// tailSize is about 20 lines.
const tailSize = 6 << 10

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	l.tail = bytes.Clone(l.tail[max(0, len(l.tail)-tailSize):])
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if l.See != nil {
			l.See(line)
		}
		l.partial = append(l.partial[:0], rest...)
	}
}

// Tail is the end of the log.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.tail)
}
