package limit

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// replyLimit bounds the replies to a request, in bytes. The longest is the list of
// commands that the client of a Cluster reads: a few hundred kilobytes.
const replyLimit = 4 << 20

var errReplyTooLong = errors.New("the reply is too long")

// dialer connects to Redis, Sentinels and the nodes of a Cluster.
func dialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: dialTimeout, TLSConfig: config})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		bounded := &boundedConn{Conn: conn}
		if socket, ok := conn.(syscall.Conn); ok { // go-redis looks there whether it was closed
			return struct {
				*boundedConn
				syscall.Conn
			}{bounded, socket}, nil
		}
		return bounded, nil
	}
}

// boundedConn fails when a reply is longer than replyLimit or announces that it will be.
// go-redis allocates whatever length a reply announces, on goroutines of its own too: that
// panics, or ends the process for want of memory.
type boundedConn struct {
	net.Conn
	left    atomic.Int64 // of replyLimit, for bytes and for announced elements
	payload int          // bytes of a string that are still to come
	line    []byte       // the beginning of the current line, up to longestHeader
}

// longestHeader is more than a type, a length and a line break need.
const longestHeader = 24

// NetConn is where go-redis finds the socket below TLS.
func (c *boundedConn) NetConn() net.Conn { return c.Conn }

func (c *boundedConn) Write(request []byte) (int, error) {
	c.left.Store(replyLimit)
	return c.Conn.Write(request)
}

func (c *boundedConn) Read(reply []byte) (int, error) {
	n, err := c.Conn.Read(reply)
	if c.left.Add(-c.cost(reply[:n])) < 0 {
		_ = c.Close() // some callers would read on
		return 0, errReplyTooLong
	}
	return n, err
}

// cost is how long the next part of a reply is, together with what it announces: each
// announced byte or element has at least one byte.
func (c *boundedConn) cost(part []byte) int64 {
	cost := int64(len(part))
	for len(part) > 0 {
		if c.payload > 0 {
			skipped := min(c.payload, len(part))
			c.payload -= skipped
			part = part[skipped:]
			continue
		}
		line, rest, ended := bytes.Cut(part, []byte("\n"))
		c.line = append(c.line, line[:min(len(line), longestHeader-len(c.line))]...)
		part = rest
		if !ended {
			break
		}
		length := announced(c.line)
		if length >= 0 && strings.IndexByte("$=!", c.line[0]) >= 0 {
			c.payload = length + len("\r\n")
		}
		cost += int64(max(length, 0))
		c.line = c.line[:0]
	}
	return cost
}

// announced is the length in the first line of a string or a list. It is -1 for any
// other line, and never much above replyLimit.
func announced(line []byte) int {
	if len(line) == 0 || strings.IndexByte("$=!*~>%|", line[0]) < 0 {
		return -1
	}
	if len(line) == longestHeader {
		return replyLimit + 1
	}
	length, _ := strconv.Atoi(string(bytes.TrimSuffix(line[1:], []byte("\r"))))
	return min(length, replyLimit+1)
}
