// Package load asks a server the same kind of question many times over
// connections that stay open, and checks every answer. It costs little itself,
// so that on one machine the server gets most of the processors.
package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Conn is one HTTP/1.1 connection that is kept open.
type Conn struct {
	conn net.Conn
	r    *bufio.Reader
	head []byte
	body []byte
}

// Answer is valid until the connection is asked again.
type Answer struct {
	Status int
	Head   []byte // the status line and the headers
	Body   []byte
}

// ErrUnanswered is the error of a request for which not one byte came back.
var ErrUnanswered = errors.New("the connection ended before the answer began")

const maxBody = 1 << 20

// Dial connects.
func Dial(addr string) (*Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{conn: conn, r: bufio.NewReaderSize(conn, 8<<10)}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Ask sends a request and reads the answer. After an error the connection is
// of no further use.
func (c *Conn) Ask(request []byte, timeout time.Duration) (Answer, error) {
	if err := c.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return Answer{}, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	if _, err := c.r.Peek(1); err != nil {
		if timedOut(err) {
			return Answer{}, fmt.Errorf("no answer within %s", timeout)
		}
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	a, err := c.read()
	if err != nil {
		return a, fmt.Errorf("the answer is broken after %q: %w", c.head, err)
	}
	return a, nil
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (c *Conn) read() (Answer, error) {
	c.head = c.head[:0]
	length := -1
	for {
		line, err := c.r.ReadSlice('\n')
		c.head = append(c.head, line...)
		if err != nil {
			return Answer{}, err
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || length < 0 || length > maxBody {
				return Answer{}, fmt.Errorf("Content-Length %q", value)
			}
		}
	}
	if length < 0 {
		return Answer{}, errors.New("it has no Content-Length")
	}
	status, err := parseStatus(c.head)
	if err != nil {
		return Answer{}, err
	}
	if cap(c.body) < length {
		c.body = make([]byte, 2*length)
	}
	c.body = c.body[:length]
	if _, err := io.ReadFull(c.r, c.body); err != nil {
		return Answer{}, err
	}
	return Answer{status, c.head, c.body}, nil
}

func parseStatus(head []byte) (int, error) {
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 ")) || len(head) < 12 {
		return 0, errors.New("it is not HTTP/1.1")
	}
	return strconv.Atoi(string(head[9:12]))
}

// Header is the value of a header, empty where there is none.
func (a Answer) Header(name string) string {
	for line := range bytes.Lines(a.Head) {
		if n, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(n, []byte(name)) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Send sends a request whose answer nobody will read.
func (c *Conn) Send(request []byte) { _, _ = c.conn.Write(request) }
