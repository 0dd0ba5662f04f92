package limit

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const (
	maxPerMinute = 1000 // keeps the log of one client small
	maxPrefix    = 64   // bytes; it is part of every key in Redis
)

// Config is read from the environment. Its zero value does not limit.
type Config struct {
	PerMinute int    `env:"RATE_LIMIT, default=30"` // requests a minute per client; 0 turns limiting off
	RedisURL  string `env:"REDIS_URL"`              // where instances share budgets; empty keeps them in memory

	// RedisPrefix begins every key, so that deployments can share a Redis
	// without sharing budgets. It may be empty: the keys then begin with
	// "limit:".
	RedisPrefix string `env:"REDIS_PREFIX, default=quotegate:"`
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	var problems []error
	if c.PerMinute < 0 || c.PerMinute > maxPerMinute {
		problems = append(problems, fmt.Errorf("RATE_LIMIT: %d is not a number of requests a minute from 1 to %d, or 0 for no limit", c.PerMinute, maxPerMinute))
	}
	if c.RedisURL != "" && !validRedisURL(c.RedisURL) {
		problems = append(problems, errors.New("REDIS_URL: not a Redis URL; want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket, "+
			"with special characters in the password percent-encoded"))
	}
	if len(c.RedisPrefix) > maxPrefix || strings.ContainsFunc(c.RedisPrefix, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problems = append(problems, fmt.Errorf("REDIS_PREFIX: %.80q must be at most %d characters, all of them printable ASCII and none a space", c.RedisPrefix, maxPrefix))
	}
	return errors.Join(problems...)
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
