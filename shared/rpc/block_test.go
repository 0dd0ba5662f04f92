package rpc

import (
	"math"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/quotegate/quotegate/shared/chain"
)

// A block is too old to be the latest one after twenty usual blocks, two minutes at
// least. One of the future is not, whatever number a node sends for its time.
func TestBlockTooOld(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		network chain.ID
		time    uint64
		want    bool
	}{
		"a slow chain, just in time":  {1, 1_800_000_000 - 240, false},
		"a slow chain, a second late": {1, 1_800_000_000 - 241, true},
		"a fast chain, just in time":  {42161, 1_800_000_000 - 120, false},
		"a fast chain, a second late": {42161, 1_800_000_000 - 121, true},
		"no time":                     {1, 0, true},
		"the future":                  {1, 1_900_000_000, false},
		"no time that a clock shows":  {1, math.MaxUint64, false},
	} {
		block := &Block{Time: hexutil.Uint64(test.time)}
		if got := block.TooOld(test.network, now); got != test.want {
			t.Errorf("%s: got %t of a block of %v", name, got, block.At())
		}
	}
}
