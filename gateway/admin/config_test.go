package admin

import (
	"net"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"
)

func TestConfig(t *testing.T) {
	const good = "0123456789abcdef"
	for _, test := range []struct {
		name, addr, token string
		want              string // the variable at fault
	}{
		{"default", "127.0.0.1:9090", "", ""},
		{"any loopback", "127.0.0.53:0", "", ""},
		{"IPv6 loopback", "[::1]:9090", "", ""},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:9090", "", ""},
		{"localhost", "localhost:9090", "", ""},
		{"off", "off", "", ""},
		{"empty", "", "", ""},
		{"all addresses", ":9090", "", "ADMIN_ADDR"},
		{"all addresses, written out", "0.0.0.0:9090", "", "ADMIN_ADDR"},
		{"all of IPv6", "[::]:9090", "", "ADMIN_ADDR"},
		{"public", "203.0.113.5:9090", "", "ADMIN_ADDR"},
		{"private", "10.0.0.5:9090", "", "ADMIN_ADDR"},
		{"a name", "gateway.internal:9090", "", "ADMIN_ADDR"},
		{"a name like localhost", "localhost.evil:9090", "", "ADMIN_ADDR"},
		{"all addresses with a token", ":9090", good, ""},
		{"a name with a token", "gateway.internal:9090", good, ""},
		{"no port", "127.0.0.1", "", "ADMIN_ADDR"},
		{"a named port", "127.0.0.1:http", "", "ADMIN_ADDR"},
		{"a port too high", "127.0.0.1:65536", "", "ADMIN_ADDR"},
		{"a short token", "127.0.0.1:9090", good[:15], "ADMIN_TOKEN"},
		{"a token with a space", "127.0.0.1:9090", good + " hunter2", "ADMIN_TOKEN"},
		{"a token with a line break", "127.0.0.1:9090", good + "\n", "ADMIN_TOKEN"},
	} {
		err := Config{test.addr, test.token}.Validate()
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: got %v, want it to be accepted", test.name, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), test.want+": ") {
			t.Errorf("%s: got %v, want an error of %s", test.name, err, test.want)
		} else if test.token != "" && strings.Contains(err.Error(), test.token) {
			t.Errorf("%s: the error shows the token: %v", test.name, err)
		}
	}
	err := Config{":9090x", "x"}.Validate()
	if err == nil || !strings.Contains(err.Error(), "ADMIN_ADDR") || !strings.Contains(err.Error(), "ADMIN_TOKEN") {
		t.Errorf("got %v, want both problems", err)
	}
}

func TestEnvironment(t *testing.T) {
	for value, want := range map[string]bool{"unset": true, "": false, "off": false, "127.0.0.1:1": true} {
		env := map[string]string{"ADMIN_ADDR": value}
		if value == "unset" {
			env = nil
		}
		var cfg Config
		if err := envconfig.ProcessWith(t.Context(), &envconfig.Config{Target: &cfg, Lookuper: envconfig.MapLookuper(env)}); err != nil {
			t.Fatal(err)
		}
		if cfg.Enabled() != want {
			t.Errorf("ADMIN_ADDR %s: got %q, enabled %v, want %v", value, cfg.Addr, cfg.Enabled(), want)
		}
	}
}

// TestListen asks for an address that passes as this machine's, and one that
// only the listener can tell is not.
func TestListen(t *testing.T) {
	l, err := Config{Addr: "127.0.0.1:0"}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if l, err := (Config{Addr: "0.0.0.0:0"}).Listen(t.Context()); err == nil {
		l.Close()
		t.Error("it listens on all addresses without a token")
	} else if !strings.Contains(err.Error(), "ADMIN_TOKEN") {
		t.Errorf("got %v, want what to do about it", err)
	}
	l, err = Config{Addr: "0.0.0.0:0", Token: token}.Listen(t.Context())
	if err != nil {
		t.Fatalf("with a token: %v", err)
	}
	l.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := (Config{Addr: taken.Addr().String()}).Listen(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ADMIN_ADDR: ") {
		t.Errorf("got %v for an address that is taken, want an error of ADMIN_ADDR", err)
	}
}
