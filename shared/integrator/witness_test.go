package integrator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/testkit/node"
)

// witness is a node of chain 369 that says of wallet 1 what the test wants.
type witness struct {
	t  *testing.T
	mu sync.Mutex

	fee    uint16
	active bool
	none   bool          // the wallet is not registered
	age    time.Duration // of its latest block
	silent bool          // it does not answer until it is no longer
	status int           // of HTTP, 0 for 200

	*node.Meter
	now func() time.Time
}

func (w *witness) set(change func(*witness)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	silent, status := w.silent, w.status
	w.mu.Unlock()
	switch {
	case silent:
		<-r.Context().Done()
		return
	case status != 0:
		node.Status(status)(out, r)
		return
	}
	type call struct {
		ID     json.RawMessage
		Method string
	}
	var batch []call
	if json.Unmarshal(body, &batch) != nil {
		var one call
		if err := json.Unmarshal(body, &one); err != nil {
			w.t.Error(err)
		}
		node.Says(w.answer(one.ID, one.Method))(out, r)
		return
	}
	answers := make([]string, len(batch))
	for i, c := range batch {
		answers[i] = w.answer(c.ID, c.Method)
	}
	node.Says("["+strings.Join(answers, ",")+"]")(out, r)
}

func (w *witness) answer(id json.RawMessage, method string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	result := `"0x171"`
	switch method {
	case "eth_call":
		owner, active := wallet(1).Big(), 0
		if w.none {
			owner.SetInt64(0)
		}
		if w.active {
			active = 1
		}
		result = fmt.Sprintf(`"0x%064x%064x%064x"`, owner, w.fee, active)
	case "eth_getBlockByNumber":
		result = fmt.Sprintf(`{"number":"0x7","hash":"0x%064x","timestamp":"0x%x"}`, 7, w.now().Add(-w.age).Unix())
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// witnesses is a rig with so many nodes, which all say 25 basis points.
func witnesses(t *testing.T, n int) (*rig, []*witness) {
	t.Helper()
	var g *rig
	var all []*witness
	var fronts []*node.Front
	for range n {
		w := &witness{t: t, fee: 25, active: true, now: func() time.Time { return g.now() }}
		w.Meter = &node.Meter{Node: w}
		all = append(all, w)
		fronts = append(fronts, newFront(t, w.Meter))
	}
	g = newRig(t, fronts...)
	return g, all
}

// A fee is what two endpoints say, or two of three.
func TestTwoWitnesses(t *testing.T) {
	t.Parallel()
	lies := func(w *witness) { w.fee = 900 }
	for name, tt := range map[string]struct {
		nodes  int
		change map[int]func(*witness)
		want   uint16 // the fee, 0 for none
		code   fault.Code
		reason rpc.Reason
	}{
		"both agree":                      {nodes: 2, want: 25},
		"the first lies":                  {nodes: 2, change: map[int]func(*witness){0: lies}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"the second lies":                 {nodes: 2, change: map[int]func(*witness){1: lies}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"one says inactive":               {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.active = false }}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"one says unregistered":           {nodes: 2, change: map[int]func(*witness){1: func(w *witness) { w.none = true }}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"both say unregistered":           {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.none = true }, 1: func(w *witness) { w.none = true }}, code: fault.IntegratorUnregistered},
		"the first lies, of three":        {nodes: 3, change: map[int]func(*witness){0: lies}, want: 25},
		"the second lies, of three":       {nodes: 3, change: map[int]func(*witness){1: lies}, want: 25},
		"the third lies":                  {nodes: 3, change: map[int]func(*witness){2: lies}, want: 25},
		"each says something else":        {nodes: 3, change: map[int]func(*witness){0: lies, 1: func(w *witness) { w.fee = 1 }}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"they differ, the third is down":  {nodes: 3, change: map[int]func(*witness){0: lies, 2: func(w *witness) { w.status = 503 }}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"the first is down":               {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.status = 502 }}, want: 25},
		"the second is down":              {nodes: 2, change: map[int]func(*witness){1: func(w *witness) { w.status = 403 }}, want: 25},
		"the first is down, of three":     {nodes: 3, change: map[int]func(*witness){0: func(w *witness) { w.status = 500 }, 2: lies}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"both are down":                   {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.status = 502 }, 1: func(w *witness) { w.status = 502 }}, code: fault.IntegratorUnverified, reason: rpc.Refused},
		"yesterday's node":                {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.fee, w.age = 900, 24*time.Hour }}, want: 25},
		"yesterday's node is the second":  {nodes: 2, change: map[int]func(*witness){1: func(w *witness) { w.fee, w.age = 900, 24*time.Hour }}, want: 25},
		"yesterday's node, of three":      {nodes: 3, change: map[int]func(*witness){0: func(w *witness) { w.fee, w.age = 900, 24*time.Hour }}, want: 25},
		"a node that is just behind":      {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.age = 3 * time.Minute }}, want: 25},
		"both stand still":                {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.age = time.Hour }, 1: func(w *witness) { w.age = time.Hour }}, code: fault.IntegratorUnverified, reason: rpc.Behind},
		"one endpoint is believed":        {nodes: 1, change: map[int]func(*witness){0: lies}, want: 900},
		"one endpoint that stands still":  {nodes: 1, change: map[int]func(*witness){0: func(w *witness) { w.age = time.Hour }}, want: 25},
		"a fee above the cap, from both":  {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.fee = 2000 }, 1: func(w *witness) { w.fee = 2000 }}, code: fault.IntegratorFeeTooHigh},
		"a fee above the cap, from one":   {nodes: 2, change: map[int]func(*witness){0: func(w *witness) { w.fee = 2000 }}, code: fault.IntegratorUnverified, reason: rpc.Disagree},
		"a fee above the cap, one of two": {nodes: 3, change: map[int]func(*witness){1: func(w *witness) { w.fee = 2000 }}, want: 25},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, nodes := witnesses(t, tt.nodes)
			for i, change := range tt.change {
				nodes[i].set(change)
			}
			switch {
			case tt.want != 0:
				g.wantFee(1, tt.want)
			case tt.reason != "":
				g.wantUnverified(1, tt.reason)
			default:
				g.wantFault(1, tt.code)
			}
			differs := 0
			if tt.reason == rpc.Disagree || strings.Contains(name, "lies, of three") || strings.Contains(name, "one of two") {
				differs = 1
			}
			var got int
			g.note(func() { got = g.differs })
			if got != differs || strings.Count(g.log(), "disagree about an integrator") != differs {
				t.Errorf("endpoints differed %d times, want %d; the log says %s", got, differs, g.log())
			}
		})
	}
}

