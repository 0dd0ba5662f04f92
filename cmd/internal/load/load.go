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
	"slices"
	"sync"
	"sync/atomic"
	"time"
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
	if err := c.SetDeadline(start.Add(answerTimeout)); err != nil {
		return Answer{}, err
	}
	if _, err := c.Write(request.Bytes(c.RemoteAddr().String())); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	if _, err := c.r.Peek(1); err != nil {
		if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
			return Answer{}, fmt.Errorf("no answer within %s", answerTimeout)
		}
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

// Load says how a server is loaded.
type Load struct {
	Addr     string
	Callers  int                 // each with one connection and one request under way
	Requests int                 // of all together; 0 for no end but that of the context
	Next     func(n int) Request // request number n, from 0
}

// Result is what a load came to.
type Result struct {
	Latencies []time.Duration
	Elapsed   time.Duration
}

// Run loads the server until the context or the requests end. Each caller asks once however short the time is. The
// error is what ended callers before.
func (l Load) Run(ctx context.Context) (Result, error) {
	latencies := make([][]time.Duration, l.Callers)
	failures := make([]error, l.Callers)
	var next atomic.Int64
	var callers sync.WaitGroup
	start := time.Now()
	for i := range l.Callers {
		callers.Go(func() { latencies[i], failures[i] = l.call(ctx, &next) })
	}
	callers.Wait()
	return Result{slices.Concat(latencies...), time.Since(start)}, errors.Join(failures...)
}

func (l Load) call(ctx context.Context, next *atomic.Int64) (latencies []time.Duration, err error) {
	var conn *Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for first := true; first || ctx.Err() == nil; first = false {
		n := int(next.Add(1) - 1)
		if l.Requests > 0 && n >= l.Requests {
			break
		}
		request := l.Next(n)
		if conn == nil {
			if conn, err = Dial(l.Addr); err != nil {
				return latencies, request.Judge(Answer{}, err)
			}
		}
		if request.Leave > 0 {
			_, _ = conn.Write(request.Bytes(l.Addr)) // nobody will read the answer
			time.Sleep(request.Leave)
		} else {
			answer, err := conn.Ask(request)
			if err := request.Judge(answer, err); err != nil {
				return latencies, err
			}
			latencies = append(latencies, answer.Took)
		}
		if request.Last || request.Leave > 0 {
			conn.Close()
			conn = nil
		}
	}
	return latencies, nil
}
