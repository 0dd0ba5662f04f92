package integrator

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// words builds a registry's answer from its three words.
func readings(wallet, fee, active string) string {
	return fmt.Sprintf(`"0x%064s%064s%064s"`, wallet, fee, active)
}

// misbehaviours are answers to eth_call that must not be accepted. Package rpc
// tests many more ways in which a call itself fails.
func misbehaviours() []misbehaviour {
	good := fmt.Sprintf("%x", wallet(1))
	return []misbehaviour{
		{"internal error", node.Status(500), rpc.Refused},
		{"revert with a reason", node.Says(`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"paused","data":"0x"}}`), rpc.Reverted},
		{"no contract", node.Results(`"0x"`), rpc.Undecodable},
		{"two words", node.Results(fmt.Sprintf(`"0x%0128s"`, "1")), rpc.Undecodable},
		{"a byte short", node.Results(fmt.Sprintf(`"0x%0190s"`, "1")), rpc.Undecodable},
		{"four words", node.Results(fmt.Sprintf(`"0x%0256s"`, "1")), rpc.Undecodable},
		{"more than an address", node.Results(readings("1"+good, "19", "1")), rpc.Undecodable},
		{"more than a uint16", node.Results(readings(good, "10000", "1")), rpc.Undecodable},
		{"more than a bool", node.Results(readings(good, "19", "2")), rpc.Undecodable},
		{"far more than a bool", node.Results(readings(good, "19", "1"+strings.Repeat("0", 63))), rpc.Undecodable},
		{"another wallet", node.Results(readings(fmt.Sprintf("%x", wallet(3)), "19", "1")), rpc.Misconfigured},
	}
}

type misbehaviour struct {
	name    string
	instead http.HandlerFunc
	reason  rpc.Reason
}

// Whatever an endpoint does wrong, there is no fee, nothing is remembered, and
// all is well as soon as it does it right.
func TestMisbehavingEndpoint(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	for _, m := range misbehaviours() {
		t.Run(m.name, func(t *testing.T) {
			g := newRig(t, front)
			front.Instead("eth_call", m.instead)
			e, retry := g.wantUnverified(1, m.reason), time.Second
			if !m.reason.RestsEndpoint() {
				retry = time.Minute
			}
			if e.RetryAfter != retry {
				t.Errorf("retry after %v, want %v", e.RetryAfter, retry)
			}
			state, rests := rpc.Unused, 0
			switch {
			case m.reason.RestsEndpoint():
				state, rests = rpc.Failing, 1
			}
			if got, want := g.Health()[2], (Health{Network: 369, State: state, Endpoints: 1, Resting: rests}); got != want {
				t.Errorf("health %+v, want %+v", got, want)
			}
			if m.reason.RestsEndpoint() {
				calls := front.Count("eth_call")
				if e := g.wantUnverified(1, rpc.Resting); e.RetryAfter != time.Second {
					t.Errorf("retry after %v, want a second", e.RetryAfter)
				}
				if got := front.Count("eth_call") - calls; got != 0 {
					t.Errorf("%d calls of a resting endpoint, want 0", got)
				}
			}
			front.Instead("eth_call", nil)
			g.pass(time.Second)
			g.wantFee(1, 25)
			if got, want := g.Health()[2], (Health{Network: 369, State: rpc.Working, Endpoints: 1}); got != want {
				t.Errorf("health %+v, want %+v", got, want)
			}
		})
	}
}

// What a real EVM answers when there is something else at the address.
func TestNoRegistryThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code   string
		reason rpc.Reason
	}{
		"nothing":                       {"", rpc.Undecodable},
		"reverts without a reason":      {"60006000fd", rpc.Reverted},
		"reverts with a reason":         {"7f08c379a000000000000000000000000000000000000000000000000000000000600052600460006000a060206000fd", rpc.Reverted},
		"runs out of instructions":      {"fe", rpc.Refused},
		"answers one word":              {"600160005260206000f3", rpc.Undecodable},
		"answers three that are not so": {"60ff60405260606000f3", rpc.Undecodable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, newFront(t, newEVMWith(t, 369, func(common.Address) types.Account {
				return types.Account{Code: common.FromHex(test.code), Balance: common.Big0}
			})))
			g.wantUnverified(1, test.reason)
		})
	}
}
