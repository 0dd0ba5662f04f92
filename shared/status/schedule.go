package status

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/quotegate/quotegate/shared/chain"
)

// schedule says when to ask again, and how long the answer may be used until then.
func (l *lookup) schedule(s *Status) {
	block := l.network.BlockTime()
	missing := func(confirmations, has uint64) time.Duration {
		return time.Duration(max(confirmations, has)-has) * block
	}
	switch s.State {
	case NotFound:
		block = min(block, 3*time.Second)
		s.Next = block
	case Settling:
		block = l.slowest(s)
		s.Next = block
		if waited := l.now().Sub(s.Source.Time); waited > 10*time.Minute {
			s.Next = min(waited/20, time.Minute)
		}
	case Settled:
		if !s.Final {
			block = l.slowest(s)
			s.Next = block
		} else if s.incomplete() {
			s.Next = time.Minute
		}
	default:
		if s.Source == nil {
			s.Next = block
		} else if !s.Final {
			s.Next = missing(l.deployment.Confirmations(l.network), s.Source.Confirmations)
		}
	}
	if s.Next == 0 {
		s.Keep = finalAge
		return
	}
	s.Next = min(max(s.Next, 2*time.Second), time.Minute)
	s.Keep = min(block, s.Next)
}

// slowest is the longest block time of the destinations.
func (l *lookup) slowest(s *Status) time.Duration {
	longest := 2 * time.Second
	for i := range s.Swaps {
		longest = max(longest, chain.ID(s.Swaps[i].DstChainID).BlockTime())
	}
	return longest
}

// incomplete tells whether an event of a settlement was not found.
func (s *Status) incomplete() bool {
	for i := range s.Swaps {
		if p := s.Swaps[i].Settlement; p != nil && p.TxHash == (common.Hash{}) {
			return true
		}
	}
	return false
}
