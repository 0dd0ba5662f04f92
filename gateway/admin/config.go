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
	// Addr is the address of the admin listener; "off" turns it off. An address
	// that others can reach needs a token.
	Addr string `env:"ADMIN_ADDR, default=127.0.0.1:9090"`
	// Token, if set, is required of every request except probes.
	Token string `env:"ADMIN_TOKEN" setting:"secret"`
}

// minToken makes a token too long to guess.
const minToken = 16

// Enabled reports whether there is an admin listener.
func (c Config) Enabled() bool { return c.Addr != "off" && c.Addr != "" }

// Validate reports every problem, naming the variable. The token is never
// repeated.
func (c Config) Validate() error {
	var problems []error
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if c.Token != "" && (len(c.Token) < minToken || strings.ContainsFunc(c.Token, unprintable)) {
		problems = append(problems, fmt.Errorf("ADMIN_TOKEN: must be at least %d characters, all of them printable ASCII and none a space, such as 32 hexadecimal digits", minToken))
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case !c.Enabled():
	case err != nil:
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q is not an address such as 127.0.0.1:9090; write off for no admin listener", c.Addr))
	case c.Token == "" && !loopback(host):
		problems = append(problems, fmt.Errorf("ADMIN_ADDR: %q can be reached by others, and ADMIN_TOKEN is not set: set it, or listen on 127.0.0.1", c.Addr))
	}
	return errors.Join(problems...)
}

// loopback reports whether host is certainly a loopback address. An empty host
// is every address of the machine, and a name may stand for any address.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Listen opens the admin listener of a valid configuration. It checks the
// address again, because a name is resolved only now.
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
