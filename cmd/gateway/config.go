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
	"github.com/quotegate/quotegate/gateway/evidence"
	"github.com/quotegate/quotegate/gateway/limit"
	"github.com/quotegate/quotegate/shared/cctp"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/integrator"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/rpc"
	"github.com/quotegate/quotegate/shared/setting"
)

// config is the whole environment. Each part is defined next to the code that it
// configures.
type config struct {
	ListenAddr     string        `env:"LISTEN_ADDR, default=:8080"`
	DeploymentFile string        `env:"DEPLOYMENT_FILE"`
	DrainDelay     time.Duration `env:"DRAIN_DELAY, default=0s" min:"0s" max:"1m"`
	MaxConnections int           `env:"MAX_CONNECTIONS, default=4096" min:"16" max:"1000000"`
	// MaxPerAddress counts where no proxy is trusted.
	MaxPerAddress int    `env:"MAX_CONNECTIONS_PER_ADDRESS, default=256" min:"1" max:"1000000" or:"0 for no bound"`
	LogLevel      string `env:"LOG_LEVEL, default=info"`
	LogFormat     string `env:"LOG_FORMAT"` // json or text; empty: text on a terminal, else json
	// LogClientAddress is whether the access log has the client's address.
	LogClientAddress bool `env:"LOG_CLIENT_ADDRESS, default=false"`

	Admin       admin.Config
	Gateway     gateway.Config
	Caller      caller.Config
	Limit       limit.Config
	Usage       evidence.Config
	IssuerFees  cctp.Config
	RPC         rpc.Config
	RPCFile     string `env:"RPC_FILE"`
	Integrators integrator.Config
	Quote       quote.Config

	settings []variable // all variables, for the health page
	warning  string     // about the environment; empty for none
}

// errNoDeployment is the error for an empty DEPLOYMENT_FILE. A missing variable in a compose file becomes an empty one,
// and the default would not be what the operator means.
var errNoDeployment = errors.New("DEPLOYMENT_FILE: is set and empty; name the file with your contracts, " +
	"or unset it to try the reference deployment, whose quotes must not be signed")

// readConfig reports every problem at once: misspelled names, values that cannot be parsed, and
// values that are not allowed.
func readConfig(ctx context.Context, env environment) (*config, error) {
	problems, warning := env.misspelled()
	if file, isSet := env["DEPLOYMENT_FILE"]; isSet && file == "" {
		problems = append(problems, errNoDeployment)
	}
	set := make(map[string]string) // without those that cannot be parsed
	for _, s := range settings(env) {
		switch {
		case s.err != nil:
			problems = append(problems, s.err)
		case s.from != "default":
			set[s.name] = s.text
		}
	}
	lookup := envconfig.MapLookuper(set)
	cfg := &config{RPC: rpc.ReadConfig(lookup.Lookup), warning: warning}
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: cfg, Lookuper: lookup}); err != nil {
		return nil, err // one of our defaults is invalid: all other values can be parsed
	}
	if err := errors.Join(append(problems, cfg.validate())...); err != nil {
		return nil, fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	return cfg, nil
}

func (c *config) validate() error {
	problems := []error{setting.Check(*c)}
	wrong := func(format string, value any) { problems = append(problems, fmt.Errorf(format, value)) }
	if _, _, err := net.SplitHostPort(c.ListenAddr); err != nil {
		wrong("LISTEN_ADDR: %q is not an address such as :8080 or 127.0.0.1:8080", c.ListenAddr)
	}
	if err := new(slog.Level).UnmarshalText([]byte(c.LogLevel)); err != nil {
		wrong("LOG_LEVEL: %q is not debug, info, warn or error", c.LogLevel)
	}
	if !slices.Contains([]string{"", "json", "text"}, c.LogFormat) {
		wrong("LOG_FORMAT: %q is not json or text", c.LogFormat)
	}
	parts := []interface{ Validate() error }{
		c.Admin, &c.Gateway, c.Caller, c.Limit, c.Usage, c.IssuerFees, c.RPC, c.Integrators, c.Quote,
	}
	for _, part := range parts {
		problems = append(problems, part.Validate())
	}
	return errors.Join(problems...)
}

// deployment reads the operator's file. Without one, it is the reference deployment.
func (c *config) deployment() (*chain.Deployment, error) {
	d := chain.Reference()
	if c.DeploymentFile != "" && c.DeploymentFile != d.Name {
		var err error
		if d, err = chain.ReadDeployment(c.DeploymentFile); err != nil {
			return nil, fmt.Errorf("DEPLOYMENT_FILE: %w", err)
		}
	}
	if warning := unsignable(d); warning != "" {
		d.Warnings = append(d.Warnings, warning)
	} else if c.IssuerFees.FeeURL == "" {
		d.Warnings = append(d.Warnings, "the maxFee of every burn comes from the built-in table, "+
			"so that burns fail or wait when the issuer raises its fee; set ISSUER_FEE_URL")
	}
	return d, nil
}

// unsignable is the warning about a deployment whose quotes must not be signed. It is empty if they may be.
func unsignable(d *chain.Deployment) string {
	reason := d.Unsignable()
	if reason == "" {
		return ""
	}
	const advice = "; set DEPLOYMENT_FILE to a file with your contracts, or run the devnet"
	return "no quote may be signed: " + reason + advice
}

// limitations are what a service with these settings does not do, each with the setting that changes it.
func (c *config) limitations(d *chain.Deployment, endpoints rpc.Config) (all []string) {
	if reason := d.Unsignable(); reason != "" {
		all = append(all, "no quote may be signed: "+reason+" (DEPLOYMENT_FILE)")
	}
	if len(endpoints) == 0 {
		all = append(all, "nothing is verified on the chains (RPC_URLS_<chainId>)")
	}
	if c.Usage.DB == "" {
		all = append(all, "counts are kept in memory (USAGE_DB)")
	}
	if c.Limit.RedisURL == "" && c.Limit.PerMinute > 0 {
		all = append(all, "rate limits are kept in memory (REDIS_URL)")
	}
	return all
}

// servedPairs says how many of the pairs a deployment serves.
func servedPairs(d *chain.Deployment) string {
	return fmt.Sprintf("%d of %d", len(d.Pairs()), len(chain.Pairs()))
}

// endpoints are those of the environment and of RPC_FILE.
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
