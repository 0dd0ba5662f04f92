package limit

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// relay stands between a limiter and Redis and can keep a question to itself.
type relay struct {
	addr    string
	text    atomic.Value  // []byte: what marks the question
	held    chan struct{} // closed when it is held
	release chan struct{} // to be closed to let it go
}

func startRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String(), held: make(chan struct{}), release: make(chan struct{})}
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", to)
			if err != nil {
				t.Error(err)
				from.Close()
				return
			}
			conns.Store(from, nil)
			conns.Store(onward, nil)
			wg.Go(func() {
				_, _ = io.Copy(from, onward) // ends when either is closed
				from.Close()
			})
			wg.Go(func() {
				r.questions(onward, from)
				onward.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return r
}

// hold keeps the first question that contains text.
func (r *relay) hold(text string) { r.text.Store([]byte(text)) }

func (r *relay) questions(onward io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if text, _ := r.text.Load().([]byte); len(text) > 0 && bytes.Contains(buf[:n], text) {
			close(r.held)
			<-r.release
		}
		if _, err := onward.Write(buf[:n]); err != nil {
			return
		}
	}
}
