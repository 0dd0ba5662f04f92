package limit

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
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

// redisTarget is what REDIS_URL names, in the forms of go-redis: a server, the
// Sentinels that know it, or a Cluster.
type redisTarget struct {
	server    *redis.Options // one of the three is set
	sentinels *redis.FailoverOptions
	cluster   *redis.ClusterOptions
	passwords []string
}

// The message never repeats the URL, which may hold a password.
var errRedisURL = errors.New("not a Redis URL; want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

func parseRedisURL(text string) (t redisTarget, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return t, errRedisURL
	}
	var ok bool
	switch query := u.Query(); {
	case query.Has("master_name"):
		if t.sentinels, err = redis.ParseFailoverURL(text); err == nil {
			ok = t.sentinels.MasterName != "" && t.sentinels.DB >= 0 && validAddresses(t.sentinels.SentinelAddrs...)
			t.passwords = []string{t.sentinels.Password, t.sentinels.SentinelPassword}
		}
	case query.Has("addr"):
		if t.cluster, err = redis.ParseClusterURL(text); err == nil {
			ok = strings.Trim(u.Path, "/") == "" && validAddresses(t.cluster.Addrs...)
			t.passwords = []string{t.cluster.Password}
		}
	default:
		if t.server, err = redis.ParseURL(text); err == nil {
			ok = t.server.DB >= 0 && (t.server.Network == "unix" || validAddresses(t.server.Addr))
			t.passwords = []string{t.server.Password}
		}
	}
	if !ok {
		return t, errRedisURL
	}
	return t, nil
}

func validAddresses(all ...string) bool {
	for _, addr := range all {
		host, port, err := net.SplitHostPort(addr)
		number, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || number == 0 || strings.Contains(host, ",") {
			return false
		}
	}
	return true
}

// connect makes the client. It does not wait for a connection. A retry is never
// made, as it could count a request twice. The timeout of a decision covers all of
// it. Everything is a pipeline, so that one pool of connections is enough.
func (t redisTarget) connect(limits timeouts) redis.UniversalClient {
	const buffer = 16 << 10 // a batch of requests or replies
	tune := func(o *redis.Options) *redis.Client {
		o.ContextTimeoutEnabled, o.DialTimeout = true, limits.start
		o.MaxRetries, o.DialerRetries, o.PipelinePoolSize = -1, 1, -1
		o.ReadBufferSize, o.WriteBufferSize = buffer, buffer
		o.Protocol, o.DisableIdentity = 2, true
		return redis.NewClient(o)
	}
	switch {
	case t.sentinels != nil:
		o := *t.sentinels
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		o.ContextTimeoutEnabled, o.DialTimeout = true, limits.start
		o.MaxRetries, o.DialerRetries, o.PipelinePoolSize = -1, 1, -1
		o.ReadBufferSize, o.WriteBufferSize = buffer, buffer
		o.Protocol, o.DisableIdentity = 2, true
		o.ReplicaOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // a replica cannot count
		return redis.NewFailoverClient(&o)
	case t.cluster != nil:
		o := *t.cluster
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // as above
		}
		o.ContextTimeoutEnabled, o.MaxRedirects, o.NewClient = true, -1, tune
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // as above
		return redis.NewClusterClient(&o)
	}
	return tune(t.server)
}
