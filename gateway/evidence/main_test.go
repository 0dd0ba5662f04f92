package evidence_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/testkit/recorded"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/testkit/postgres"
)

func TestMain(m *testing.M) { recorded.Main(m) }

const (
	a = "origin https://a.example"
	b = "origin https://b.example"
	c = "origin https://c.example"
)

// ask returns the rows of a query, with a comma between two.
func ask(t testing.TB, r *recorded.Rig, query string) string {
	t.Helper()
	rows, err := r.DB.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, _ := rows.Columns() // fails only after Close
	var all []string
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			values[i] = *v.(*any)
		}
		all = append(all, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, ", ")
}

// served are the clients of v1 and their calls. A day without a name would be "<nil>".
func served(t testing.TB, r *recorded.Rig) string {
	t.Helper()
	return strings.ReplaceAll(ask(t, r, `select name, cast(sum(served) as bigint) from quotegate_days
		left join quotegate_clients on id = client where version = 'v1' group by name order by name`), "origin https://", "")
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func contains(t testing.TB, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want something with %q", what, got, want)
	}
}

// with changes the options of a recorder.
func with(change func(*usage.Options)) recorded.Option {
	return func(s *recorded.Setup) { change(&s.Usage) }
}

// fails has a write fail, and returns why.
func fails(t testing.TB, r *recorded.Rig) error {
	t.Helper()
	err := r.Recorder.Flush(context.Background())
	if err == nil {
		t.Fatal("it was written")
	}
	return err
}

// soon has counts written as soon as the database takes them.
func soon(t testing.TB, r *recorded.Rig) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := r.Recorder.Flush(context.Background())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// wire leads to a fresh database of the shared PostgreSQL, and can be broken.
type wire struct {
	net.Listener
	evidence.Config
	direct  string       // the address without the wire
	ice     sync.RWMutex // locked: nothing gets through, and nobody is told
	cut     atomic.Bool  // connections break
	losing  atomic.Bool  // the answer to the next commit is lost, and its connection breaks
	swallow atomic.Bool  // the next answer is that one
}

func newWire(t *testing.T) *wire {
	t.Helper()
	server := postgres.Shared(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: listener, direct: server.Fresh(t)}
	w.DB = fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable&connect_timeout=60", listener.Addr(), database(w.direct))
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(server.Dir, ".s.PGSQL.5432"))
			if err != nil || w.cut.Load() {
				_ = client.Close()
				continue
			}
			all.Go(func() { w.carry(server, client, true) })
			all.Go(func() { w.carry(client, server, false) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return w
}

// database is the name of the database in an address.
func database(address string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(address, "postgres://postgres@/"), "?")
	return name
}

// thaw waits while the server is frozen.
func (w *wire) thaw() {
	w.ice.RLock()
	defer w.ice.RUnlock()
}

func (w *wire) carry(to, from net.Conn, asks bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		w.thaw()
		switch {
		case err != nil || w.cut.Load():
			return
		case asks && bytes.Contains(buffer[:n], []byte("commit\x00")) && w.losing.Swap(false):
			w.swallow.Store(true)
		case !asks && w.swallow.Swap(false):
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// alter changes a setting of the database.
func (w *wire) alter(t *testing.T, how string) {
	postgres.Shared(t).Exec(t, "postgres", "alter database "+database(w.direct)+" "+how)
}
