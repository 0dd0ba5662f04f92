package redisconn

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestTargets(t *testing.T) {
	got, err := Parse("rediss://x:y%26@a.example:26379/2?master_name=main&addr=b:26380&addr=[::1]:26379&username=user&password=p%40ss&pool_size=5")
	if err != nil || got.sentinels == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	o := got.sentinels
	if want := []string{"a.example:26379", "b:26380", "[::1]:26379"}; !slices.Equal(o.SentinelAddrs, want) {
		t.Errorf("got Sentinels %q, want %q", o.SentinelAddrs, want)
	}
	if o.MasterName != "main" || o.Username != "user" || o.Password != "p@ss" || o.DB != 2 || o.PoolSize != 5 || o.TLSConfig == nil {
		t.Errorf("got %+v", o)
	}
	if want := []string{"p@ss", "y&"}; !slices.Equal(got.Passwords, want) {
		t.Errorf("got passwords %q, want %q", got.Passwords, want)
	}
	got, err = Parse("redis://:secret@a?addr=b:6380&max_idle_conns=2")
	if err != nil || got.cluster == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	if want := []string{"a:6379", "b:6380"}; !slices.Equal(got.cluster.Addrs, want) {
		t.Errorf("got nodes %q, want %q", got.cluster.Addrs, want)
	}
	if want := []string{"secret"}; got.cluster.MaxIdleConns != 2 || !slices.Equal(got.Passwords, want) {
		t.Errorf("got %+v", got.cluster)
	}
}

// Options that would send requests to replicas, which cannot count, are without
// effect, and none makes go-redis panic.
func TestEveryTargetCounts(t *testing.T) {
	for _, url := range []string{
		"redis://127.0.0.1:1?master_name=main&route_randomly=true&route_by_latency=true&replica_only=true&protocol=3",
		"redis://127.0.0.1:1?addr=127.0.0.1:1&read_only=true&route_randomly=true",
	} {
		target, err := Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		client := target.Connect(time.Second, slog.New(slog.DiscardHandler))
		if cluster, ok := client.(*redis.ClusterClient); ok && (cluster.Options().ReadOnly || cluster.Options().MaxRedirects > 0) {
			t.Errorf("got %+v", cluster.Options())
		}
		client.Close()
	}
}
