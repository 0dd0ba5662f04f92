package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// mostAllocations is how many a quote of the current version may cost, from the socket to the response. They are the
// same on every machine.
const mostAllocations = 50

// BenchmarkServedQuote requests quotes from a service with all that production has, over one connection, each as another
// client than the last. The requests are made before, so that what is counted is the service's.
func BenchmarkServedQuote(b *testing.B) {
	base, _, _ := startLogging(b, environment{
		"TRUSTED_PROXIES": "127.0.0.1",
		"DEPLOYMENT_FILE": deploymentNamed(b, "bench"),
		"USAGE_DB":        filepath.Join(b.TempDir(), "usage.db"),
	}, io.Discard)
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	const clients = 16_384 // none of which comes to its limit
	var requests [clients][]byte
	for i := range requests {
		requests[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n"+
			"X-Forwarded-For: 10.0.%d.%d\r\n\r\n", quotePath, i>>8, i&0xff)
	}
	answer := make([]byte, 8<<10)
	asked := uint64(0)
	ask := func() {
		if _, err := conn.Write(requests[asked%clients]); err != nil {
			b.Fatal(err)
		}
		asked++
		n, err := conn.Read(answer)
		if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 OK")) {
			b.Fatalf("got %s, %v", answer[:n], err)
		}
	}
	for range clients { // what is made once for each client has been made
		ask()
	}
	asked = 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		ask()
	}
	runtime.ReadMemStats(&after)
	allocations := float64(after.Mallocs-before.Mallocs) / float64(asked)
	b.ReportMetric(allocations, "allocs/quote")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(asked), "B/quote")
	if asked > 1000 && allocations > mostAllocations { // of fewer, what the service does beside counts too much
		b.Errorf("a quote costs %.1f allocations, want %d at most", allocations, mostAllocations)
	}
}
