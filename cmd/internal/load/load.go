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
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Request is what a client asks through a trusted proxy.
type Request struct {
	Method string // GET if empty
	Target string // path and query
	Client int    // see ClientAddress

	// Judge is told the answer, or why there is none. An error from it ends the caller.
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

// Conn is one HTTP/1.1 connection that is kept open. Unlike net/http's client it never retries by itself, so that a
// missing answer is noticed.
type Conn struct {
	net.Conn
	r *bufio.Reader
}

// Dial connects.
func Dial(addr string) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	return &Conn{conn, bufio.NewReaderSize(conn, 8<<10)}, nil
}

// answerTimeout is longer than any request takes.
const answerTimeout = 40 * time.Second

// Ask sends a request and reads the answer. After an error the connection is of no further use.
func (c *Conn) Ask(request Request) (Answer, error) {
	start := time.Now()
	_ = c.SetDeadline(start.Add(answerTimeout)) // an error shows when writing
	_, err := c.Write(request.Bytes(c.RemoteAddr().String()))
	if err == nil {
		_, err = c.r.Peek(1)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Answer{}, fmt.Errorf("no answer within %s", answerTimeout)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("the answer is broken: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("the answer is broken after %d %v: %w", res.StatusCode, res.Header, err)
	}
	return Answer{res.StatusCode, res.Header, body, time.Since(start)}, nil
}

// Once asks on a connection of its own.
func Once(addr string, request Request) (Answer, error) {
	conn, err := Dial(addr)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	return conn.Ask(request)
}

// Run asks what next gives for 0, 1, and so on, until ctx ends or there were so many requests, if that is not 0. Each
// caller has one connection with one request under way, and asks once however short the time is. It gives the latency
// of every answer; the error is what ended a caller.
func Run(
	ctx context.Context, addr string, callers, requests int, next func(n int) Request,
) ([]time.Duration, error) {
	latencies := make([][]time.Duration, callers)
	var asked atomic.Int64
	var running errgroup.Group
	for i := range callers {
		running.Go(func() (err error) {
			var conn *Conn // nil while there is none
			for first := true; err == nil && (first || ctx.Err() == nil); first = false {
				n := int(asked.Add(1) - 1)
				if requests > 0 && n >= requests {
					break
				}
				conn, err = next(n).make(addr, conn, &latencies[i])
			}
			if conn != nil {
				conn.Close()
			}
			return err
		})
	}
	err := running.Wait()
	return slices.Concat(latencies...), err
}

// make asks over a connection, or a new one if that is nil, and gives it back for the next request.
func (r Request) make(addr string, conn *Conn, latencies *[]time.Duration) (*Conn, error) {
	if conn == nil {
		var err error
		if conn, err = Dial(addr); err != nil {
			return nil, r.Judge(Answer{}, err)
		}
	}
	if r.Leave > 0 {
		_, _ = conn.Write(r.Bytes(addr)) // nobody will read the answer
		time.Sleep(r.Leave)
		return nil, conn.Close()
	}
	answer, err := conn.Ask(r)
	if err := r.Judge(answer, err); err != nil {
		return conn, err
	}
	*latencies = append(*latencies, answer.Took)
	if r.Last {
		return nil, conn.Close()
	}
	return conn, nil
}
