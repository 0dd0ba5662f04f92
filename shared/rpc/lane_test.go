package rpc

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/quotegate/quotegate/testdata/node"
)

func TestTurns(t *testing.T) {
	turns := newTurns(Limits{Calls: 1, Waiting: 1})
	background, gone := context.Background(), canceled(context.Canceled)
	for range 2 { // a place given back can be taken again
		if f := turns.enter(background); f != nil {
			t.Fatal(f)
		}
		if f := turns.enter(gone); f == nil || f.Reason != Busy {
			t.Errorf("whose time ran out before its turn got %v, want %s", f, Busy)
		}
		turns.leave()
	}
}

func canceled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// A lane whose questions do not end refuses more of them, and leaves the others
// alone.
func TestFullLane(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	few := Limits{Try: time.Minute, Total: time.Minute, Calls: 2, Waiting: 1}
	g := newRigWith(t, map[Lane]Limits{Partners: patient, Strangers: few, Wallets: patient}, front)
	release, ended := make(chan struct{}), make(chan error)
	for range 4 {
		go func() {
			_, err := g.use(context.Background(), Strangers, func(context.Context, *Endpoint) ([]byte, error) {
				<-release
				return nil, nil
			})
			ended <- err
		}()
	}
	g.wantReason(Strangers, <-ended, Busy) // three have a place
	g.wantFailure(Strangers, Busy)
	g.wantAnswer(Partners)
	g.wantAnswer(Wallets)
	close(release)
	for range 3 {
		if err := <-ended; err != nil {
			t.Errorf("who had a place got %v", err)
		}
	}
	g.wantAnswer(Strangers)
}

// An endpoint that is too slow for wallets is used for partners all the same, and
// is no failure of the registries.
func TestSlowForWallets(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"0xfe"`)) {
			node.Hangs(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		simple(w, r)
	})
	short := Limits{Try: 50 * time.Millisecond, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, map[Lane]Limits{Partners: patient, Strangers: patient, Wallets: short}, front)
	g.wantAnswer(Partners)
	_, err := g.use(context.Background(), Wallets, func(ctx context.Context, e *Endpoint) ([]byte, error) {
		return call(ctx, e, []byte{0xfe})
	})
	g.wantReason(Wallets, err, Timeout)
	g.wantFailure(Wallets, Resting)
	g.wantHealth(Failing, 1)
	g.wantHealth(Working, 0, Partners, Strangers)
	g.wantAnswer(Partners)
	g.wantAnswer(Strangers)
	g.wantHealth(Failing, 1, Wallets)
}

// Who gives up blames no endpoint.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	ctx, giveUp := context.WithCancel(context.Background())
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		giveUp()
		node.Hangs(w, r)
	})
	g := newRig(t, front)
	_, err := g.call(ctx, Wallets)
	g.wantReason(Wallets, err, Timeout)
	g.wantHealth(Unused, 0)
	front.Instead("eth_call", nil)
	g.wantAnswer(Wallets)
}

func TestUnconfigured(t *testing.T) {
	g := newRig(t)
	if f := g.wantFailure(Partners, Unconfigured); f.RetryAfter != time.Minute {
		t.Errorf("retry after %v, want a minute", f.RetryAfter)
	}
	if got, want := g.Health(369, ordinary...), (Health{Network: 369, State: NoEndpoint}); got != want {
		t.Errorf("health %+v, want %+v", got, want)
	}
}

func TestCloseWaits(t *testing.T) {
	c, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.running.RLock() // as a question does
	closed := make(chan struct{})
	go func() {
		c.Close()
		close(closed)
	}()
	for c.running.TryRLock() { // until Close waits
		c.running.RUnlock()
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("closed while a question was under way")
	default:
	}
	c.running.RUnlock()
	<-closed
}

func TestClose(t *testing.T) {
	t.Parallel()
	front := node.NewFront(t, simple)
	one := Limits{Try: time.Minute, Total: time.Minute, Calls: 1, Waiting: 1}
	g := newRigWith(t, map[Lane]Limits{Partners: one}, front)
	g.wantAnswer(Partners)
	asked := make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		node.Hangs(w, r)
	})
	waiting := make(chan error)
	for range 2 { // one of them waits for its turn
		go func() {
			_, err := g.call(context.Background(), Partners)
			waiting <- err
		}()
	}
	<-asked
	g.Close()
	g.wantReason(Partners, <-waiting, Closed)
	g.wantReason(Partners, <-waiting, Closed)
	g.wantFailure(Partners, Closed)
	if got := front.Count("eth_call"); got != 2 {
		t.Errorf("%d calls, want none after the end", got)
	}
	g.wantHealth(Working, 0) // the end is not blamed on the endpoint
	g.Close()
}
