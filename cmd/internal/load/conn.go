// Package load asks a server the same kind of question many times over
// connections that stay open, and checks every answer. It costs little itself,
// so that on one machine the server gets most of the processors.
package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Conn is one HTTP/1.1 connection that is kept open. Unlike net/http's client it never asks
// again by itself: an answer that is missing is noticed.
type Conn struct {
	net.Conn
	r *bufio.Reader
}

// Answer is what came back for a request, in full.
type Answer struct {
	Status int
	Header http.Header
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
	return &Conn{conn, bufio.NewReaderSize(conn, 8<<10)}, nil
}

// Ask sends a request and reads the answer. After an error the connection is of no further use.
func (c *Conn) Ask(request []byte, timeout time.Duration) (Answer, error) {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return Answer{}, err
	}
	if _, err := c.Write(request); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	if _, err := c.r.Peek(1); err != nil {
		if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
			return Answer{}, fmt.Errorf("no answer within %s", timeout)
		}
		return Answer{}, fmt.Errorf("%w: %w", ErrUnanswered, err)
	}
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return Answer{}, fmt.Errorf("the answer is broken: %w", err)
	}
	defer res.Body.Close()
	if res.ContentLength < 0 || res.ContentLength > maxBody {
		return Answer{}, fmt.Errorf("the answer has no Content-Length up to %d: %v", maxBody, res.Header)
	}
	body := make([]byte, res.ContentLength)
	if _, err := io.ReadFull(res.Body, body); err != nil {
		return Answer{}, fmt.Errorf("the answer is broken after %d %v: %w", res.StatusCode, res.Header, err)
	}
	return Answer{res.StatusCode, res.Header, body}, nil
}
