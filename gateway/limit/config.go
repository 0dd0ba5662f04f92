package limit

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// maxPerMinute keeps the log of one client small.
const maxPerMinute = 1000

// Config is read from the environment. Its zero value does not limit.
type Config struct {
	PerMinute      int      `env:"RATE_LIMIT, default=30"` // requests a minute per client; 0 turns limiting off
	TrustedProxies []string `env:"TRUSTED_PROXIES"`        // addresses and CIDRs whose X-Forwarded-For is believed
	RedisURL       string   `env:"REDIS_URL"`              // where instances share budgets; empty keeps them in memory
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	var problems []error
	if c.PerMinute < 0 || c.PerMinute > maxPerMinute {
		problems = append(problems, fmt.Errorf("RATE_LIMIT: %d is not a number of requests a minute from 1 to %d, or 0 for no limit", c.PerMinute, maxPerMinute))
	}
	for _, s := range c.TrustedProxies {
		if _, err := parseProxy(s); err != nil {
			problems = append(problems, fmt.Errorf("TRUSTED_PROXIES: %w", err))
		}
	}
	if c.RedisURL != "" && !validRedisURL(c.RedisURL) {
		problems = append(problems, errors.New("REDIS_URL: not a Redis URL; want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket, "+
			"with special characters in the password percent-encoded"))
	}
	return errors.Join(problems...)
}

// proxies gives the trusted networks of a valid configuration.
func (c Config) proxies() []netip.Prefix {
	var prefixes []netip.Prefix
	for _, s := range c.TrustedProxies {
		if p, err := parseProxy(s); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	return prefixes
}

// parseProxy reads a CIDR or a bare address. IPv4 written as IPv6 becomes IPv4,
// the form in which peers are compared.
func parseProxy(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	p, err := netip.ParsePrefix(s)
	if err != nil {
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is not an IP address or a CIDR; want something like 10.0.0.5 or 2001:db8::/32", s)
		}
		p = netip.PrefixFrom(addr, addr.BitLen())
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%q trusts the whole internet, so any client could claim any address; name only your proxies", s)
	}
	return p.Masked(), nil
}

func validRedisURL(s string) bool {
	o, err := redis.ParseURL(s)
	if err != nil || o.DB < 0 {
		return false
	}
	if o.Network == "unix" {
		return true
	}
	_, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