// The second endpoint is waited for a moment, and then the first one's word counts.
func TestSilentWitness(t *testing.T) {
	t.Parallel()
	for silent := range 2 {
		t.Run(fmt.Sprint(silent+1), func(t *testing.T) {
			t.Parallel()
			g, nodes := witnesses(t, 2)
			nodes[silent].set(func(w *witness) { w.silent = true })
			start := time.Now()
			g.wantFee(1, 25)
			if took := time.Since(start); took < secondWait || took > patient.Try/2 {
				t.Errorf("it took %v, want a little more than %v", took, secondWait)
			}
		})
	}
}

// What a look-up costs: first, once the chain is known, and from memory.
func TestCallsOfALookup(t *testing.T) {
	t.Parallel()
	for endpoints, want := range map[int][3][2]int{
		1: {{2, 2}, {1, 1}, {0, 0}},
		2: {{6, 4}, {4, 2}, {0, 0}},
		3: {{6, 4}, {4, 2}, {0, 0}},
	} {
		g, nodes := witnesses(t, endpoints)
		for again, want := range want {
			g.wantFee(1, 25)
			calls, requests := 0, 0
			for _, n := range nodes {
				c, r := n.Meter.Read()
				calls, requests = calls+c, requests+r
			}
			if calls != want[0] || requests != want[1] {
				t.Errorf("%d endpoints, time %d: %d calls in %d requests, want %d in %d", endpoints, again+1, calls, requests, want[0], want[1])
			}
			if again == 0 {
				g.pass(config.CacheTTL) // the answer has ended
			}
		}
	}
}

func TestWordsOfEndpoints(t *testing.T) {
	if got := (reading{failure: errNoReading}).String(); got != "no answer" {
		t.Errorf("got %q of a failure", got)
	}
	said := reading{endpoint: 2, registration: registration{standing: active, partner: Partner{FeeBPS: 25}}}
	if got := said.String(); got != "endpoint 2: active, 25 basis points" {
		t.Errorf("got %q", got)
	}
}

// Of two failures the one that names a cause counts.
func TestEither(t *testing.T) {
	silent, late := &rpc.Failure{Reason: rpc.Disagree}, &rpc.Failure{Reason: rpc.Undecodable}
	none := &rpc.Failure{Reason: rpc.Unconfigured}
	for _, tt := range []struct{ second, want *rpc.Failure }{{late, late}, {none, silent}, {nil, nil}} {
		if _, got := either(reading{failure: silent}, reading{failure: tt.second}); got != tt.want {
			t.Errorf("after %v, of %v: got %v, want %v", silent, tt.second, got, tt.want)
		}
	}
}

// The log says every ten minutes at most that endpoints differ.
func TestDifferencesAreLoggedAtTimes(t *testing.T) {
	var log bytes.Buffer
	now, heard := time.Unix(1_800_000_000, 0), 0
	r := &Registry{Options: Options{
		Hooks: Hooks{Differ: func(chain.ID) { heard++ }},
		Log:   slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
	}}
	for _, step := range []struct {
		after time.Duration
		lines int
	}{{0, 1}, {10*time.Minute - 1, 1}, {1, 2}, {time.Minute, 2}} {
		now = now.Add(step.after)
		r.differ(question{})
		if got := strings.Count(log.String(), "disagree about an integrator"); got != step.lines {
			t.Errorf("%d lines at %v, want %d", got, now, step.lines)
		}
	}
	if heard != 4 {
		t.Errorf("the hook heard of %d differences, want all 4", heard)
	}
}
