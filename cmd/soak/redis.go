package main

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

// redis is a real redis-server that can be killed, frozen and brought back.
type redis struct {
	addr string
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
}

// startRedis starts one, or gives nil where there is none to be had.
func startRedis(ctx context.Context) (*redis, error) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "soak-redis-")
	if err != nil {
		return nil, err
	}
	r := &redis{dir: dir}
	for range 5 { // another process may take the port first
		if r.addr, err = child.FreeAddress(""); err != nil {
			break
		}
		if err = r.start(ctx); err == nil {
			return r, nil
		}
	}
	os.RemoveAll(dir)
	return nil, err
}

func (r *redis) start(ctx context.Context) error {
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		return err
	}
	r.cmd = exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1",
		"--dir", r.dir, "--save", "", "--appendonly", "no")
	if err := r.cmd.Start(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // it is killed, which is an error
		close(done)
	}(r.cmd, r.done)
	for {
		if conn, err := net.Dial("tcp", r.addr); err == nil {
			conn.Close()
			return nil
		}
		select {
		case <-r.done:
			return errors.New("redis-server does not start")
		case <-ctx.Done():
			r.kill()
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (r *redis) kill() {
	_ = r.cmd.Process.Kill() // it may be dead already
	<-r.done
}

func (r *redis) freeze() error { return r.cmd.Process.Signal(syscall.SIGSTOP) }
func (r *redis) thaw() error   { return r.cmd.Process.Signal(syscall.SIGCONT) }

func (r *redis) close() {
	r.kill()
	os.RemoveAll(r.dir)
}
