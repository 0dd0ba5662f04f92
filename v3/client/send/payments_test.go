package send

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/v3/client"
)

// TestContent: the same swap of the same account is the same payment, whatever else was asked about it.
func TestContent(t *testing.T) {
	account := common.Address{1}
	newSwap := func() *Swap {
		return &Swap{
			ChainID: 1,
			Main:    client.Call{ChainID: 1, To: common.Address{2}, Value: big.NewInt(3), Data: []byte{4}},
			Quote: &client.Checked{
				Request: client.Request{SrcChain: 1, Amount: big.NewInt(5), Recipient: "0x6"},
				Quote:   &client.Quote{Details: &client.Details{ValidUntil: "2026-11-15T12:01:00Z"}},
			},
		}
	}
	for name, test := range map[string]struct {
		change func(*Swap)
		same   bool
	}{
		"nothing":             {func(*Swap) {}, true},
		"asked for with from": {func(w *Swap) { w.Quote.Request.From = account }, true},
		"simulated":           {func(w *Swap) { w.Quote.Request.Simulate = true }, true},
		"approved":            {func(w *Swap) { w.Approval = &client.Call{} }, true},
		"begun":               {func(w *Swap) { w.Steps = []Step{{What: SwapStep}} }, true},
		"another recipient":   {func(w *Swap) { w.Quote.Request.Recipient = "0x7" }, false},
		"another call":        {func(w *Swap) { w.Main.Data = []byte{8} }, false},
		"another value":       {func(w *Swap) { w.Main.Value = big.NewInt(8) }, false},
		"another chain":       {func(w *Swap) { w.ChainID = 10 }, false},
		"a later quote":       {func(w *Swap) { w.Quote.Quote.Details.ValidUntil = "2026-11-15T12:01:01Z" }, false},
	} {
		other := newSwap()
		test.change(other)
		if got := other.content(account) == newSwap().content(account); got != test.same {
			t.Errorf("%s: got the same payment: %t, want %t", name, got, test.same)
		}
	}
	if newSwap().content(account) == newSwap().content(common.Address{9}) {
		t.Error("another account's swap is the same payment")
	}
}

// TestMemory: a payment is remembered until an hour after its quote has expired, and while it is running.
func TestMemory(t *testing.T) {
	start := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	expires := start.Add(time.Minute)
	step := []Step{{What: SwapStep}}
	for name, test := range map[string]struct {
		expires time.Time
		after   time.Duration
		running bool
		want    int // steps
	}{
		"at once":                       {expires, 0, false, 1},
		"an hour after it has expired":  {expires, 61 * time.Minute, false, 1},
		"later":                         {expires, 61*time.Minute + 1, false, 0},
		"later, and running":            {expires, 1000 * time.Hour, true, 1},
		"without an end":                {time.Time{}, 25 * time.Hour, false, 1},
		"without an end, later":         {time.Time{}, 25*time.Hour + 1, false, 0},
		"an end in many years, a day":   {start.AddDate(9, 0, 0), 25 * time.Hour, false, 1},
		"an end in many years, and now": {start.AddDate(9, 0, 0), 26 * time.Hour, false, 0},
	} {
		m := memory{known: map[string]*payment{}}
		p := m.begin("a", test.expires, start)
		m.end(p, step)
		if test.running {
			p = m.begin("a", test.expires, start)
			p.steps = step
		}
		m.begin("b", expires, start.Add(test.after))
		if got := m.begin("a", expires, start.Add(test.after)); len(got.steps) != test.want {
			t.Errorf("%s: got %d steps, want %d", name, len(got.steps), test.want)
		}
		if len(m.known) != 2 {
			t.Errorf("%s: %d payments are held, want 2", name, len(m.known))
		}
	}
	// A copy that ends sooner does not shorten it.
	m := memory{known: map[string]*payment{}}
	m.end(m.begin("a", expires, start), step)
	m.end(m.begin("a", start, start), step)
	if got := m.begin("a", expires, start.Add(61*time.Minute)); len(got.steps) != 1 {
		t.Error("a copy has shortened it")
	}
}
