package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/store"
	"github.com/quotegate/quotegate/testdata/postgres"
	"github.com/quotegate/quotegate/testdata/recorded"
)

// shelf is a board in memory that can be away.
type shelf struct {
	mu    sync.Mutex
	lines map[string]string
	away  bool
}

func (s *shelf) do(work func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("away")
	}
	work()
	return nil
}

func (s *shelf) Put(_ context.Context, name, line string) error {
	return s.do(func() { s.lines[name] = line })
}

func (s *shelf) Remove(_ context.Context, name string) error {
	return s.do(func() { delete(s.lines, name) })
}

func (s *shelf) All(context.Context) (all map[string]string, err error) {
	err = s.do(func() { all = maps.Clone(s.lines) })
	return all, err
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// beginWith starts a recorder that leaves word on a board.
func beginWith(t *testing.T, board Board, cfg store.Config, at *recorded.Clock) *recorded.Rig {
	t.Helper()
	return recorded.New(func(
		ctx context.Context, db *store.Store, o evidence.Options,
	) (recorded.Recorder, *evidence.Reader, error) {
		r, err := New(ctx, db, Options{Options: o, Board: board})
		if err != nil {
			return nil, nil, err
		}
		return r, r.Reader, nil
	}).Begin(t, cfg, at)
}

// An instance that starts while the database is away, serves and is killed leaves no
// row. What it left on the board holds the gate while it runs, and is a gap when it has
// ended, found by the first instance that can write.
func TestBoardKnowsWhoCannotWrite(t *testing.T) {
	address := postgres.Shared(t).Fresh(t)
	at, board := recorded.At(recorded.Noon), &shelf{lines: map[string]string{}}
	able := beginWith(t, board, store.Config{DB: address}, at)
	able.Age(t, 10)
	for deadline := time.Now().Add(time.Minute); board.count() > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := board.count(); got != 0 {
		t.Fatalf("got %d lines, want none of an instance that writes", got)
	}
	unable := beginWith(t, board, store.Config{DB: "postgres://postgres@/none?host=" + t.TempDir()}, at)
	unable.Call("origin https://a.example", 10)
	own(unable).leaveWord(t.Context())
	sunset := recorded.Noon.Add(-time.Hour)
	able.Flush(t)
	name := evidence.InstanceName(unable.Writer.Instance, own(unable).host)
	missing, err := able.Unheard(7, 0, sunset)
	if err != nil || missing != name+" cannot write its counts since 2027-03-10T12:32:10Z" {
		t.Errorf("got %q, %v, want the instance that cannot write", missing, err)
	}
	if got := able.Notes(); len(got) != 1 || got[0] != missing {
		t.Errorf("got notes %q, want the same", got)
	}
	board.away = true // nothing new is known, and nothing is forgotten
	able.Flush(t)
	if again, err := able.Unheard(7, 0, sunset); err != nil || again != missing {
		t.Errorf("got %q, %v while the board is away", again, err)
	}
	board.away = false
	own(unable).stop() // as if it were killed: nothing more is heard of it
	<-own(unable).done
	at.Pass(silentAfter + time.Second)
	able.Flush(t)
	if missing, err := able.Unheard(7, 0, sunset); err != nil || missing != "" || board.count() != 0 {
		t.Errorf("got %q, %v and %d lines, want that its end is known", missing, err, board.count())
	}
	if got := able.Evidence("v1", 7).Missing; !strings.Contains(got, "calls between 2027-03-10T12:32:10Z and 2027-03-10T12:32:10Z are missing: "+killed) {
		t.Errorf("got %q, want the gap", got)
	}
}

// An instance that writes after all leaves no gap, also if its word could not be taken
// back.
func TestBoardThatIsBehind(t *testing.T) {
	recorded.OnDisk(t, func(t *testing.T, cfg store.Config) {
		at, board := recorded.At(recorded.Noon), &shelf{lines: map[string]string{}}
		r := begin(t, cfg, at)
		r.Flush(t)
		other := beginWith(t, board, cfg, at)
		board.lines = map[string]string{
			r.Writer.Instance: fmt.Sprintf(`{"host": "h", "since": %d, "heard": %d}`, recorded.Noon.Unix()-30, recorded.Noon.Unix()-5),
			"UNKNOWN":         "of another release",
		}
		for range 20 {
			at.Pass(writeInterval)
			r.Flush(t)
			other.Flush(t)
		}
		if got := other.Rows(t, "usage_gaps"); got != 0 || board.lines[r.Writer.Instance] != "" {
			t.Errorf("got %d gaps and %q, want none", got, board.lines)
		}
	})
}
