package limit

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

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
		if _, err := parseRedisURL(c.RedisURL); err != nil {
			problems = append(problems, fmt.Errorf("REDIS_URL: %w", err))
		}
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
var errRedisURL = errors.New("not a Redis URL; " +
	"want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, " +
	"where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, " +
	"with one addr or more for further nodes and no database, as a Cluster has only 0; " +
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
func (t redisTarget) connect(limits timeouts, log *slog.Logger) redis.UniversalClient {
	const buffer = 16 << 10 // a batch of requests or replies
	tune := func(o *redis.Options) *redis.Client {
		o.ContextTimeoutEnabled, o.DialTimeout = true, limits.start
		o.MaxRetries, o.DialerRetries, o.PipelinePoolSize = -1, 1, -1
		o.ReadBufferSize, o.WriteBufferSize = buffer, buffer
		o.Protocol, o.DisableIdentity, o.MaintNotificationsConfig = 2, true, noNotices
		dial := o.Dialer
		if dial == nil {
			dial = redis.NewDialer(o)
		}
		o.Dialer = guardDial(dial, log)
		client := redis.NewClient(o)
		client.AddHook(survivor{log})
		return client
	}
	switch {
	case t.sentinels != nil:
		o := *t.sentinels
		o.DialTimeout = limits.start
		return connectBySentinels(o, tune, log)
	case t.cluster != nil:
		o := *t.cluster
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		o.ContextTimeoutEnabled, o.MaxRedirects, o.NewClient = true, -1, tune
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false // a replica cannot count
		return redis.NewClusterClient(&o)
	}
	return tune(t.server)
}
