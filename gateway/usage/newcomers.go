package usage

import (
	"hash/maphash"
	"sync"
)

// A network can add this many clients a day. Calls of further ones count under the
// name of the network, so that one address cannot invent clients without end.
const newPerNetwork = 20

const (
	seenPerShard    = 4096 // 64 × 4096 = 262,144 clients are recognised as seen on an earlier day
	networkPerShard = 1024 // 64 × 1024 = 65,536 networks may add clients on one day
)

// networks counts the clients that each network has added today.
type networks struct {
	seed   maphash.Seed
	shards [shards]struct {
		sync.Mutex
		day   int64
		added map[int64]int // by the network's hash
	}
}

// admit reports whether a network may add one more client on a day, and counts it.
func (n *networks) admit(network, day int64) bool {
	s := &n.shards[maphash.Comparable(n.seed, network)%shards]
	s.Lock()
	defer s.Unlock()
	if s.day != day || s.added == nil {
		s.day, s.added = day, map[int64]int{}
	}
	added, known := s.added[network]
	if added >= newPerNetwork || !known && len(s.added) >= networkPerShard {
		return false
	}
	s.added[network] = added + 1
	return true
}

// set corrects a count by what all instances have written.
func (n *networks) set(network, day int64, added int) {
	s := &n.shards[maphash.Comparable(n.seed, network)%shards]
	s.Lock()
	defer s.Unlock()
	if s.day != day || s.added == nil {
		s.day, s.added = day, map[int64]int{}
	}
	if len(s.added) < networkPerShard || s.added[network] > 0 {
		s.added[network] = max(s.added[network], added)
	}
}
