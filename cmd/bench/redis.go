package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/quotegate/quotegate/cmd/internal/child"
)

// haveRedis says aloud what is not measured where redis-server is missing.
func haveRedis() bool {
	if _, err := exec.LookPath("redis-server"); err != nil {
		progress("SKIPPED, NOT MEASURED: %s needs redis-server, which is not on this machine", theShared)
		return false
	}
	return true
}

// startRedis runs a redis-server that keeps nothing, and gives its URL. stop
// ends it.
func startRedis(ctx context.Context) (url string, stop func(), err error) {
	addr, err := child.FreeAddress("")
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "bench-redis-")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command("redis-server", "--port", portOf(addr), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no")
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, which is an error
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Kill() // an error means that it has ended
		<-ended
		os.RemoveAll(dir)
	}
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return "redis://" + addr, stop, nil
		}
		select {
		case <-ctx.Done():
			stop()
			return "", nil, ctx.Err()
		case <-ended:
			stop()
			return "", nil, errors.New("redis-server does not start")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
