package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/quotegate/quotegate/gateway"
	"github.com/quotegate/quotegate/gateway/admin"
	"github.com/quotegate/quotegate/gateway/caller"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/gateway/usage"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
)

// config is the whole environment. Each part is defined next to the code that it
// configures.
type config struct {
	ListenAddr     string        `env:"LISTEN_ADDR, default=:8080"`
	DeploymentFile string        `env:"DEPLOYMENT_FILE"`
	DrainDelay     time.Duration `env:"DRAIN_DELAY, default=0s"`
	MaxConnections int           `env:"MAX_CONNECTIONS, default=4096"`
	LogLevel       string        `env:"LOG_LEVEL, default=info"`
	LogFormat      string        `env:"LOG_FORMAT, default=json"`

	LogClientAddress bool `env:"LOG_CLIENT_ADDRESS, default=false"` // whether the line of a request has the client's address

	Admin       admin.Config
	Gateway     gateway.Config
	Caller      caller.Config
	Limit       limit.Config
	Usage       usage.Config
	IssuerFees  cctp.Config
	RPC         rpc.Config
	RPCFile     string `env:"RPC_FILE"`
	Integrators integrator.Config
	Quote       quote.Config

	shown []shown // all of it, as an operator may see it
}

// readConfig reports every problem at once: names with a slip, values that
// cannot be parsed, and values that are not allowed.
func readConfig(ctx context.Context, env environment) (*config, error) {
	cfg, unreadable, err := parseConfig(ctx, env)
	if err != nil {
		return nil, err
	}
	problems := slices.Concat(env.misspelled(), env.secretFiles(), unreadable)
	if err := errors.Join(append(problems, cfg.validate())...); err != nil {
		return nil, fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	return cfg, nil
}

// parseConfig fills in every value that can be parsed, and the default of those
// that cannot. envconfig stops at the first of these, so it is called again
// without that variable until none is left.
func parseConfig(ctx context.Context, env environment) (cfg *config, unreadable []error, err error) {
	left := make(map[string]setting)
	for _, s := range settings() {
		left[s.name] = s
	}
	var last setting // the one looked up last, if it is set
	lookup := func(name string) (text string, set bool) {
		last, set = left[name]
		if set {
			var from string
			text, from = last.value(env)
			set = from != ""
		}
		if !set {
			last = setting{}
		}
		return text, set
	}
	for {
		cfg = &config{RPC: rpc.ReadConfig(lookup)}
		err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: cfg, Lookuper: envconfig.LookuperFunc(lookup)})
		if err == nil {
			return cfg, unreadable, nil
		}
		if last.name == "" {
			return nil, nil, err // a default of ours is at fault
		}
		unreadable = append(unreadable, last.unreadable(env[last.name]))
		delete(left, last.name)
	}
}

// validate reports every problem at once.
func (c *config) validate() error {
	var problems []error
	if _, _, err := net.SplitHostPort(c.ListenAddr); err != nil {
		problems = append(problems, fmt.Errorf("LISTEN_ADDR: %q is not an address such as :8080 or 127.0.0.1:8080", c.ListenAddr))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		problems = append(problems, fmt.Errorf("LOG_LEVEL: %q is not debug, info, warn or error", c.LogLevel))
	}
	if c.LogFormat != "json" && c.LogFormat != "text" {
		problems = append(problems, fmt.Errorf("LOG_FORMAT: %q is not json or text", c.LogFormat))
	}
	if c.DrainDelay < 0 || c.DrainDelay > time.Minute {
		problems = append(problems, fmt.Errorf("DRAIN_DELAY: %s is not between 0s and 1m", c.DrainDelay))
	}
	if c.MaxConnections < 16 || c.MaxConnections > 1_000_000 {
		problems = append(problems, fmt.Errorf("MAX_CONNECTIONS: %d is not between 16 and 1000000", c.MaxConnections))
	}
	problems = append(problems, c.Admin.Validate(), c.Gateway.Validate(), c.Caller.Validate(), c.Limit.Validate(), c.Usage.Validate(), c.IssuerFees.Validate(), c.RPC.Validate(), c.Integrators.Validate(), c.Quote.Validate())
	return errors.Join(problems...)
}

// deployment reads the operator's file. The name of the reference deployment
// chooses it knowingly, as the devnet does. An empty one may be a mistake, which
// would send money to contracts that do not exist on a public chain.
func (c *config) deployment() (*chain.Deployment, error) {
	reference := chain.Reference()
	switch c.DeploymentFile {
	case reference.Name:
		return reference, nil
	case "":
		reference.Warnings = append(reference.Warnings, "this service quotes the reference deployment, whose contracts exist on the local devnet only; set DEPLOYMENT_FILE")
		return reference, nil
	}
	return chain.ReadDeployment(c.DeploymentFile)
}

// endpoints are those of the environment and of the file.
func (c *config) endpoints() (rpc.Config, error) {
	if c.RPCFile == "" {
		return c.RPC, nil
	}
	endpoints, err := c.RPC.With(c.RPCFile)
	if err != nil {
		return nil, fmt.Errorf("RPC_FILE: %w", err)
	}
	return endpoints, nil
}
