package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

const healthPath = "/v3/swap/healthcheck"

// from opens a connection from one of the addresses of this machine.
func from(t *testing.T, ip, addr string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	conn, err := dialer.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// getOn sends a request on a connection, and returns the response, or nil if there is none.
func getOn(conn net.Conn, path string) *http.Response {
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path) // it may be closed
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res
}

// Sixty clients that never close their connection are all answered by a service that
// takes sixteen. Once they are gone, it keeps connections open again.
func TestConnectionsAreBounded(t *testing.T) {
	base, admin, _ := start(t, environment{"MAX_CONNECTIONS": "16", "RATE_LIMIT": "0"})
	addr := strings.TrimPrefix(base, "http://")
	var conns []net.Conn
	for i := range 60 {
		conn := from(t, "127.0.0.1", addr)
		conns = append(conns, conn)
		if getOn(conn, healthPath) == nil {
			t.Fatalf("client %d has no answer", i)
		}
		if open := metric(t, admin, "quotegate_connections "); open > 16 {
			t.Fatalf("%v connections are open", open)
		}
	}
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "connections are kept open again", func() bool {
		return !getOn(from(t, "127.0.0.1", addr), healthPath).Close
	})
	if got := metric(t, admin, "quotegate_connections_limit "); got != 16 {
		t.Errorf("the limit is said to be %v", got)
	}
}

func TestRelieve(t *testing.T) {
	for open, want := range map[int]string{76: "off", 75: "", 50: "", 49: "on"} {
		got := ""
		c := &connections{max: 100, open: open}
		c.relieve(func(keepAlive bool) {
			got = map[bool]string{true: "on", false: "off"}[keepAlive]
		})
		if got != want {
			t.Errorf("%d of 100 connections: idle ones are turned %q, want %q", open, got, want)
		}
	}
}

// An address with all connections that it may have is refused more until one of them ends, and
// other addresses are not. A trusted proxy has the connections of many clients.
func TestConnectionsOfOneAddressAreBounded(t *testing.T) {
	for proxies, bounded := range map[string]bool{"": true, "127.0.0.9": false} {
		base, _, stop := start(t, environment{
			"MAX_CONNECTIONS_PER_ADDRESS": "8", "RATE_LIMIT": "0", "TRUSTED_PROXIES": proxies,
		})
		addr := strings.TrimPrefix(base, "http://")
		var held []net.Conn
		for range 8 {
			conn := from(t, "127.0.0.1", addr)
			if getOn(conn, healthPath) == nil {
				t.Fatal("a connection within the bound has no answer")
			}
			held = append(held, conn)
		}
		for range 20 {
			if answered := getOn(from(t, "127.0.0.1", addr), healthPath) != nil; answered == bounded {
				t.Errorf("trusted %q: a connection beyond the bound was answered: %t", proxies, answered)
			}
		}
		if getOn(from(t, "127.0.0.2", addr), healthPath) == nil {
			t.Errorf("trusted %q: another address has no answer", proxies)
		}
		held[0].Close()
		eventually(t, "there is room again", func() bool {
			return getOn(from(t, "127.0.0.1", addr), healthPath) != nil
		})
		for _, conn := range held {
			conn.Close()
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

// metric reads one value from the admin listener.
func metric(t *testing.T, admin, name string) (value float64) {
	t.Helper()
	_, text := get(t, admin+"/metrics")
	_, after, _ := strings.Cut(text, "\n"+name)
	if _, err := fmt.Sscan(after, &value); err != nil {
		t.Fatalf("there is no metric %s: %v", name, err)
	}
	return value
}
