package usage

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/event"
)

// from has v1 serve a call of an anonymous client that says it is an origin.
func (r *rig) from(addr, origin string) {
	c := caller.Caller{Origin: origin, Agent: "curl", Addr: netip.MustParseAddr(addr)}
	r.Observe(&event.Event{Time: r.clock.now(), Version: "v1", Caller: c, Client: r.Name(c.Identity()), Pair: pair})
}

// flood invents clients on one network.
func (r *rig) flood(what string, clients int) {
	for i := range clients {
		r.from(fmt.Sprintf("203.0.113.%d", i%256), fmt.Sprintf("https://%s-%d.example", what, i))
	}
}

// names are the clients of the last 90 days.
func (r *rig) names(t *testing.T) (names []string) {
	for _, c := range r.report(t).Clients {
		names = append(names, c.Client)
	}
	return names
}

// A network adds at most 20 clients a day. Further calls count under the network,
// and none is lost.
func TestNetworkInventsClients(t *testing.T) {
	onEach(t, func(t *testing.T, cfg Config) {
		at := &clock{t: noon}
		r := begin(t, cfg, at)
		r.from("203.0.113.9", "https://wallet.example")
		r.flush(t)
		at.pass(26 * time.Hour)
		r.flood("invented", 500)
		r.from("203.0.113.9", "https://wallet.example") // was seen before
		r.from("198.51.100.1", "https://other.example") // another network
		names := r.names(t)
		if len(names) != 1+newPerNetwork+1+1 {
			t.Errorf("got %d clients, want the first, %d invented, their network and one elsewhere: %q", len(names), newPerNetwork, names)
		}
		if !strings.HasPrefix(names[0], "network #") {
			t.Errorf("got %q with the most calls, want the network", names[0])
		}
		if got := r.report(t).Versions[1].Day.Calls; got != 502 {
			t.Errorf("got %d calls, want all 502", got)
		}

		// A restart on the same day does not give the network a new allowance.
		if cfg.DB != "" {
			r.close()
			r = begin(t, cfg, at)
			r.flood("again", 50)
			if got := r.names(t); len(got) != len(names) {
				t.Errorf("got %d clients after a restart, want still %d", len(got), len(names))
			}
		}
		at.pass(24 * time.Hour)
		r.flood("tomorrow", 50)
		if got := r.names(t); len(got) != len(names)+newPerNetwork {
			t.Errorf("got %d clients on the next day, want %d more", len(got), newPerNetwork)
		}
	})
}

// Instances that share a database share the allowance, as soon as they have
// written.
func TestNetworkInventsClientsOnTwoInstances(t *testing.T) {
	cfg := Config{DB: postgres(t).fresh(t)}
	at := &clock{t: noon}
	a, b := begin(t, cfg, at), begin(t, cfg, at)
	a.flood("here", 50)
	a.flush(t)
	b.flush(t)
	b.flood("there", 50)
	if got := len(b.names(t)); got != newPerNetwork+1 {
		t.Errorf("got %d clients, want %d and their network", got, newPerNetwork)
	}
}

// However many networks take part in a flood, clients of earlier days and known
// ones are counted apart.
func TestFloodLeavesRoomForOthers(t *testing.T) {
	r := begin(t, Config{}, &clock{t: noon})
	r.buffer = newBuffer(16, 10)
	for i := range 64 {
		r.call(fmt.Sprintf("origin https://early-%d.example", i), 1)
	}
	r.flush(t)
	r.clock.pass(24 * time.Hour)
	r.flush(t)
	if got := len(r.names(t)); got != 64 {
		t.Fatalf("got %d clients before the flood, want 64", got)
	}
	for i := range 3_000 {
		r.from(fmt.Sprintf("10.%d.%d.1", i/256, i%256), fmt.Sprintf("https://invented-%d.example", i))
	}
	for i := range 64 {
		r.call(fmt.Sprintf("origin https://early-%d.example", i), 1)
	}
	r.call("client partner", 1)
	today := 0
	for _, c := range r.report(t).Clients {
		if (strings.Contains(c.Client, "early") || c.Known) && c.LastSeen.Equal(r.clock.now()) {
			today++
		}
	}
	if today != 65 {
		t.Errorf("got %d clients of earlier days, want 64 and the known one", today)
	}
}

// Nothing that networks do grows without bound.
func TestNetworksAreBounded(t *testing.T) {
	n := networks{}
	n.seed = newBuffer(1, 1).seed
	for i := range int64(2 * shards * networkPerShard) {
		n.admit(i, 1)
	}
	total := 0
	for i := range n.shards {
		total += len(n.shards[i].added)
	}
	if total > shards*networkPerShard || total < shards*networkPerShard/2 {
		t.Errorf("got %d networks, want at most %d", total, shards*networkPerShard)
	}
}
