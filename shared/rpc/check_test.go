package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/testkit/node"
)

// check reads the code of a contract from one endpoint.
func (g *rig) check(place int) (code []byte, err error) {
	g.t.Helper()
	err = g.Check(context.Background(), 369, place, func(ctx context.Context, e *Endpoint) (err error) {
		return e.ReadAll(ctx, ReadCode(target, (*hexutil.Bytes)(&code)))
	})
	for e := err; e != nil; e = errors.Unwrap(e) {
		g.hush("the error", e.Error())
	}
	return code, err
}

func (g *rig) wantCode(place int) {
	g.t.Helper()
	if code, err := g.check(place); err != nil || !bytes.Equal(code, []byte{0x60}) {
		g.t.Errorf("endpoint %d: got %x, %v, want 60", place, code, err)
	}
}

// newChecker is a rig for checks whose endpoints know one contract.
func newChecker(t *testing.T, n int) (*rig, []*node.Front) {
	fronts := make([]*node.Front, n)
	for i := range fronts {
		fronts[i] = node.NewFront(t, simple)
		fronts[i].Instead("eth_getCode", node.Results(`"0x60"`))
	}
	return newRigWith(t, map[Lane]Limits{Partners: patient, Unverified: patient, Wallets: patient, Checks: patient}, fronts...), fronts
}

func TestCheckAsksTheEndpointItNames(t *testing.T) {
	t.Parallel()
	g, fronts := newChecker(t, 2)
	g.wantCode(2)
	g.wantCode(2)
	if got := fronts[0].Count("eth_chainId"); got != 0 {
		t.Errorf("endpoint 1 was asked %d times", got)
	}
	if got := fronts[1].Count("eth_chainId"); got != 2 {
		t.Errorf("endpoint 2 was asked %d times which chain it serves, want every time", got)
	}
	for _, place := range []int{-1, 0, 3} {
		_, err := g.check(place)
		g.wantReason(Checks, err, Unconfigured)
	}
	if err := g.Check(context.Background(), 1, 1, nil); !errors.Is(err, errUnconfigured) {
		t.Errorf("a chain without endpoints: got %v", err)
	}
	g.wantHealth(Unused, 0) // checks are not counted
	g.Close()
	_, err := g.check(1)
	g.wantReason(Checks, err, Closed)
}

// A check that fails is no reason to skip the endpoint, not even for the next
// check.
func TestFailedCheckRestsNothing(t *testing.T) {
	t.Parallel()
	g, fronts := newChecker(t, 1)
	for _, bad := range []struct {
		answer http.HandlerFunc
		want   Reason
	}{
		{node.Status(500), Refused},
		{node.RPCError(-32000), Refused},
		{node.Drops, Unreachable},
		{node.Aborts, Undecodable},
		{node.Pours, Undecodable},
		{node.Says("<html>"), Undecodable},
		{node.Results("null"), Undecodable},
		{node.Results("{}"), Undecodable},
		{node.Results(`"0x123"`), Undecodable},
	} {
		fronts[0].Instead("eth_getCode", bad.answer)
		for range 2 {
			_, err := g.check(1)
			g.wantReason(Checks, err, bad.want)
		}
	}
	for _, lane := range []Lane{Partners, Unverified, Wallets} {
		g.wantAnswer(lane)
	}
	if got := g.log(); got != "" {
		t.Errorf("the log says %s, want it left to the caller", got)
	}
	fronts[0].Instead("eth_getCode", node.Results(`"0x"`))
	if code, err := g.check(1); err != nil || len(code) != 0 {
		t.Errorf("got %x, %v of an account without code", code, err)
	}
}

// What a check learns of the chain holds for all lanes.
func TestCheckFindsAnotherChain(t *testing.T) {
	t.Parallel()
	g, fronts := newChecker(t, 1)
	g.wantAnswer(Partners)
	fronts[0].Instead("eth_chainId", node.Results(`"0x1"`))
	g.wantAnswer(Partners) // which it was asked before
	_, err := g.check(1)
	if f := g.wantReason(Checks, err, WrongChain); f.Text != "it serves chain 1" {
		t.Errorf("got %q", f.Text)
	}
	if got := fronts[0].Count("eth_getCode"); got != 0 {
		t.Error("an endpoint of another chain was asked for a contract")
	}
	g.wantFailure(Partners, WrongChain)
}

// Over a quota, checks give way, and so do strangers and wallets.
func TestCheckOverQuota(t *testing.T) {
	t.Parallel()
	g, fronts := newChecker(t, 1)
	fronts[0].Instead("eth_getCode", node.Limited(""))
	_, err := g.check(1)
	g.wantReason(Checks, err, Limited)
	fronts[0].Instead("eth_getCode", node.Results(`"0x60"`))
	_, err = g.check(1)
	g.wantReason(Checks, err, Limited)
	if got := fronts[0].Count("eth_getCode"); got != 1 {
		t.Errorf("asked %d times, want none while it rests", got)
	}
	g.wantFailure(Unverified, Resting)
	g.wantAnswer(Partners)
	g.pass(time.Minute)
	g.wantCode(1)
}
