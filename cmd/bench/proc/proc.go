// Package proc runs servers as processes of their own on the loopback, and
// reads from the kernel what they cost: CPU time, memory, open files. It needs
// Linux, whose /proc it reads.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

// Build compiles a command of the module at root into dir.
func Build(ctx context.Context, root, pkg, dir string, flags ...string) (binary string, err error) {
	binary = filepath.Join(dir, filepath.Base(pkg))
	args := append([]string{"build", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// Server is a running process that answers HTTP.
type Server struct {
	Addr  string // where it serves
	Admin string // where a gateway serves its operator

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended, once done is closed
}

// Start runs what command makes for a free address, and a second one for its
// operator, and waits until it answers GET ready with 200. Its end is the
// caller's business: Kill, or Signal and Wait.
func Start(ctx context.Context, ready string, command func(addr, admin string) *exec.Cmd) (*Server, error) {
	var s *Server
	for range 5 { // another process may take the address first
		addr, admin, err := freeAddresses()
		if err != nil {
			return nil, err
		}
		s = &Server{Addr: addr, Admin: admin, cmd: command(addr, admin), done: make(chan struct{})}
		if err := s.cmd.Start(); err != nil {
			return nil, err
		}
		go func() {
			s.err = s.cmd.Wait()
			close(s.done)
		}()
		if err := s.awaitReady(ctx, ready); err == nil {
			return s, nil
		}
		s.Kill()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("%s does not serve: it ended with %v", s.cmd.Path, s.cmd.ProcessState)
}

func (s *Server) awaitReady(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+path, nil)
		if err != nil {
			return err
		}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.done:
			return errors.New("it has ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// freeAddresses gives two addresses of the loopback that are free now.
func freeAddresses() (a, b string, err error) {
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer first.Close()
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer second.Close()
	return first.Addr().String(), second.Addr().String(), nil
}

// FreeAddress gives an address of the loopback that is free now.
func FreeAddress() (string, error) {
	a, _, err := freeAddresses()
	return a, err
}

// Gateway starts a built gateway with these variables and no others of its own.
// Its log goes to logs, or nowhere.
func Gateway(ctx context.Context, binary string, env map[string]string, logs *Log) (*Server, error) {
	s, err := Start(ctx, "/v3/swap/healthcheck", func(addr, admin string) *exec.Cmd {
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), "LISTEN_ADDR="+addr, "ADMIN_ADDR="+admin)
		for name, value := range env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if logs != nil {
			cmd.Stderr = logs
		}
		return cmd
	})
	if err != nil && logs != nil {
		return nil, fmt.Errorf("%w; its last words:\n%s", err, logs.Tail())
	}
	return s, err
}

// PID is the number the kernel knows it by.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Signal sends a signal.
func (s *Server) Signal(sig os.Signal) error { return s.cmd.Process.Signal(sig) }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Wait waits until the process has ended, and says how; nil is exit code 0.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

// Kill ends the process without ceremony.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.done
}

// Log takes the log of a process: it shows each line to See, if that is set,
// and keeps the last of them.
type Log struct {
	See func(line []byte)

	mu      sync.Mutex
	partial []byte
	tail    [][]byte
}

const tailLines = 15

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if l.See != nil {
			l.See(line)
		}
		if len(l.tail) == tailLines {
			l.tail = append(l.tail[:0], l.tail[1:]...)
		}
		l.tail = append(l.tail, bytes.Clone(line))
		l.partial = append(l.partial[:0], rest...)
	}
}

// Tail is the last lines.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Join(append(l.tail[:len(l.tail):len(l.tail)], l.partial), []byte("\n")))
}
