package limit

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quotegate/quotegate/shared/testkit/journal"
)

const masters = 3

// startCluster starts a cluster in which each master has a replica. Node i+3 is
// the replica of node i.
func startCluster(t *testing.T) []*server {
	t.Helper()
	nodes := make([]*server, 2*masters)
	for i := range nodes {
		nodes[i] = startRedis(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
	}
	ctx := t.Context()
	host, port, err := net.SplitHostPort(nodes[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes {
		// No election succeeds while nodes have the same epoch.
		if err := n.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := n.ClusterMeet(ctx, host, port).Err(); err != nil {
			t.Fatal(err)
		}
		if i < masters {
			if err := n.ClusterAddSlotsRange(ctx, i*16384/masters, (i+1)*16384/masters-1).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, n := range nodes[masters:] {
		id := nodes[i].ClusterMyID(ctx).Val()
		eventually(t, "a replica", func() bool { return n.ClusterReplicate(ctx, id).Err() == nil })
	}
	for i, n := range nodes {
		eventually(t, "the cluster", func() bool {
			return strings.Contains(n.ClusterInfo(ctx).Val(), "cluster_state:ok") &&
				strings.Count(n.ClusterNodes(ctx).Val(), "slave ") == masters &&
				(i < masters || strings.Contains(n.Info(ctx, "replication").Val(), "master_link_status:up"))
		})
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range nodes {
				t.Logf("%s sees\n%s", n.addr, n.ClusterNodes(context.Background()).Val())
			}
		}
	})
	return nodes
}

// A cluster loses a node under load. The limits are exact before and after, and
// every request in between is answered by the limit's rules.
func TestAClusterLosesANode(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	nodes := startCluster(t)
	loseAServer(t, "redis://"+nodes[0].addr+"?addr="+nodes[1].addr, nodes[1], nodes[0], nodes[2], nodes[3], nodes[4], nodes[5])

	// The keys were spread over all masters, and the replica took over.
	for i, n := range []*server{nodes[0], nodes[2], nodes[1+masters]} {
		if n.DBSize(t.Context()).Val() == 0 {
			t.Errorf("node %d has no keys", i)
		}
	}
	if role := nodes[1+masters].Info(t.Context(), "replication").Val(); !strings.Contains(role, "role:master") {
		t.Errorf("got a replica with %s, want it to be a master", role)
	}
}

// The same, with a master and its replica, watched by a Sentinel.
func TestSentinelReplacesTheMaster(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	master := startRedis(t)
	host, port, err := net.SplitHostPort(master.addr)
	if err != nil {
		t.Fatal(err)
	}
	replica := startRedis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	if err := os.WriteFile(config, []byte(fmt.Sprintf(
		"sentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 2000\n", host, port)), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := startRedis(t, config, "--sentinel")
	eventually(t, "the replica to be known", func() bool {
		replicas, err := sentinel.Do(t.Context(), "SENTINEL", "REPLICAS", "main").Slice()
		return err == nil && len(replicas) == 1 && strings.Contains(replica.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	// The first Sentinel is away.
	loseAServer(t, "redis://127.0.0.1:1?master_name=main&addr="+sentinel.addr, master, replica)
	if n := replica.DBSize(t.Context()).Val(); n == 0 {
		t.Error("the new master has no keys")
	}
}

// loseAServer kills a server while two limiters use it and others.
func loseAServer(t *testing.T, url string, lost *server, others ...*server) {
	t.Helper()
	p := pair{servers: append(others, lost), log: &journal.Journal{}}
	for i := range p.limiters {
		p.limiters[i] = startShared(t, url, logTo(p.log), patient)
	}
	p.wantExactLimits(t, 1)

	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for worker, l := range p.limiters {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				from := source(1_000_000*(worker+1) + n)
				for sent := range 32 {
					if passed := l.passes(from); passed != (sent < 30) {
						t.Errorf("request %d of %s: passed %v", sent+1, from.id, passed)
						return
					}
				}
				time.Sleep(time.Millisecond) // within a minute there must not be more sources than memory can count
			}
		})
	}
	lost.kill()
	for _, l := range p.limiters {
		eventually(t, "the fallback", l.isOn(Fallback))
	}
	for _, l := range p.limiters {
		eventually(t, "the return to Redis", l.isOn(Redis))
	}
	stop()
	wg.Wait()
	p.wantExactLimits(t, 100)
	if ended := p.log.Count("responds again"); p.outages() != ended || ended < 2 {
		t.Errorf("got a log of %s, want an end of every outage", p.log)
	}
}

// pair is two limiters that share their counts.
type pair struct {
	limiters [2]*Limiter
	servers  []*server
	log      *journal.Journal
}

func (p *pair) outages() int { return p.log.Count("does not respond") }

// wantExactLimits has clients of a network use up their budgets at both instances by
// turns. On a slow machine the servers may lose sight of one another meanwhile. Each
// limiter then counts by itself, which proves nothing: the next network is asked.
func (p *pair) wantExactLimits(t *testing.T, network int) {
	t.Helper()
	const rounds = 20
	for last := network + rounds; network < last; network++ {
		for _, l := range p.limiters {
			eventually(t, "Redis", l.isOn(Redis))
		}
		outages := p.outages()
		wrong := p.spend(network)
		if p.outages() != outages {
			t.Logf("network %d: Redis did not decide alone; the next one is asked", network)
			continue
		}
		for _, line := range wrong {
			t.Error(line)
		}
		return
	}
	t.Errorf("in %d rounds Redis never decided alone", rounds)
}

// spend has 40 clients of a network ask 40 times, and tells which answers were wrong.
func (p *pair) spend(network int) (wrong []string) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for n := range 40 {
		wg.Go(func() {
			from := source(256*network + n)
			for sent := range 40 {
				if passed := p.limiters[sent%2].passes(from); passed != (sent < 30) {
					mu.Lock()
					wrong = append(wrong, fmt.Sprintf("request %d of %s: passed %v", sent+1, from.id, passed))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return wrong
}
