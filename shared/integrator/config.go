package integrator

import (
	"errors"
	"fmt"
	"time"
)

// Config says how long registrations are cached.
type Config struct {
	// CacheSize is how many active integrators are cached, and how many others
	// in addition.
	CacheSize int           `env:"INTEGRATOR_CACHE_SIZE, default=4096"`
	CacheTTL  time.Duration `env:"INTEGRATOR_CACHE_TTL, default=30s"`
}

const (
	maxCacheSize = 1 << 20
	maxCacheTTL  = time.Hour
)

// Validate reports every problem, naming the variable.
func (c Config) Validate() error {
	var problems []error
	if c.CacheSize < 1 || c.CacheSize > maxCacheSize {
		problems = append(problems, fmt.Errorf("INTEGRATOR_CACHE_SIZE: %d is not between 1 and %d", c.CacheSize, maxCacheSize))
	}
	if c.CacheTTL <= 0 || c.CacheTTL > maxCacheTTL {
		problems = append(problems, fmt.Errorf("INTEGRATOR_CACHE_TTL: %v is not more than 0s and at most %v", c.CacheTTL, maxCacheTTL))
	}
	return errors.Join(problems...)
}
