package limit

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

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

	// RedisTimeout is how long a request waits for Redis. It counts with RedisURL alone.
	RedisTimeout time.Duration `env:"REDIS_TIMEOUT, default=50ms" min:"5ms" max:"1s"`
}

// Validate reports every problem at once, each naming its variable. It never
// repeats REDIS_URL, which may hold a password.
func (c Config) Validate() error {
	if c.RedisURL == "" {
		c.RedisTimeout = cmp.Or(c.RedisTimeout, networkTimeout) // nothing waits for it
	}
	err := setting.Check(c)
	if c.RedisURL != "" {
		_, bad := parseURL(c.RedisURL)
		err = errors.Join(err, bad)
	}
	return err
}

// The message never repeats the URL, which may hold a password.
var errURL = errors.New("REDIS_URL: not a Redis URL; " +
	"want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, " +
	"where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, " +
	"with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

// parseURL reads REDIS_URL, which names a server, Sentinels or a Cluster. connect makes the
// client, without waiting for a connection. Nothing is retried after a failure of the
// network, since that could count a request twice. The deadline of a call covers all of it.
func parseURL(text string) (connect func() redis.UniversalClient, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errURL
	}
	noNotices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // of a cloud's maintenance
	switch query := u.Query(); {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(text)
		if err != nil || o.MasterName == "" || o.DB < 0 || !validAddresses(o.SentinelAddrs...) {
			return nil, errURL
		}
		o.ContextTimeoutEnabled = true
		o.DialTimeout = networkTimeout
		o.ReadTimeout = cmp.Or(o.ReadTimeout, networkTimeout)
		o.MaxRetries = -1
		o.DialerRetries = 1
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		return func() redis.UniversalClient { return redis.NewFailoverClient(o) }, nil
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(text)
		if err != nil || strings.Trim(u.Path, "/") != "" || !validAddresses(o.Addrs...) {
			return nil, errURL
		}
		o.ContextTimeoutEnabled = true
		o.DialTimeout = networkTimeout
		o.DialerRetries = 1
		o.MaintNotificationsConfig = noNotices
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // as above
		}
		return func() redis.UniversalClient { return redis.NewClusterClient(o) }, nil
	}
	o, err := redis.ParseURL(text)
	if err != nil || o.DB < 0 || o.Network != "unix" && !validAddresses(o.Addr) {
		return nil, errURL
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout = networkTimeout
	o.ReadTimeout = cmp.Or(o.ReadTimeout, networkTimeout)
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.MaintNotificationsConfig = noNotices
	return func() redis.UniversalClient { return redis.NewClient(o) }, nil
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
