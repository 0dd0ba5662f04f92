package limit

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// The most that one reply may have. The largest this package asks for is the
// table of a cluster's nodes, with some 15 values for each range of slots.
const (
	maxReplyValues = 16 << 10
	maxReplyBytes  = 1 << 20
)

var errBadReply = errors.New("not a reply of Redis, or one too large")

// guardedConn reads replies before go-redis does, and breaks the connection at
// one that is too large or is not RESP2. go-redis allocates whatever length a
// reply announces: *9223372036854775807 panics, in goroutines of its own too,
// where nothing can recover.
type guardedConn struct {
	net.Conn
	replies replyScanner
}

// checkReplies wraps a connection. The result is a syscall.Conn if c is one, since
// go-redis uses that to notice that an idle connection has been closed.
func checkReplies(c net.Conn) net.Conn {
	g := &guardedConn{Conn: c}
	if raw, ok := c.(syscall.Conn); ok {
		return struct {
			*guardedConn
			syscall.Conn
		}{g, raw}
	}
	return g
}

func (g *guardedConn) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if !g.replies.scan(p[:n]) {
		g.Conn.Close()
		return 0, errBadReply
	}
	return n, err
}

// replyScanner follows a stream of RESP2 replies. Its zero value is at the
// beginning of one.
type replyScanner struct {
	awaited int    // values of this reply still to come
	values  int    // values of this reply, announced ones too
	bytes   int    // of this reply
	skip    int    // bytes of a string still to come, with its CR LF
	kind    byte   // of the line that is being read, 0 between lines
	line    []byte // what it says after its kind, if that is a length
	broken  bool
}

// scan reads the next part of the stream. It returns false once a reply is
// malformed or too large.
func (s *replyScanner) scan(p []byte) bool {
	for len(p) > 0 && !s.broken {
		if s.awaited == 0 {
			s.awaited, s.values, s.bytes = 1, 1, 0
		}
		n := 1
		if s.skip > 0 {
			n = min(s.skip, len(p))
			if s.skip -= n; s.skip == 0 {
				s.awaited--
			}
		} else {
			s.broken = !s.next(p[0])
		}
		s.bytes += n
		s.broken = s.broken || s.bytes > maxReplyBytes || s.values > maxReplyValues
		p = p[n:]
	}
	return !s.broken
}

// next reads one byte of a line.
func (s *replyScanner) next(b byte) bool {
	switch {
	case s.kind == 0:
		s.kind = b
		s.line = s.line[:0]
		// An error within an array would have go-redis leave the rest unread.
		return b == '+' || b == ':' || b == '$' || b == '*' || b == '-' && s.values == 1
	case b == '\n':
		return s.endLine()
	case s.kind == '$' || s.kind == '*':
		s.line = append(s.line, b)
		return len(s.line) <= len("1048576\r")
	}
	return true
}

func (s *replyScanner) endLine() bool {
	kind := s.kind
	s.kind = 0
	if kind != '$' && kind != '*' {
		s.awaited--
		return true
	}
	if len(s.line) == 0 || s.line[len(s.line)-1] != '\r' {
		return false
	}
	n, err := strconv.Atoi(string(s.line[:len(s.line)-1]))
	switch {
	case err != nil || n < -1 || n > maxReplyBytes:
		return false
	case n == -1: // null
		s.awaited--
	case kind == '$':
		s.skip = n + len("\r\n")
	default:
		s.awaited += n - 1
		s.values += n
	}
	return true
}
