// Package ports finds free ports for programs that cannot be told to take any.
package ports

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// given has the ports of this process, so no two of its programs get the same one.
var given sync.Map

// Free returns a loopback address nobody listens on. Its port is below those the system gives to connections and to
// listeners on port 0, so nothing else on the machine takes it before the program under test does. The port 10,000
// above, which a node of a Redis cluster uses too, is free as well.
func Free(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := 12_000 + rand.IntN(10_000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if listens(port) && listens(port+10_000) {
			return address(port)
		}
	}
	t.Fatal("no free port was found between 12000 and 22000")
	return ""
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// listens says whether a program could listen on the port now.
func listens(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
