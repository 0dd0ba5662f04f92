package integrator

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/quotegate/quotegate/shared/fault"
)

func TestLongAnswer(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369))
	g := newRig(t, front)
	body := `{"jsonrpc":"2.0","id":1,"result":` + words(fmt.Sprintf("%x", wallet(1)), "19", "1") + "}"
	longest := strings.Repeat(" ", maxAnswer-len(body)) + body
	front.instead("eth_call", says(" "+longest))
	g.wantUnverified(1, Undecodable)
	front.instead("eth_call", says(longest))
	g.pass(time.Second)
	g.wantFee(1, 25)
}

func TestHangingNode(t *testing.T) {
	t.Parallel()
	node := newEVM(t, 369, partner(1, 25))
	hung, alive := newFront(t, node), newFront(t, node)
	hung.instead("eth_call", hangs)
	g := newRigWith(t, config(hung, alive), defaultLimits)
	g.wantFee(1, 25)
	if got := g.Health()[2]; got.Resting != 1 || got.State != Working {
		t.Errorf("health %+v, want one endpoint resting and the chain working", got)
	}
}

// A look-up ends in time even if no endpoint does.
func TestHangingNodes(t *testing.T) {
	t.Parallel()
	var hung []*front
	for range 5 {
		hung = append(hung, newFront(t, http.HandlerFunc(hangs)))
	}
	g := newRigWith(t, config(hung...), limits{try: 400 * time.Millisecond, lookup: time.Second, calls: 1, waiting: 1})
	if e := g.wantUnverified(1, Timeout); strings.Contains(e.Error(), "endpoint 5") {
		t.Errorf("%v: the last endpoint is named though it was not asked", e)
	}
	if got := hung[4].count("eth_chainId"); got != 0 {
		t.Errorf("the last endpoint was asked though the time was up")
	}
}

func TestKilledNode(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	g.wantFee(1, 25)
	front.Close()
	g.wantFee(1, 25)
	g.pass(30 * time.Second)
	g.wantUnverified(1, Unreachable)
	g.wantUnverified(2, Resting)
}

// An endpoint may close a connection that nobody uses; that is not a failure.
func TestIdleConnectionClosed(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	for range 20 {
		g.wantFee(1, 25)
		front.CloseClientConnections()
		g.pass(30 * time.Second)
	}
}

func TestWrongChain(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 8453, partner(1, 25)))
	g := newRig(t, front)
	for range 3 {
		g.wantUnverified(1, WrongChain)
		g.pass(30 * time.Second)
	}
	if got := front.count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is skipped, want 0", got)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelError {
		t.Errorf("logged at %v, want once at %v:\n%s", got, slog.LevelError, g.log())
	}

	// Somebody puts the right node there.
	front.instead("eth_chainId", results(`"0x171"`))
	front.instead("eth_call", results(words(fmt.Sprintf("%x", wallet(1)), "19", "1")))
	g.wantFee(1, 25)
	if got := g.levels(); len(got) != 2 || got[1] != slog.LevelInfo {
		t.Errorf("logged at %v, want the recovery too:\n%s", got, g.log())
	}
}

func TestUnclearChain(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	for name, result := range map[string]string{
		"none": `null`, "empty": `""`, "decimal": `"369"`, "number": `369`, "prefix only": `"0x"`, "too long": `"0x1710000000000000000000"`, "zero": `"0x0"`,
	} {
		t.Run(name, func(t *testing.T) {
			front.instead("eth_chainId", results(result))
			g := newRig(t, front)
			g.wantFault(1, fault.IntegratorUnverified)
			if got := g.Health()[2].Resting; got != 1 {
				t.Errorf("%d endpoints rest, want 1", got)
			}
		})
	}
	if got := front.count("eth_call"); got != 0 {
		t.Errorf("%d calls of an endpoint that is skipped, want 0", got)
	}
}

// An endpoint says which chain it serves once, and again after it failed.
func TestChainIsCheckedOnFirstUse(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	g := newRig(t, front)
	want := func(checks int) {
		t.Helper()
		if got := front.count("eth_chainId"); got != checks {
			t.Fatalf("%d chain checks, want %d", got, checks)
		}
	}
	want(0)
	g.wantFee(1, 25)
	g.wantFault(2, fault.IntegratorUnregistered)
	g.pass(time.Hour)
	g.wantFee(1, 25)
	want(1)
	front.instead("eth_call", status(500))
	g.wantUnverified(3, Refused)
	want(1)
	front.instead("eth_call", nil)
	g.pass(time.Second)
	g.wantFault(3, fault.IntegratorUnregistered)
	want(2)
}

func TestRestsGrowLonger(t *testing.T) {
	t.Parallel()
	front := newFront(t, newEVM(t, 369, partner(1, 25)))
	front.instead("eth_call", status(503))
	g := newRig(t, front)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		if got := g.wantUnverified(1, Refused).RetryAfter; got != want {
			t.Errorf("retry after %v, want %v", got, want)
		}
		g.pass(want - 1)
		g.wantUnverified(1, Resting)
		g.pass(1)
	}
	if got := g.levels(); len(got) != 1 || got[0] != slog.LevelWarn {
		t.Errorf("logged at %v, want once at %v", got, slog.LevelWarn)
	}
	front.instead("eth_call", nil)
	g.wantFee(1, 25)
	front.instead("eth_call", status(503))
	if got := g.wantUnverified(2, Refused).RetryAfter; got != time.Second {
		t.Errorf("retry after %v, want a second: the endpoint had worked in between", got)
	}
}

// Calls that fail together count as one failure.
func TestFailuresTogetherAreOne(t *testing.T) {
	now := time.Unix(0, 0)
	e := &endpoint{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler)}
	for range 16 {
		e.failed(&failure{reason: Timeout})
	}
	if got := e.resting(); got != firstRest {
		t.Errorf("rests for %v, want %v", got, firstRest)
	}
}

// What a real EVM answers when there is something else at the address.
func TestNoRegistryThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code   string
		reason Reason
	}{
		"nothing":                       {"", Undecodable},
		"reverts without a reason":      {"60006000fd", Reverted},
		"reverts with a reason":         {"7f08c379a000000000000000000000000000000000000000000000000000000000600052600460006000a060206000fd", Reverted},
		"runs out of instructions":      {"fe", Refused},
		"answers one word":              {"600160005260206000f3", Undecodable},
		"answers three that are not so": {"60ff60405260606000f3", Undecodable},
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

// levels are those of the lines logged so far.
func (g *rig) levels() []slog.Level {
	g.t.Helper()
	var levels []slog.Level
	for line := range strings.Lines(g.log()) {
		var entry struct {
			Level    slog.Level
			Chain    int
			Endpoint int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			g.t.Fatal(err)
		}
		if entry.Chain != 369 || entry.Endpoint != 1 {
			g.t.Errorf("%s does not name endpoint 1 of chain 369", line)
		}
		levels = append(levels, entry.Level)
	}
	return levels
}
