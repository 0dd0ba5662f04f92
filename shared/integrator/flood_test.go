package integrator

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/cache"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

func TestInventedIDsEvictNoPartner(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25), partner(2, 30)))
	cfg := config
	cfg.CacheSize = 2
	g := newRigWith(t, cfg, endpoints(front), patient)
	g.wantFee(1, 25)
	g.wantFee(2, 30)
	for n := range uint64(50) {
		g.wantFault(100+n, fault.IntegratorUnregistered)
	}
	calls := front.Count("eth_call")
	g.wantFee(1, 25)
	g.wantFee(2, 30)
	g.wantFault(149, fault.IntegratorUnregistered)
	if got := front.Count("eth_call") - calls; got != 0 {
		t.Errorf("%d calls, want 0: both partners and the last invented ID are cached", got)
	}
	g.wantFault(100, fault.IntegratorUnregistered)
	if got := front.Count("eth_call") - calls; got != 1 {
		t.Errorf("%d calls, want 1: the first invented ID is forgotten", got)
	}
}

// With the lane full of invented IDs whose calls do not end, one more invented ID
// is refused, and a partner whose registration has expired is asked for at once.
func TestInventedIDsHoldNoPartnerUp(t *testing.T) {
	t.Parallel()
	chain := newEVM(t, 369, partner(1, 25))
	front := newFront(t, chain)
	l := patient
	l.Calls, l.Waiting = 2, 3
	g := newRigWith(t, config, endpoints(front), l)
	g.wantFee(1, 25)

	release := make(chan struct{})
	front.Instead("eth_call", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if id := idOf(wallet(1)); !bytes.Contains(body, []byte(hex.EncodeToString(id[:]))) {
			<-release
		}
		chain.ServeHTTP(w, r)
	})
	places := int(l.Calls + l.Waiting)
	ended := make(chan error, places+1)
	for n := range uint64(places + 1) {
		go func() {
			_, err := g.lookup(100 + n)
			ended <- err
		}()
	}
	if e := fault.From(<-ended); e.Code != fault.IntegratorUnverified || g.failures()[rpc.Busy] != 1 {
		t.Errorf("the invented ID without a place got %v", e)
	}
	g.pass(30 * time.Second)
	g.wantFee(1, 25)
	g.wantUnverified(200, rpc.Busy)
	if got := front.Count("eth_call"); got > 2+int(l.Calls) {
		t.Errorf("%d calls, want at most %d for invented IDs and 2 of the partner", got, l.Calls)
	}

	close(release)
	for range places {
		if e := fault.From(<-ended); e.Code != fault.IntegratorUnregistered {
			t.Errorf("an invented ID that waited got %v, want %s", e, fault.IntegratorUnregistered)
		}
	}
	g.wantFault(200, fault.IntegratorUnregistered)
}

// Invented IDs use up the quota of a provider, second after second. A partner whose
// registration has expired is asked for all the same, apart from the second in
// which they do.
func TestInventedIDsUseUpNoPartnersQuota(t *testing.T) {
	t.Parallel()
	var g *rig
	chain := node.Quota(newEVM(t, 369, partner(1, 25)), 20, "1", func() time.Time { return g.now() })
	cfg := config
	cfg.CacheTTL = 50 * time.Millisecond
	g = newRigWith(t, cfg, endpoints(newFront(t, chain)), patient)
	g.wantFee(1, 25)
	for n := range uint64(30) {
		g.lookup(100 + n)
	}
	if got := g.failures(); got[rpc.Limited] != 1 || got[rpc.Resting] == 0 {
		t.Errorf("failures %v, want the quota used up and the others resting", got)
	}
	if got := g.Health()[2]; got.State != rpc.OverQuota || got.Resting != 1 {
		t.Errorf("health %+v, want %s", got, rpc.OverQuota)
	}
	g.pass(time.Second)
	for step := range uint64(200) {
		for n := range uint64(30) {
			g.lookup(1000 + 100*step + n)
		}
		g.wantFee(1, 25)
		g.pass(100 * time.Millisecond)
	}
	if got := g.failures()[rpc.Limited]; got != 1 {
		t.Errorf("%d look-ups were told to wait by the provider, want only the first", got)
	}
}

// Who leaves the registry loses the lane of the partners.
func TestFormerPartnerIsAStranger(t *testing.T) {
	t.Parallel()
	chain := newEVM(t, 369, partner(1, 25))
	g := newRig(t, newFront(t, chain))
	k := cache.Key{Network: 369, Name: idOf(wallet(1))}
	g.wantFee(1, 25)
	g.pass(time.Hour)
	if _, known := g.cache.Last(k); !known {
		t.Error("a partner is forgotten with its answer")
	}
	chain.send("setActive", k.Name, false)
	g.wantFault(1, fault.IntegratorInactive)
	if _, known := g.cache.Last(k); known {
		t.Error("an inactive integrator counts as a partner")
	}
}
