// Package load asks a server over connections that stay open, and has every answer judged. It costs little itself, so
// that on one machine the server gets most of the processors.
package load

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Request is what a client asks through a trusted proxy.
type Request struct {
	Method string // GET if empty
	Target string // path and query
	Client int    // see ClientAddress

	// Judge is told the answer, or why there is none. An error from it ends the caller. It may be nil.
	Judge func(Answer, error) error

	Last  bool          // the caller closes the connection after the answer
	Leave time.Duration // if not 0, it closes the connection after this time, and there is no answer
}

// Bytes are what is sent.
func (r Request) Bytes(host string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: quotegate-load\r\nAccept: application/json\r\n"+
		"X-Forwarded-For: %s\r\n\r\n", cmp.Or(r.Method, http.MethodGet), r.Target, host, ClientAddress(r.Client))
}

// ClientAddress is the address of client number n, of 7 million. Each is in a network of its own, since a gateway takes
// those of one network for one client.
func ClientAddress(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10 + byte(n>>16), byte(n >> 8), byte(n), 1})
}

// Answer is what came back for a request, in full.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Took   time.Duration
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

// Ask sends a request. The error is what Judge says of the answer.
func (c *Conn) Ask(r Request) (Answer, error) {
	answer, err := c.exchange(r)
	if err != nil || r.Last || r.Leave > 0 {
		c.Close()
	}
	if r.Judge != nil && (err != nil || r.Leave == 0) {
		err = r.Judge(answer, err)
	}
	return answer, err
}

// answerTimeout is longer than any request takes.
const answerTimeout = 40 * time.Second

func (c *Conn) exchange(r Request) (a Answer, err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("tcp", c.Addr, 10*time.Second); err != nil {
			return a, fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
		c.r = bufio.NewReaderSize(c.conn, 8<<10)
	}
	start := time.Now()
	_ = c.conn.SetDeadline(start.Add(answerTimeout)) // an error shows when writing
	_, err = c.conn.Write(r.Bytes(c.Addr))
	if r.Leave > 0 {
		time.Sleep(r.Leave)
		return a, nil // nobody reads the answer
	}
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
	if err != nil {
		return a, fmt.Errorf("the answer is broken: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return a, fmt.Errorf("the answer is broken after %d %v: %w", res.StatusCode, res.Header, err)
	}
	return Answer{res.StatusCode, res.Header, body, time.Since(start)}, nil
}

// Once asks on a connection of its own.
func Once(addr string, r Request) (Answer, error) {
	conn := Conn{Addr: addr}
	defer conn.Close()
	return conn.Ask(r)
}

// Run asks what next gives for 0, 1, and so on, until ctx ends or there were so many requests, if that is not 0. Each
// caller has one connection with one request under way, and asks once however short the time is. It gives how many
// were answered; the error is what ended a caller.
func Run(
	ctx context.Context, addr string, callers, requests int, next func(n int) Request,
) (answered int, err error) {
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
				r := next(n)
				if _, err := conn.Ask(r); err != nil {
					return err
				}
				if r.Leave == 0 {
					answers.Add(1)
				}
			}
			return nil
		})
	}
	err = running.Wait()
	return int(answers.Load()), err
}
