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

// target is what REDIS_URL names, in the forms of go-redis. One of the three is set.
type target struct {
	server    *redis.Options
	sentinels *redis.FailoverOptions
	cluster   *redis.ClusterOptions
}

// The message never repeats the URL, which may hold a password.
var errURL = errors.New("not a Redis URL; " +
	"want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, " +
	"where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, " +
	"with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

func parseURL(text string) (t target, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return t, errURL
	}
	var ok bool
	switch query := u.Query(); {
	case query.Has("master_name"):
		if t.sentinels, err = redis.ParseFailoverURL(text); err == nil {
			ok = t.sentinels.MasterName != "" && t.sentinels.DB >= 0 && validAddresses(t.sentinels.SentinelAddrs...)
		}
	case query.Has("addr"):
		if t.cluster, err = redis.ParseClusterURL(text); err == nil {
			ok = strings.Trim(u.Path, "/") == "" && validAddresses(t.cluster.Addrs...)
		}
	default:
		if t.server, err = redis.ParseURL(text); err == nil {
			ok = t.server.DB >= 0 && (t.server.Network == "unix" || validAddresses(t.server.Addr))
		}
	}
	if !ok {
		return t, errURL
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

// passwords are those of the URL, which no log line may show.
func (t target) passwords() []string {
	switch {
	case t.sentinels != nil:
		return []string{t.sentinels.Password, t.sentinels.SentinelPassword}
	case t.cluster != nil:
		return []string{t.cluster.Password}
	}
	return []string{t.server.Password}
}

// connect makes the client. It does not wait for a connection. Nothing is retried after
// a failure of the network, since that could count a request twice, and no replica is
// asked. The deadline of a call covers all of it.
func (t target) connect(dialTimeout time.Duration) redis.UniversalClient {
	noNotices := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // of a cloud's maintenance
	switch {
	case t.sentinels != nil:
		o := *t.sentinels
		o.ContextTimeoutEnabled = true
		o.DialTimeout = dialTimeout
		o.MaxRetries = -1
		o.DialerRetries = 1
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		return redis.NewFailoverClient(&o)
	case t.cluster != nil:
		o := *t.cluster
		o.ContextTimeoutEnabled = true
		o.DialTimeout = dialTimeout
		o.DialerRetries = 1
		o.MaintNotificationsConfig = noNotices
		o.ReadOnly = false
		o.RouteByLatency = false
		o.RouteRandomly = false
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // as above
		}
		return redis.NewClusterClient(&o)
	}
	o := *t.server
	o.ContextTimeoutEnabled = true
	o.DialTimeout = dialTimeout
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.MaintNotificationsConfig = noNotices
	return redis.NewClient(&o)
}
