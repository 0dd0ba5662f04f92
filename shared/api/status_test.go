package api

import (
	"strings"
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

func TestParseHash(t *testing.T) {
	digits := strings.Repeat("1f", common.HashLength)
	for text, want := range map[string]bool{"0x" + digits: true, "0X" + digits: false, digits: false, "0x" + digits + "00": false} {
		if got, err := parseHash(text); (err == nil) != want || want && got.Hex() != text {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
}
