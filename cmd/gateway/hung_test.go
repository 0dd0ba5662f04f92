package main

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// silent is a server that accepts connections and never answers.
func silent(t *testing.T) (address string, accepted *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			t.Cleanup(func() { conn.Close() })
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String(), accepted
}

// A database that accepts connections and never answers delays no quote. What the plan says
// of an old version is not known then, so that it is served.
func TestHungDatabase(t *testing.T) {
	loseCounts(t)
	before := startWait
	startWait = time.Second
	t.Cleanup(func() { startWait = before })
	version, quotes := oldest(t)
	now := time.Now().UTC()
	past, to := now.Add(-time.Hour).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339)
	for name, plan := range map[string]string{
		"a sunset": planOf(version, past, ""),
		"a gate":   planOf(version, past, `, "gate": {"maxClients": 5, "days": 1, "instances": 2}`),
		"a window": planOf(version, to, `, "brownouts": [{"from": "`+past+`", "to": "`+to+`", "share": 1}]`),
	} {
		t.Run(name, func(t *testing.T) {
			address, accepted := silent(t)
			began := time.Now()
			base, admin, stop := start(t, environment{
				"USAGE_DB":       "postgres://quotegate@" + address + "/quotegate?sslmode=disable",
				"LIFECYCLE_FILE": tempFile(t, plan),
			})
			defer stop()
			for _, path := range []string{quotePath, quotes + quoteQuery} {
				if got, body := get(t, base+path); got != http.StatusOK {
					t.Errorf("%s: got %d %s", path, got, body)
				}
			}
			if took := time.Since(began); took > 10*time.Second || accepted.Load() == 0 {
				t.Errorf("the first quotes took %s, after %d connections to the database", took, accepted.Load())
			}
			if status, body := get(t, admin+"/readyz"); status != http.StatusOK {
				t.Errorf("got %d %s, want an instance that takes requests", status, body)
			}
		})
	}
}
