package quote

import (
	"fmt"
	"time"
)

// Config says how long the operator stands by a quote.
type Config struct {
	TTL time.Duration `env:"QUOTE_TTL, default=60s"`
}

// Validate reports a time that no wallet or no operator could live with.
func (c Config) Validate() error {
	if c.TTL < 5*time.Second || c.TTL > time.Hour {
		return fmt.Errorf("QUOTE_TTL: %v is not between 5s and 1h", c.TTL)
	}
	return nil
}
