package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// SIGTERM under a hundred saturated connections loses no answer: each client sends the next request as soon as it has
// the whole last answer, until one says that it is the last. The log has each answer that was read, and no other.
func TestNoAnswerIsLostWhenItStops(t *testing.T) {
	t.Parallel()
	const clients = 100
	i := unreadProcess(t)
	logged := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(i.log) // until the process ends
		logged <- text
	}()
	var answers atomic.Int64
	failures := make(chan error, clients)
	var connected, done sync.WaitGroup
	connected.Add(clients)
	for range clients {
		conn := from(t, "127.0.0.1", strings.TrimPrefix(i.base, "http://"))
		done.Go(func() {
			failures <- exhaust(conn, &answers, connected.Done)
		})
	}
	connected.Wait()
	saturated := answers.Load() + 10*clients
	eventually(t, "a thousand more answers", func() bool { return answers.Load() >= saturated })
	i.signal(t, syscall.SIGTERM)
	done.Wait()
	if err := i.cmd.Wait(); err != nil {
		t.Errorf("got %v after SIGTERM, want exit code 0", err)
	}
	lost := 0
	for range clients {
		if err := <-failures; err != nil {
			lost++
			t.Logf("a client: %v", err)
		}
	}
	lines := int64(bytes.Count(<-logged, []byte(`"msg":"request"`)))
	if lost > 0 || lines != answers.Load() {
		t.Errorf("%d of %d clients lost an answer; %d were read in all, and the log has %d", lost, clients, answers.Load(), lines)
	}
}

// exhaust requests quotes on a connection until an answer ends it. It is an error if that comes
// without an answer to the last request, or before its end.
func exhaust(conn net.Conn, answers *atomic.Int64, connected func()) error {
	r := bufio.NewReader(conn)
	once := sync.OnceFunc(connected)
	defer once()
	for {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", quotePath); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("before the answer: %w", err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !bytes.HasSuffix(bytes.TrimSpace(body), []byte("}")) {
			return fmt.Errorf("got %s %q, %w", res.Status, body, errors.Join(err))
		}
		answers.Add(1)
		once()
		if res.Close {
			return nil
		}
	}
}
