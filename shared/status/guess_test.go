package status

import (
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/chain"
)

// Where a search begins, or which block is read next, follows from what is known of the
// chain alone. Blocks of Ethereum take 12 seconds.
func TestGuess(t *testing.T) {
	const span = 1000
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	head := mark{1_000_000, now}
	for name, test := range map[string]struct {
		search search
		target time.Time
		number uint64
		begins bool
	}{
		"a source of the future":       {search{top: head, high: head}, now.Add(time.Second), 1_000_000, true},
		"a source of a moment ago":     {search{top: head, high: head}, now, 1_000_000, true},
		"a short time ago":             {search{top: head, high: head}, ago(100 * time.Second), 1_000_000 - 500, true},
		"hours ago, blocks as usual":   {search{top: head, high: head}, ago(240_000 * time.Second), 1_000_000 - 20_000 - 500, false},
		"longer ago than the chain is": {search{top: mark{50, now}, high: mark{50, now}}, ago(time.Hour), 0, true},
		"few blocks between": {
			search{top: head, high: mark{500_000, ago(6_000_000 * time.Second)}, low: mark{499_500, ago(9_000_000 * time.Second)}},
			ago(8_000_000 * time.Second), 499_500, true,
		},
		"a block just before it": {
			search{top: head, high: mark{900_000, ago(1_200_000 * time.Second)}, low: mark{800_000, ago(2_400_000 * time.Second)}},
			ago(2_400_000*time.Second - 12_000*time.Second), 800_000, true,
		},
		"blocks of half the pace": {
			search{top: head, high: mark{900_000, ago(2_400_000 * time.Second)}}, ago(4_800_000 * time.Second),
			900_000 - 100_000 - 500, false,
		},
		"guesses that have not helped": {
			search{top: head, high: mark{900_000, ago(1_200_000 * time.Second)}, low: mark{100_000, ago(90_000_000 * time.Second)}, probes: evenProbes},
			ago(40_000_000 * time.Second), 500_000, false,
		},
	} {
		before := test.search
		number, begins := test.search.guess(test.target, span, chain.ID(1))
		if number != test.number || begins != test.begins {
			t.Errorf("%s: got %d, %t, want %d, %t", name, number, begins, test.number, test.begins)
		}
		if test.search.high != before.high || test.search.low != before.low || test.search.located {
			t.Errorf("%s: a guess has changed the search", name)
		}
	}
}
