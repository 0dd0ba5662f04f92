// Package child builds the gateway and runs it as a process of its own, the way an operator does: what is tried out
// against it is tried out against the real thing, and nothing of the chains is linked into it.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// patience is longer than anything takes to end, the gateway's draining included.
const patience = 30 * time.Second

const gatewayPackage = "github.com/quotegate/quotegate/cmd/gateway"

// Build compiles the gateway into dir and gives the path of its binary. It needs Go, and a working directory within the
// module.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "gateway")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, gatewayPackage)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets it clean up
	cmd.WaitDelay = patience
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the gateway: %w\n%s", err, output)
	}
	return path, nil
}

// A Gateway is a running process.
type Gateway struct {
	URL string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how; to be read after done
	last []string      // of its log; to be read after done
}

// Start runs the binary with exactly this environment and waits until it serves. Its log goes to logs.
func Start(ctx context.Context, path string, env []string, logs io.Writer) (*Gateway, error) {
	cmd := exec.Command(path)
	cmd.Env = env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g := &Gateway{cmd: cmd, done: make(chan struct{})}
	serving := make(chan string, 1)
	go g.follow(stderr, logs, serving)
	select {
	case addr := <-serving:
		g.URL = "http://" + addr
		return g, nil
	case <-g.done:
		return nil, g.ended()
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), g.Stop())
	}
}

// keep is how many lines of the log are remembered.
const keep = 20

// follow reads the log to its end, for a process blocks on a log that nobody reads, and then waits for the process.
func (g *Gateway) follow(stderr io.Reader, logs io.Writer, serving chan<- string) {
	lines := bufio.NewReader(stderr)
	for announced := false; ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			_, _ = io.WriteString(logs, line)
			g.last = append(g.last, line)
			g.last = g.last[max(0, len(g.last)-keep):]
		}
		if addr, ok := servingAt(line); ok && !announced {
			announced = true
			serving <- addr
		}
		if err != nil {
			break
		}
	}
	g.err = g.cmd.Wait()
	close(g.done)
}

// servingAt reads the line by which the gateway says that it listens.
func servingAt(line string) (addr string, ok bool) {
	var entry struct{ Msg, Addr string }
	err := json.Unmarshal([]byte(line), &entry)
	return entry.Addr, err == nil && entry.Msg == "serving" && entry.Addr != ""
}

// Done is closed when the process has ended, whoever ended it.
func (g *Gateway) Done() <-chan struct{} { return g.done }

// Err says how the process ended; nil for a clean end. It may be asked once Done is closed.
func (g *Gateway) Err() error {
	if g.err == nil {
		return nil
	}
	return g.ended()
}

func (g *Gateway) ended() error {
	return fmt.Errorf("the gateway ended (%v); the last it said:\n%s", g.cmd.ProcessState, strings.Join(g.last, ""))
}

// Stop asks the process to end, waits until it has, and kills it if it does not.
func (g *Gateway) Stop() error {
	if err := g.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = g.cmd.Process.Kill() // a system without such signals
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-g.done:
		return g.Err()
	case <-timer.C:
		_ = g.cmd.Process.Kill()
		<-g.done
		return fmt.Errorf("the gateway did not end within %s and was killed", patience)
	}
}
