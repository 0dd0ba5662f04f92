package load

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Case is a request and the answer it must get, with status 200.
type Case struct {
	Target string // path and query
	Body   []byte
	// Hole is the part of Body that differs every time, from and to.
	Hole [2]int
}

// Check compares an answer with what it must be.
func (c *Case) Check(a Answer) error {
	got, want := bytes.TrimRight(a.Body, "\n"), bytes.TrimRight(c.Body, "\n")
	if a.Status != 200 || len(got) != len(want) ||
		!bytes.Equal(got[:c.Hole[0]], want[:c.Hole[0]]) || !bytes.Equal(got[c.Hole[1]:], want[c.Hole[1]:]) {
		return fmt.Errorf("GET %s\ngot %d %s\nwant 200 %s", c.Target, a.Status, a.Body, c.Body)
	}
	return nil
}

// Options say how a server is loaded.
type Options struct {
	Conns    int           // connections, each with one request under way
	Duration time.Duration // of the load
	Requests int           // ends it earlier; 0 for no end but Duration
	// Clients is how many client addresses take turns in X-Forwarded-For. After Turn
	// requests, if it is set, as many others take their place.
	Clients, Turn int
	Start         int // the number of the first request, so that a load can go on where another ended
}

func (o *Options) client(n int) netip.Addr {
	first := 0
	if o.Turn > 0 {
		first = n / o.Turn * o.Clients
	}
	return ClientAddress(first + n%o.Clients)
}

// Result is what a load came to.
type Result struct {
	Requests int
	Elapsed  time.Duration
	P50, P99 time.Duration
}

// PerSecond is the throughput.
func (r Result) PerSecond() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

const askTimeout = 30 * time.Second

// Run loads the server at addr with the cases in turn. The first answer that is
// wrong ends it with an error.
func Run(ctx context.Context, addr string, cases []Case, o Options) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	latencies := make([][]time.Duration, o.Conns)
	start := time.Now()
	for i := range o.Conns {
		workers.Go(func() {
			conn, err := Dial(addr)
			if err != nil {
				fail(err)
				return
			}
			defer conn.Close()
			if latencies[i], err = conn.repeat(ctx, addr, cases, o, &next); err != nil {
				fail(err)
			}
		})
	}
	workers.Wait()
	elapsed := time.Since(start)
	if err := context.Cause(ctx); err != nil && err != context.DeadlineExceeded {
		return Result{}, err
	}
	all := slices.Concat(latencies...)
	if len(all) == 0 {
		return Result{}, fmt.Errorf("not one request was made in %s", o.Duration)
	}
	slices.Sort(all)
	return Result{len(all), elapsed, all[len(all)/2], all[len(all)*99/100]}, nil
}

// repeat asks until ctx or the requests end, and once however short the time is: on a
// busy machine a connection may take longer.
func (c *Conn) repeat(
	ctx context.Context, addr string, cases []Case, o Options, next *atomic.Int64,
) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, 1<<14)
	var request []byte
	for ctx.Err() == nil || len(latencies) == 0 && ctx.Err() == context.DeadlineExceeded {
		n := int(next.Add(1) - 1)
		if o.Requests > 0 && n >= o.Requests {
			break
		}
		n += o.Start
		wanted := &cases[n%len(cases)]
		request = AppendRequest(request[:0], addr, wanted.Target, o.client(n))
		start := time.Now()
		answer, err := c.Ask(request, askTimeout)
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", wanted.Target, err)
		}
		latencies = append(latencies, time.Since(start))
		if err := wanted.Check(answer); err != nil {
			return nil, err
		}
	}
	return latencies, nil
}

// AppendRequest writes a GET that a trusted proxy forwards for a client.
func AppendRequest(b []byte, host, target string, client netip.Addr) []byte {
	b = append(b, "GET "...)
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nUser-Agent: quotegate-load\r\nAccept: application/json\r\nX-Forwarded-For: "...)
	b = client.AppendTo(b)
	return append(b, "\r\n\r\n"...)
}

// ClientAddress is the address of client number n, of 7 million. Each is in a network
// of its own, since a gateway takes those of one network for one client.
func ClientAddress(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10 + byte(n>>16), byte(n >> 8), byte(n), 1})
}
