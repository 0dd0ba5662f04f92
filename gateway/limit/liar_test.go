package limit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// liar is a server that speaks RESP and answers as it is told. It can be a
// Redis, a Sentinel and the only node of a cluster.
type liar struct {
	addr string
	lie  func(command []string) (reply string, lies bool)
}

// What a lie may do beside being sent.
const (
	thenHangUp = "\x00hang up"
	thenSlowly = "\x00slowly"
)

// startLiar answers truly unless lie says otherwise. Its truth is that every
// request is the first of its client.
func startLiar(t *testing.T, lie func(command []string) (reply string, lies bool)) *liar {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startLiarAt(t, l, lie)
}

func startLiarAt(t *testing.T, l net.Listener, lie func(command []string) (reply string, lies bool)) *liar {
	t.Helper()
	s := &liar{addr: l.Addr().String(), lie: lie}
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Store(conn, nil)
			wg.Go(func() {
				defer conn.Close()
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return s
}

func (s *liar) serve(conn net.Conn) {
	commands := bufio.NewReader(conn)
	for {
		command, err := readCommand(commands)
		if err != nil {
			return
		}
		reply, lies := s.lie(command)
		if !lies {
			reply = s.truth(command)
		}
		reply, hangUp := strings.CutSuffix(reply, thenHangUp)
		reply, slowly := strings.CutSuffix(reply, thenSlowly)
		step := len(reply)
		if slowly {
			step = 1
		}
		for ; reply != ""; reply = reply[step:] {
			if _, err := io.WriteString(conn, reply[:step]); err != nil {
				return
			}
			if slowly {
				time.Sleep(20 * time.Millisecond)
			}
		}
		if hangUp {
			return
		}
	}
}

func (s *liar) truth(command []string) string {
	switch command[0] {
	case "hello":
		return "*2\r\n$5\r\nproto\r\n:2\r\n"
	case "sentinel":
		return "*2\r\n" + bulk(s.host()) + bulk(s.port())
	case "cluster":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk(s.host()) + ":" + s.port() + "\r\n"
	case "evalsha", "eval":
		n, _ := strconv.Atoi(command[2])
		window := command[len(command)-2]
		return "*" + strconv.Itoa(3*n) + "\r\n" + strings.Repeat(":1\r\n:0\r\n:"+window+"\r\n", n)
	}
	return "+OK\r\n"
}

func (s *liar) host() string { host, _, _ := net.SplitHostPort(s.addr); return host }
func (s *liar) port() string { _, port, _ := net.SplitHostPort(s.addr); return port }

func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// readCommand reads an array of strings. The first is in lower case.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	command := make([]string, n)
	for i := range command {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		data := make([]byte, size+2)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, err
		}
		command[i] = string(data[:size])
	}
	command[0] = strings.ToLower(command[0])
	return command, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, errors.New("not a command")
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
