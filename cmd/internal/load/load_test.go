package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

func serve(t *testing.T, handler http.HandlerFunc) (addr string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestRun asks from five clients in turn. Every fifth request is the last of its connection.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	connections := map[string]bool{}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Forwarded-For")]++
		connections[r.RemoteAddr] = true
		fmt.Fprint(w, "answer to ", r.RequestURI)
	})
	wrong := errors.New("wrong")
	l := Load{Addr: addr, Callers: 1, Requests: 60, Next: func(n int) Request {
		target := fmt.Sprint("/", n%2)
		return Request{Target: target, Client: n%5<<8 + n%5, Last: n%5 == 4, Judge: func(a Answer, err error) error {
			if err != nil || string(a.Body) != "answer to "+target {
				t.Errorf("GET %s: got %s, %v", target, a.Body, err)
			}
			if n == 57 {
				return wrong
			}
			return nil
		}}
	}}
	got, err := l.Run(t.Context())
	if len(got.Latencies) != 57 || !errors.Is(err, wrong) {
		t.Errorf("got %d answers, %v; want that the 58th ends the load", len(got.Latencies), err)
	}
	if len(asked) != 10 || asked["GET /0 10.0.0.1"] != 6 || asked["GET /1 10.4.4.1"] != 5 || len(connections) != 12 {
		t.Errorf("got the requests %v over %d connections", asked, len(connections))
	}
	over, end := context.WithCancel(t.Context())
	end()
	l = Load{Addr: addr, Callers: 3, Next: func(int) Request {
		return Request{Method: "PUT", Target: "/x", Judge: func(_ Answer, err error) error { return err }}
	}}
	got, err = l.Run(over)
	if err != nil || len(got.Latencies) != 3 || asked["PUT /x 10.0.0.1"] != 3 {
		t.Errorf("got %d requests and %v, want one of each caller", len(got.Latencies), err)
	}
	l.Requests = 2
	if got, err = l.Run(t.Context()); err != nil || len(got.Latencies) != 2 {
		t.Errorf("got %d requests and %v, want 2", len(got.Latencies), err)
	}
}

// TestLeave closes the connection instead of reading the answer.
func TestLeave(t *testing.T) {
	left := make(chan error, 1)
	addr := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		left <- r.Context().Err()
	})
	l := Load{Addr: addr, Callers: 1, Requests: 1, Next: func(int) Request {
		return Request{Target: "/", Leave: 50 * time.Millisecond}
	}}
	if got, err := l.Run(t.Context()); err != nil || len(got.Latencies) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the server noticed %v", err)
	}
}

// TestAsk tells a request that was not taken from an answer that was cut off.
func TestAsk(t *testing.T) {
	tests := []struct {
		name, answer string
		unanswered   bool
		ok           bool
	}{
		{"nothing", "", true, false},
		{"half a status line", "HTTP/1.1 2", false, false},
		{"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", false, false},
		{"whole", "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nX-Id: 7 \r\n\r\nabc", false, true},
	}
	for _, tt := range tests {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, tt.answer)
			conn.Close()
		})
		got, err := Once(addr, Request{Target: "/"})
		if (err == nil) != tt.ok || errors.Is(err, ErrUnanswered) != tt.unanswered {
			t.Errorf("%s: got %v", tt.name, err)
		}
		if tt.ok && (got.Status != 404 || string(got.Body) != "abc" || got.Header.Get("X-Id") != "7") {
			t.Errorf("got %d %v %q", got.Status, got.Header, got.Body)
		}
	}
}
