package main

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// mostAllocations is how many allocations a quote of the current version may cost, from the socket to the answer. They
// are the same on every machine.
const mostAllocations = 50

// BenchmarkServedQuote asks a service that has everything production has for quotes, each for another client, over one
// connection. The client allocates nothing, so that what is counted is the service's.
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
	const from = "X-Forwarded-For: 10."
	request := []byte("GET " + quotePath + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n" +
		from + "000.000.000\r\n\r\n")
	client := request[bytes.Index(request, []byte(from))+len(from):]
	answer := make([]byte, 8<<10)
	asked := 0
	ask := func() {
		asked++
		number := asked % (1 << 16)
		for i, part := range []int{number >> 16, number >> 8 & 0xff, number & 0xff} {
			digits := strconv.AppendInt(client[4*i:4*i], int64(100+part%100), 10)
			_ = digits
		}
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		n, err := conn.Read(answer)
		if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 OK")) {
			b.Fatalf("got %s, %v", answer[:n], err)
		}
	}
	for range 1000 {
		ask()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		ask()
	}
	runtime.ReadMemStats(&after)
	quotes := uint64(asked - 1000)
	allocations := float64(after.Mallocs-before.Mallocs) / float64(quotes)
	b.ReportMetric(allocations, "allocs/quote")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(quotes), "B/quote")
}
