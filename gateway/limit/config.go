package limit

import (
	"errors"
	"fmt"

	"github.com/quotegate/quotegate/shared/setting"
)

// MaxPerMinute is the highest limit. It keeps the log of one client small.
const MaxPerMinute = 1000

// Config is read from the environment. Its zero value does not limit.
type Config struct {
	// PerMinute is how many requests a minute a client has. The highest is MaxPerMinute.
	PerMinute int    `env:"RATE_LIMIT, default=30" min:"1" max:"1000" or:"0 for no limit"`
	RedisURL  string `env:"REDIS_URL" setting:"secret"` // where instances share budgets; empty keeps them in memory

	// RedisPrefix begins every key, so that deployments can share a Redis
	// without sharing budgets. It may be empty: the keys then begin with
	// "limit:".
	RedisPrefix string `env:"REDIS_PREFIX, default=quotegate:" max:"64" chars:"printable"`
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	problems := []error{setting.Check(c)}
	if c.RedisURL != "" {
		if _, err := parseURL(c.RedisURL); err != nil {
			problems = append(problems, fmt.Errorf("REDIS_URL: %w", err))
		}
	}
	return errors.Join(problems...)
}
