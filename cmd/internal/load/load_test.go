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

// TestRun asks from five clients in turn. Every fifth request is the last of its connection, and the last of all is not
// waited for.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	connections := map[string]bool{}
	left := make(chan error, 1)
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			<-r.Context().Done()
			left <- r.Context().Err()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		asked[r.RequestURI+" "+r.Header.Get("X-Forwarded-For")]++
		connections[r.RemoteAddr] = true
		fmt.Fprint(w, "answer to ", r.RequestURI)
	})
	wrong := errors.New("wrong")
	next := func(n int) Request {
		target := fmt.Sprint("/", n%2)
		if n == 57 {
			return Request{Method: http.MethodPut, Target: "/", Leave: 50 * time.Millisecond}
		}
		return Request{Target: target, Client: n%5<<8 + n%5, Last: n%5 == 4, Judge: func(a Answer, err error) error {
			if err != nil || string(a.Body) != "answer to "+target {
				t.Errorf("GET %s: got %s, %v", target, a.Body, err)
			}
			if n == 60 {
				return wrong
			}
			return nil
		}}
	}
	if got, err := Run(t.Context(), addr, 1, 58, next); got != 57 || err != nil {
		t.Errorf("got %d answers, %v; want 57", got, err)
	}
	if len(asked) != 10 || asked["/0 10.0.0.1"] != 6 || asked["/1 10.4.4.1"] != 5 || len(connections) != 12 {
		t.Errorf("got the requests %v over %d connections", asked, len(connections))
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("of the client that left, the server noticed %v", err)
	}
	if got, err := Run(t.Context(), addr, 1, 0, next); got != 59 || !errors.Is(err, wrong) {
		t.Errorf("got %d answers, %v; want that a wrong one ends the load", got, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if got, err := Run(over, addr, 3, 0, next); err != nil || got != 3 {
		t.Errorf("got %d requests and %v, want one of each caller", got, err)
	}
}

// TestAsk tells a request that was not taken from an answer that was cut off.
func TestAsk(t *testing.T) {
	for answer, want := range map[string]struct{ unanswered, ok bool }{
		"":           {unanswered: true},
		"HTTP/1.1 2": {},
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc":                    {},
		"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nX-Id: 7 \r\n\r\nabc": {ok: true},
	} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, answer)
			conn.Close()
		})
		got, err := Once(addr, Request{Target: "/"})
		if (err == nil) != want.ok || errors.Is(err, ErrUnanswered) != want.unanswered {
			t.Errorf("%q: got %v", answer, err)
		}
		if want.ok && (got.Status != 404 || string(got.Body) != "abc" || got.Header.Get("X-Id") != "7") {
			t.Errorf("got %d %v %q", got.Status, got.Header, got.Body)
		}
	}
}
