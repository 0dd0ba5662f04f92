package integrator

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
)

func TestInventedIDsEvictNoPartner(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25), partner(2, 30)))
	cfg := config(front)
	cfg.CacheSize = 2
	g := newRigWith(t, cfg, patient)
	g.wantFee(1, 25)
	g.wantFee(2, 30)
	for n := range uint64(50) {
		g.wantFault(100+n, fault.IntegratorUnregistered)
	}
	calls := front.count("eth_call")
	g.wantFee(1, 25)
	g.wantFee(2, 30)
	g.wantFault(149, fault.IntegratorUnregistered)
	if got := front.count("eth_call") - calls; got != 0 {
		t.Errorf("%d calls, want 0: both partners and the last invented ID are cached", got)
	}
	if got := g.cache.others.Len(); got != 2 {
		t.Errorf("%d invented IDs cached, want 2", got)
	}
}

// With the lane full of invented IDs whose calls do not end, one more invented ID
// is refused, and a partner whose registration has expired is asked for at once.
func TestInventedIDsHoldNoPartnerUp(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25))
	front := newFront(t, node)
	l := patient
	l.calls, l.waiting = 2, 3
	g := newRigWith(t, config(front), l)
	g.wantFee(1, 25)

	release := make(chan struct{})
	front.instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if id := idOf(wallet(1)); !bytes.Contains(body, []byte(hex.EncodeToString(id[:]))) {
			<-release
		}
		node.ServeHTTP(w, r)
	})
	places := int(l.calls + l.waiting)
	ended := make(chan error, places+1)
	for n := range uint64(places + 1) {
		go func() {
			_, err := g.lookup(100 + n)
			ended <- err
		}()
	}
	if e := fault.From(<-ended); e.Code != fault.IntegratorUnverified || g.failures()[Busy] != 1 {
		t.Errorf("the invented ID without a place got %v", e)
	}
	g.pass(30 * time.Second)
	g.wantFee(1, 25)
	g.wantUnverified(200, Busy)
	if got := front.count("eth_call"); got > 2+int(l.calls) {
		t.Errorf("%d calls, want at most %d for invented IDs and 2 of the partner", got, l.calls)
	}

	close(release)
	for range places {
		if e := fault.From(<-ended); e.Code != fault.IntegratorUnregistered {
			t.Errorf("an invented ID that waited got %v, want %s", e, fault.IntegratorUnregistered)
		}
	}
	g.wantFault(200, fault.IntegratorUnregistered)
}

// Who leaves the registry loses the lane of the partners.
func TestFormerPartnerIsAStranger(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25))
	g := newRig(t, newFront(t, node))
	k := lookupKey{369, idOf(wallet(1))}
	g.wantFee(1, 25)
	g.pass(time.Hour)
	if !g.cache.wasPartner(k) {
		t.Error("a partner is forgotten with its answer")
	}
	node.send("setActive", [32]byte(k.id), false)
	g.wantFault(1, fault.IntegratorInactive)
	if g.cache.wasPartner(k) {
		t.Error("an inactive integrator counts as a partner")
	}
}

func TestLane(t *testing.T) {
	l := newLane(limits{calls: 1, waiting: 1})
	background, gone := context.Background(), canceled(context.Canceled)
	for range 2 { // a place given back can be taken again
		if f := l.enter(background); f != nil {
			t.Fatal(f)
		}
		if f := l.enter(gone); f == nil || f.reason != Busy {
			t.Errorf("whose time ran out before its turn got %v, want %s", f, Busy)
		}
		if f := l.enter(canceled(errClosed)); f != errClosed {
			t.Errorf("who waited at the end got %v, want %v", f, errClosed)
		}
		l.leave()
	}
}

func canceled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}
