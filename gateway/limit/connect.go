package limit

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// The message never repeats the URL, which may hold a password.
var errURL = errors.New("not a Redis URL; " +
	"want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, " +
	"where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, " +
	"with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

// parseURL reads REDIS_URL, which names a server, Sentinels or a Cluster. connect makes the
// client, without waiting for a connection. Nothing is retried after a failure of the
// network, since that could count a request twice. The deadline of a call covers all of it.
func parseURL(text string) (connect func(dialTimeout time.Duration) redis.UniversalClient, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errURL
	}
	noNotices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // of a cloud's maintenance
	valid := false
	switch query := u.Query(); {
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(text)
		valid = err == nil && o.MasterName != "" && o.DB >= 0 && validAddresses(o.SentinelAddrs...)
		connect = func(dialTimeout time.Duration) redis.UniversalClient {
			o.ContextTimeoutEnabled = true
			o.DialTimeout = dialTimeout
			o.MaxRetries = -1
			o.DialerRetries = 1
			if o.TLSConfig != nil {
				o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
			}
			return redis.NewFailoverClient(o)
		}
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(text)
		valid = err == nil && strings.Trim(u.Path, "/") == "" && validAddresses(o.Addrs...)
		connect = func(dialTimeout time.Duration) redis.UniversalClient {
			o.ContextTimeoutEnabled = true
			o.DialTimeout = dialTimeout
			o.DialerRetries = 1
			o.MaintNotificationsConfig = noNotices
			if o.TLSConfig != nil {
				o.TLSConfig.ServerName = "" // as above
			}
			return redis.NewClusterClient(o)
		}
	default:
		o, err := redis.ParseURL(text)
		valid = err == nil && o.DB >= 0 && (o.Network == "unix" || validAddresses(o.Addr))
		connect = func(dialTimeout time.Duration) redis.UniversalClient {
			o.ContextTimeoutEnabled = true
			o.DialTimeout = dialTimeout
			o.MaxRetries = -1
			o.DialerRetries = 1
			o.MaintNotificationsConfig = noNotices
			return redis.NewClient(o)
		}
	}
	if !valid {
		return nil, errURL
	}
	return connect, nil
}

// hidingPasswords hides the passwords of a URL: a server that does not know AUTH repeats
// them in its error.
func hidingPasswords(text string) *strings.Replacer {
	u, _ := url.Parse(text) // parseURL has accepted it
	password, _ := u.User.Password()
	var pairs []string
	for _, secret := range append(u.Query()["password"], password) {
		if secret != "" {
			pairs = append(pairs, secret, "[password]")
		}
	}
	return strings.NewReplacer(pairs...)
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
