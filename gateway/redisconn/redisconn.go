// Package redisconn connects to a Redis: a server, one that Sentinels know, or a Cluster.
//
// What it promises: no command is sent twice, no replica is asked, and nothing that a
// server says ends the process or uses up its memory.
package redisconn

import (
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Target is what the URL of a Redis names, in the forms of go-redis: a server, the
// Sentinels that know it, or a Cluster.
type Target struct {
	server    *redis.Options // one of the three is set
	sentinels *redis.FailoverOptions
	cluster   *redis.ClusterOptions
	Passwords []string // those in the URL, some of them empty; no log line may show them
}

// The message never repeats the URL, which may hold a password.
var errURL = errors.New("not a Redis URL; " +
	"want redis://user:password@host:6379/0, rediss:// for TLS, or unix:///path/to/socket; " +
	"for Sentinel redis://host:26379/0?master_name=name&addr=host:26379&username=user&password=password, " +
	"where a password before the host is the Sentinels' own; " +
	"for a Cluster redis://user:password@host:6379?addr=host:6379, " +
	"with one addr or more for further nodes and no database, as a Cluster has only 0; " +
	"special characters in a password are percent-encoded")

// Parse reads a URL. Its error never repeats it, since it may hold a password.
func Parse(text string) (t Target, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return t, errURL
	}
	var ok bool
	query := u.Query()
	switch {
	case query.Has("master_name"):
		t.sentinels, err = redis.ParseFailoverURL(text)
		if err == nil {
			ok = t.sentinels.MasterName != "" && t.sentinels.DB >= 0 && validAddresses(t.sentinels.SentinelAddrs...)
			t.Passwords = []string{t.sentinels.Password, t.sentinels.SentinelPassword}
		}
	case query.Has("addr"):
		t.cluster, err = redis.ParseClusterURL(text)
		if err == nil {
			ok = strings.Trim(u.Path, "/") == "" && validAddresses(t.cluster.Addrs...)
			t.Passwords = []string{t.cluster.Password}
		}
	default:
		t.server, err = redis.ParseURL(text)
		if err == nil {
			ok = t.server.DB >= 0 && (t.server.Network == "unix" || validAddresses(t.server.Addr))
			t.Passwords = []string{t.server.Password}
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

// Connect makes the client. It does not wait for a connection. A retry is never
// made, as it could count a request twice. The timeout of a decision covers all of
// it. Everything is a pipeline, so that one pool of connections is enough.
func (t Target) Connect(dialTimeout time.Duration, log *slog.Logger) redis.UniversalClient {
	const buffer = 16 << 10 // a batch of requests or replies
	tune := func(o *redis.Options) *redis.Client {
		o.ContextTimeoutEnabled = true
		o.DialTimeout = dialTimeout
		o.MaxRetries = -1
		o.DialerRetries = 1
		o.PipelinePoolSize = -1
		o.ReadBufferSize = buffer
		o.WriteBufferSize = buffer
		o.Protocol = 2
		o.DisableIdentity = true
		o.MaintNotificationsConfig = noNotices
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
		o.DialTimeout = dialTimeout
		return connectBySentinels(o, tune, log)
	case t.cluster != nil:
		o := *t.cluster
		if o.TLSConfig != nil {
			o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
		}
		o.ContextTimeoutEnabled = true
		o.MaxRedirects = -1
		o.NewClient = tune
		o.ReadOnly = false // a replica cannot count
		o.RouteByLatency = false
		o.RouteRandomly = false
		return redis.NewClusterClient(&o)
	}
	return tune(t.server)
}
