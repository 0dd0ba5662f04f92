package limit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/quotegate/quotegate/testdata/journal"
)

// go-redis tries to reach a server that is away until a second after its client
// is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var quiet = slog.New(slog.DiscardHandler)

// clock is a clock that moves when told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// logTo is a log that the test reads.
func logTo(j *journal.Journal) *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func newTestLimiter(t testing.TB, cfg Config, c *clock) *Limiter {
	t.Helper()
	return start(t, cfg, quiet, c, calm)
}

func start(t testing.TB, cfg Config, log *slog.Logger, c *clock, p timeouts) *Limiter {
	t.Helper()
	l, err := newLimiter(t.Context(), cfg, log, c.now, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// guarded answers 200 to requests that l admits, and refuses others as the gateway does.
func guarded(l *Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := l.Admit(w.Header(), Address(peer(r))); e != nil {
			w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
			http.Error(w, e.Error(), http.StatusTooManyRequests)
		}
	})
}

// at is a clock that stands at a tick.
func at(tick int64) func() int64 { return func() int64 { return tick } }

// asked is an ordinary request of a client.
func asked(c clientKey, limit int) question { return question{client: c, limit: limit} }

func get(h http.Handler, peer string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/v3/swap/quote", nil)
	r.RemoteAddr = peer
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantStatus(t *testing.T, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Fatalf("got %d, want %d (%s)", w.Code, want, w.Body)
	}
}

const alice, bob = "203.0.113.1:1", "203.0.113.2:1"

// peer is the address a request comes from; the zero Addr for a unix socket.
func peer(r *http.Request) netip.Addr { return peerOf(r.RemoteAddr) }

func peerOf(remote string) netip.Addr {
	at, _ := netip.ParseAddrPort(remote)
	return at.Addr()
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: it takes seconds; make test-all runs it")
	}
}

// server is a real redis-server that can be killed, frozen and brought back.
type server struct {
	t    testing.TB
	args []string // a file first makes it a Sentinel
	addr string
	cmd  *exec.Cmd
	done chan struct{}
	*redis.Client
}

// startRedis starts a redis-server of its own on a free port.
func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no redis-server on this machine, and in CI the shared limit must be tested; install the package redis-server")
		}
		t.Skip("SKIPPED, NOT TESTED: there is no redis-server on this machine; install the package redis-server to test the shared limit")
	}
	s := &server{t: t, args: args}
	t.Cleanup(func() {
		s.kill()
		s.Close()
	})
	for range 5 { // another process may take the port before Redis does
		s.addr = freeAddress(t)
		s.Client = redis.NewClient(&redis.Options{Addr: s.addr, Password: password(args), MaxRetries: -1})
		if s.start() {
			return s
		}
		s.Close()
	}
	t.Fatal("redis-server does not start")
	return nil
}

func password(args []string) string {
	for i, a := range args {
		if a == "--requirepass" {
			return args[i+1]
		}
	}
	return ""
}

// freeAddress has a port low enough for a node of a cluster, which uses the port
// 10,000 above too.
func freeAddress(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if l.Addr().(*net.TCPAddr).Port < 55_000 {
			return l.Addr().String()
		}
	}
}

func (s *server) start() bool {
	s.t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	args := append(s.args[:len(s.args):len(s.args)], "--port", port, "--bind", "127.0.0.1", "--dir", s.t.TempDir())
	if !slices.Contains(args, "--sentinel") {
		args = append(args, "--save", "", "--appendonly", "no")
	}
	s.cmd = exec.Command("redis-server", args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // it is killed, which is an error
		close(done)
	}(s.cmd, s.done)
	for {
		select {
		case <-s.done:
			return false
		case <-time.After(5 * time.Millisecond):
		}
		if s.Ping(context.Background()).Err() == nil {
			return true
		}
	}
}

func (s *server) kill() {
	if s.cmd != nil {
		s.signal(syscall.SIGKILL)
		<-s.done
	}
}

func (s *server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil && s.t.Context().Err() == nil {
		s.t.Error(err)
	}
}

// A frozen Redis keeps its connections and answers nothing.
const freeze, thaw = syscall.SIGSTOP, syscall.SIGCONT

func (s *server) url() string { return "redis://" + s.addr }

// pass makes the requests in the log of key d older, as if that time had passed.
func (s *server) pass(key string, d time.Duration) {
	s.t.Helper()
	err := s.Eval(s.t.Context(), `
		for i, at in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
			redis.call('LSET', KEYS[1], i - 1, string.format('%.0f', at - ARGV[1]))
		end`, []string{key}, d.Microseconds()).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
}

// write makes the log of key: n requests, accepted d ago.
func (s *server) write(key string, n int, d time.Duration) {
	s.t.Helper()
	at := strconv.FormatInt(time.Now().Add(-d).UnixMicro(), 10)
	for range n {
		if err := s.RPush(s.t.Context(), key, at).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// calls is how often a command was called.
func (s *server) calls(command string) int {
	s.t.Helper()
	info, err := s.Info(s.t.Context(), "commandstats").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile("cmdstat_" + command + `:calls=(\d+)`).FindStringSubmatch(info)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// relay stands between a limiter and Redis and can keep a question to itself.
type relay struct {
	addr    string
	text    atomic.Value // []byte: what marks the question
	once    sync.Once
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

// hold keeps questions that contain text.
func (r *relay) hold(text string) { r.text.Store([]byte(text)) }

func (r *relay) questions(onward io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if text, _ := r.text.Load().([]byte); len(text) > 0 && bytes.Contains(buf[:n], text) {
			r.once.Do(func() { close(r.held) }) // a question may be asked again
			<-r.release
		}
		if _, err := onward.Write(buf[:n]); err != nil {
			return
		}
	}
}

// scripted is a server that speaks RESP and answers as it is told. It can be a
// Redis, a Sentinel and the only node of a cluster.
type scripted struct {
	addr    string
	instead func(command []string) (reply string, given bool)
}

// What may follow a reply.
const (
	thenHangUp = "\x00hang up"
	thenSlowly = "\x00slowly"
)

// startScripted answers as usual unless it is given another answer: that every
// request is the first of its client.
func startScripted(t *testing.T, instead func(command []string) (reply string, given bool)) *scripted {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startScriptedAt(t, l, instead)
}

func startScriptedAt(t *testing.T, l net.Listener, instead func(command []string) (reply string, given bool)) *scripted {
	t.Helper()
	s := &scripted{addr: l.Addr().String(), instead: instead}
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

func (s *scripted) serve(conn net.Conn) {
	commands := bufio.NewReader(conn)
	for {
		command, err := readCommand(commands)
		if err != nil {
			return
		}
		reply, given := s.instead(command)
		if !given {
			reply = s.usual(command)
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

func (s *scripted) usual(command []string) string {
	switch command[0] {
	case "hello":
		return "*2\r\n$5\r\nproto\r\n:2\r\n"
	case "sentinel":
		return "*2\r\n" + bulk(s.host()) + bulk(s.port())
	case "cluster":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk(s.host()) + ":" + s.port() + "\r\n"
	case "evalsha", "eval":
		n, _ := strconv.Atoi(command[2])
		window := command[3+n]
		return "*" + strconv.Itoa(4*n) + "\r\n" + strings.Repeat(":1\r\n:0\r\n:"+window+"\r\n:1\r\n", n)
	}
	return "+OK\r\n"
}

func (s *scripted) host() string { host, _, _ := net.SplitHostPort(s.addr); return host }
func (s *scripted) port() string { _, port, _ := net.SplitHostPort(s.addr); return port }

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
