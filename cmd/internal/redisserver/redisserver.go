// Package redisserver runs a real redis-server that keeps nothing, and can be killed,
// frozen and brought back.
package redisserver

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

const program = "redis-server"

// Installed reports whether there is one on this machine.
func Installed() bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Server is a running redis-server, or one that was killed.
type Server struct {
	Addr string

	dir  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// Start runs one at a free address, and waits until it accepts connections.
func Start(ctx context.Context) (*Server, error) {
	dir, err := os.MkdirTemp("", "redis-server-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	for range 5 { // another process may take the port first
		s.Addr, err = child.FreeAddress("")
		if err != nil {
			break
		}
		err = s.Restart(ctx)
		if err == nil {
			return s, nil
		}
	}
	os.RemoveAll(dir)
	return nil, err
}

// Restart runs it at the same address, after it was killed.
func (s *Server) Restart(ctx context.Context) error {
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1",
		"--dir", s.dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, which is an error
		close(done)
	}()
	s.cmd = cmd
	s.done = done
	for {
		if conn, err := net.Dial("tcp", s.Addr); err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-done:
			return errors.New(program + " does not start")
		case <-ctx.Done():
			s.Kill()
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill ends it at once.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may be dead already
	<-s.done
}

// Freeze has it answer nobody until Thaw.
func (s *Server) Freeze() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

func (s *Server) Thaw() error { return s.cmd.Process.Signal(syscall.SIGCONT) }

// Close ends it for good.
func (s *Server) Close() {
	s.Kill()
	os.RemoveAll(s.dir)
}
