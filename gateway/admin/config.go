package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Config is read from the environment.
type Config struct {
	// Addr is where the admin listener is; "off" turns it off. An address that
	// others can reach needs a token.
	Addr string `env:"ADMIN_ADDR, default=127.0.0.1:9090"`
	// Token, if there is one, is demanded of every request but the probes'.
	Token string `env:"ADMIN_TOKEN"`
}

const (
	off = "off"
	// minToken keeps a token from being guessed.
	minToken = 16
)

// Enabled tells whether there is an admin listener.
func (c Config) Enabled() bool { return c.Addr != off && c.Addr != "" }

// Validate reports every problem, naming the variable. The token is never
// repeated.
func (c Config) Validate() error {
	var problems []error
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if c.Token != "" && (len(c.Token) < minToken || strings.ContainsFunc(c.Token, unprintable)) {
		problems = append(problems, fmt.Errorf("ADMIN_TOKEN: must be at least %d characters, all of them printable ASCII and none a space, such as 32 hexadecimal digits", minToken))
	}
	if !c.Enabled() {
		return errors.Join(problems...)
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q is not an address such as 127.0.0.1:9090; write off for no admin listener", c.Addr))
	} else if c.Token == "" && !loopback(host) {
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q can be reached by others, and ADMIN_TOKEN is not set: set it, or listen on 127.0.0.1", c.Addr))
	}
	return errors.Join(problems...)
}

// loopback tells whether a host names this machine alone. An empty one is all
// of its addresses, and any other name may be any address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Listen opens the admin listener of a valid configuration. It looks again at
// the address it got: what a name stands for is known only now.
func (c Config) Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("ADMIN_ADDR: %w", err)
	}
	addr, err := netip.ParseAddrPort(l.Addr().String())
	if c.Token == "" && (err != nil || !addr.Addr().Unmap().IsLoopback()) {
		l.Close()
		return nil, fmt.Errorf("ADMIN_ADDR: %q stands for %s, which can be reached by others, and ADMIN_TOKEN is not set", c.Addr, l.Addr())
	}
	return l, nil
}
