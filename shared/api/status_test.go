package api

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/status"
)

// TestOmittedSwaps: a transaction is settling while a swap that is not listed may be, and has no settlement of its own.
func TestOmittedSwaps(t *testing.T) {
	paid := status.Swap{State: status.Settled, Settlement: &status.Settlement{ChainID: 369}}
	for state, want := range map[status.State]bool{status.Settling: false, status.Settled: true} {
		s := &status.Status{State: state, Omitted: 1, Swaps: []status.Swap{paid, paid}}
		body := mapStatus(1, common.Hash{}, s, "")
		if got := body.Settlement != nil; got != want {
			t.Errorf("%s: got a settlement: %v", state, got)
		}
	}
}
