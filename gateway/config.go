package gateway

import (
	"errors"
	"fmt"
	"strings"
)

// Config is read from the environment.
type Config struct {
	LegacyHosts   []string `env:"LEGACY_HOSTS"`   // Host names whose /v3/swap/quote is the earlier v3
	LifecycleFile string   `env:"LIFECYCLE_FILE"` // the retirement plan; empty: all versions are active
}

// Validate reports every problem, naming the variable.
func (c *Config) Validate() error {
	var problems []error
	for _, host := range c.LegacyHosts {
		if host == "" || strings.ContainsAny(host, "/: ") {
			problems = append(problems, fmt.Errorf("LEGACY_HOSTS: %q is not a host name; write it without scheme, port or path", host))
		}
	}
	return errors.Join(problems...)
}

func (c *Config) hosts() map[string]bool {
	hosts := make(map[string]bool, len(c.LegacyHosts))
	for _, host := range c.LegacyHosts {
		hosts[strings.ToLower(host)] = true
	}
	return hosts
}
