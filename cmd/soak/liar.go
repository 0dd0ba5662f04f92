package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// liar stands between the gateway and Redis. While it lies, it answers every
// question itself, with what no Redis says.
type liar struct {
	addr  string
	lying atomic.Bool

	listener net.Listener
	to       string
	mu       sync.Mutex // guards conns and closed
	conns    map[net.Conn]bool
	closed   bool
	work     sync.WaitGroup
}

// nonsense are replies that broke a client of Redis, or that make no sense to a
// limiter.
var nonsense = []string{
	"*9223372036854775807\r\n", "$-7\r\n", ":-9223372036854775808\r\n", "*3\r\n:1\r\n:-1\r\n:-1\r\n",
	"+OK\r\n", "-LYING to you\r\n", "HTTP/1.1 200 OK\r\n\r\n",
}

func startLiar(to string) (*liar, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &liar{addr: l.Addr().String(), listener: l, to: to, conns: map[net.Conn]bool{}}
	f.work.Go(f.accept)
	return f, nil
}

func (f *liar) accept() {
	for {
		from, err := f.listener.Accept()
		if err != nil {
			return
		}
		onward, err := net.Dial("tcp", f.to)
		if err != nil {
			from.Close() // Redis is dead
			continue
		}
		if !f.keep(from, onward) {
			return
		}
		f.work.Go(func() {
			_, _ = io.Copy(from, onward) // ends when either is closed
			f.drop(from, onward)
		})
		f.work.Go(func() {
			f.questions(from, onward)
			f.drop(from, onward)
		})
	}
}

// questions passes on what the gateway says, or answers it with a lie.
func (f *liar) questions(from, onward net.Conn) {
	buffer := make([]byte, 64<<10)
	for told := 0; ; told++ {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		to, text := onward, buffer[:n]
		if f.lying.Load() {
			to, text = from, []byte(nonsense[told%len(nonsense)])
		}
		if _, err := to.Write(text); err != nil {
			return
		}
	}
}

func (f *liar) keep(conns ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		if f.closed {
			c.Close()
		} else {
			f.conns[c] = true
		}
	}
	return !f.closed
}

func (f *liar) drop(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range conns {
		c.Close()
		delete(f.conns, c)
	}
}

func (f *liar) close() {
	f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.work.Wait()
}
