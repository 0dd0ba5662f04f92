package limit

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxPerMinute is the highest limit. It keeps the log of one client small.
	MaxPerMinute = 1000

	maxPrefix = 64 // bytes; it is part of every key in Redis
)

// Config is read from the environment. Its zero value does not limit.
type Config struct {
	PerMinute int    `env:"RATE_LIMIT, default=30"`     // requests a minute per client; 0 turns limiting off
	RedisURL  string `env:"REDIS_URL" setting:"secret"` // where instances share budgets; empty keeps them in memory

	// RedisPrefix begins every key, so that deployments can share a Redis
	// without sharing budgets. It may be empty: the keys then begin with
	// "limit:".
	RedisPrefix string `env:"REDIS_PREFIX, default=quotegate:"`
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	var problems []error
	if c.PerMinute < 0 || c.PerMinute > MaxPerMinute {
		problems = append(problems, fmt.Errorf("RATE_LIMIT: %d is not a number of requests a minute from 1 to %d, or 0 for no limit", c.PerMinute, MaxPerMinute))
	}
	if c.RedisURL != "" {
		if _, err := parseRedisURL(c.RedisURL); err != nil {
			problems = append(problems, fmt.Errorf("REDIS_URL: %w", err))
		}
	}
	if len(c.RedisPrefix) > maxPrefix || strings.ContainsFunc(c.RedisPrefix, func(r rune) bool { return r <= ' ' || r > '~' }) {
		problems = append(problems, fmt.Errorf("REDIS_PREFIX: %.80q must be at most %d characters, all of them printable ASCII and none a space", c.RedisPrefix, maxPrefix))
	}
	return errors.Join(problems...)
}
