package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func serve(t *testing.T, handler http.HandlerFunc) (addr string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestRunAsksInTurn finds every case asked and every client named, and as many
// requests as were wanted.
func TestRunAsksInTurn(t *testing.T) {
	var mu sync.Mutex
	targets, clients := map[string]int{}, map[string]int{}
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		targets[r.RequestURI]++
		clients[r.Header.Get("X-Forwarded-For")]++
		mu.Unlock()
		fmt.Fprintf(w, "answer to %s\n", r.RequestURI)
	})
	cases := []Case{{Target: "/a", Body: []byte("answer to /a\n")}, {Target: "/b?c=d", Body: []byte("answer to /b?c=d")}}
	got, err := Run(t.Context(), addr, cases, Options{Conns: 3, Duration: time.Minute, Requests: 60, Clients: 5, Start: 600})
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != 60 || targets["/a"] != 30 || targets["/b?c=d"] != 30 {
		t.Errorf("got %d requests, %v; want 60, half of each", got.Requests, targets)
	}
	if len(clients) != 5 || clients["10.0.0.1"] != 12 || clients["10.0.4.1"] != 12 {
		t.Errorf("got clients %v, want five, each twelve times", clients)
	}
	if got.P50 <= 0 || got.P99 < got.P50 || got.PerSecond() <= 0 {
		t.Errorf("got %+v", got)
	}
}

func TestClientsTakeTurns(t *testing.T) {
	o := Options{Clients: 10, Turn: 100}
	for n, want := range map[int]string{0: "10.0.0.1", 9: "10.0.9.1", 10: "10.0.0.1", 99: "10.0.9.1", 100: "10.0.10.1", 209: "10.0.29.1", 655_400: "11.0.4.1"} {
		if got := o.client(n).String(); got != want {
			t.Errorf("request %d: got %s, want %s", n, got, want)
		}
	}
}

// TestRunAsksOnce: a connection that took all the time is still used.
func TestRunAsksOnce(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	got, err := Run(t.Context(), addr, []Case{{Target: "/"}}, Options{Conns: 2, Duration: 1, Clients: 1})
	if err != nil || got.Requests != 2 {
		t.Errorf("got %d requests and %v, want one for each connection", got.Requests, err)
	}
}

func TestRunNoticesWrongAnswers(t *testing.T) {
	wants := Case{Target: "/", Body: []byte("ab..ef"), Hole: [2]int{2, 4}}
	tests := []struct {
		name, body string
		status     int
		right      bool
	}{
		{"right", "ab..ef", 200, true},
		{"other in the hole", "abcdef", 200, true},
		{"with a newline", "abcdef\n", 200, true},
		{"other before the hole", "xb..ef", 200, false},
		{"other after the hole", "ab..ex", 200, false},
		{"longer", "ab...ef", 200, false},
		{"empty", "", 200, false},
		{"refused", "ab..ef", 429, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			_, err := Run(t.Context(), addr, []Case{wants}, Options{Conns: 1, Duration: time.Minute, Requests: 2, Clients: 1})
			if (err == nil) != tt.right {
				t.Errorf("got %v, want it right: %v", err, tt.right)
			}
		})
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
		{"no length", "HTTP/1.1 200 OK\r\n\r\nabc", false, false},
		{"absurd length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", false, false},
		{"whole", "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nX-Id: 7 \r\n\r\nabc", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				fmt.Fprint(conn, tt.answer)
				conn.Close()
			})
			conn, err := Dial(addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			got, err := conn.Ask(AppendRequest(nil, "host", "/", ClientAddress(1)), time.Minute)
			if (err == nil) != tt.ok || errors.Is(err, ErrUnanswered) != tt.unanswered {
				t.Errorf("got %v", err)
			}
			if tt.ok && (got.Status != 404 || string(got.Body) != "abc" || got.Header.Get("X-Id") != "7") {
				t.Errorf("got %d %v %q", got.Status, got.Header, got.Body)
			}
		})
	}
}

func TestRunEndsWhenItsCallerDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		fmt.Fprint(w, "x")
	})
	if _, err := Run(ctx, addr, []Case{{Target: "/", Body: []byte("x")}}, Options{Conns: 1, Duration: time.Minute, Clients: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}
