package limit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisTarget is what REDIS_URL names: a server, the Sentinels that know it, or
// a cluster.
type redisTarget struct {
	server    *redis.Options // how to speak to a server
	cluster   []string       // addresses of some nodes, if it is a cluster
	sentinels []string       // addresses, if there are any
	master    string         // its name at the Sentinels
	sentinel  *redis.Options // how to speak to a Sentinel
}

// The messages never repeat the URL, which may hold a password.
var (
	errRedisURL = errors.New("not a Redis URL; want redis://user:password@host:6379/0, rediss:// for TLS, unix:///path/to/socket, " +
		"redis+sentinel://user:password@host:26379,host:26379/name-of-the-master/0 for Sentinel, or redis+cluster://user:password@host:6379,host:6379 for a Cluster " +
		"(rediss+sentinel:// and rediss+cluster:// for TLS), with special characters in the password percent-encoded")
	errSentinelURL = errors.New("not the URL of a Redis behind Sentinel; want redis+sentinel://user:password@host:26379,host:26379/name-of-the-master/0, " +
		"where user and password are those of Redis, and those of the Sentinels, if they have any, follow as ?sentinel_username=…&sentinel_password=…")
	errClusterURL = errors.New("not the URL of a Redis Cluster; want redis+cluster://user:password@host:6379,host:6379 with one or more of its nodes, " +
		"and no database, as a Cluster has only 0")
)

func parseRedisURL(s string) (redisTarget, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	switch base, kind, _ := strings.Cut(scheme, "+"); {
	case kind == "" && base == scheme:
		o, err := redis.ParseURL(s)
		if err != nil || o.DB < 0 || o.Network != "unix" && !validAddress(o.Addr) {
			return redisTarget{}, errRedisURL
		}
		return redisTarget{server: o}, nil
	case kind == "sentinel":
		if t, ok := parseSentinelURL(base, rest); ok {
			return t, nil
		}
		return redisTarget{}, errSentinelURL
	case kind == "cluster":
		if t, ok := parseClusterURL(base, rest); ok {
			return t, nil
		}
		return redisTarget{}, errClusterURL
	}
	return redisTarget{}, errRedisURL
}

func parseClusterURL(scheme, rest string) (t redisTarget, ok bool) {
	u, addrs, ok := splitHosts(scheme, rest, "6379")
	if !ok || u.Path != "" && u.Path != "/" {
		return t, false
	}
	o, err := redis.ParseURL(u.String())
	return redisTarget{server: o, cluster: addrs}, err == nil && o.DB == 0
}

func parseSentinelURL(scheme, rest string) (t redisTarget, ok bool) {
	u, addrs, ok := splitHosts(scheme, rest, "26379")
	if !ok {
		return t, false
	}
	master, db, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	query := u.Query()
	t.sentinel = &redis.Options{Username: query.Get("sentinel_username"), Password: query.Get("sentinel_password")}
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	u.Path, u.RawPath, u.RawQuery = "/"+db, "", query.Encode()
	o, err := redis.ParseURL(u.String())
	t.server, t.sentinels, t.master = o, addrs, master
	return t, err == nil && o.DB >= 0 && master != ""
}

// splitHosts parses a URL that may have several hosts. The URL it returns has
// the first of them.
func splitHosts(scheme, rest, port string) (u *url.URL, addrs []string, ok bool) {
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	start := strings.LastIndex(rest[:end], "@") + 1
	hosts := strings.Split(rest[start:end], ",")
	for _, host := range hosts {
		at, err := url.Parse("redis://" + host)
		if err != nil || at.Host != host || at.Hostname() == "" {
			return nil, nil, false
		}
		addr := net.JoinHostPort(at.Hostname(), port)
		if at.Port() != "" {
			addr = at.Host
		}
		if !validAddress(addr) {
			return nil, nil, false
		}
		addrs = append(addrs, addr)
	}
	u, err := url.Parse(scheme + "://" + rest[:start] + hosts[0] + rest[end:])
	return u, addrs, err == nil && (scheme == "redis" || scheme == "rediss")
}

func validAddress(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.Contains(host, ",") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// secrets are the passwords.
func (t redisTarget) secrets() (passwords []string) {
	for _, o := range []*redis.Options{t.server, t.sentinel} {
		if o != nil && o.Password != "" {
			passwords = append(passwords, o.Password)
		}
	}
	return passwords
}

// connect makes the client. It does not wait for a connection.
func (t redisTarget) connect(limits timeouts) redis.UniversalClient {
	server := t.options(t.server, limits)
	switch {
	case t.cluster != nil:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs:                 t.cluster,
			ContextTimeoutEnabled: true,
			// go-redis would send a whole batch again after a failure, which
			// would count requests twice.
			MaxRedirects: -1,
			NewClient: func(node *redis.Options) *redis.Client {
				o := *server
				o.Addr, o.NodeAddress = node.Addr, node.NodeAddress
				return redis.NewClient(&o)
			},
		})
	case t.sentinels != nil:
		dial := server.Dialer
		server.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			addr, err := t.findMaster(ctx, limits)
			if err != nil {
				return nil, err
			}
			return dial(ctx, network, addr)
		}
	}
	return redis.NewClient(server)
}

func (t redisTarget) options(from *redis.Options, limits timeouts) *redis.Options {
	o := *from
	o.ContextTimeoutEnabled = true // the timeout covers the whole decision
	o.MaxRetries = -1              // a retry could count a request twice
	o.DialerRetries = 1
	o.DialTimeout = limits.start
	o.Protocol = 2
	o.ReadBufferSize, o.WriteBufferSize = 16<<10, 16<<10 // a batch of requests or replies
	o.PipelinePoolSize = -1                              // everything is a pipeline, so one pool is enough
	o.DisableIdentity = true
	o.Dialer = dialer(t.server.TLSConfig)
	return &o
}

// dialer connects to a server, which with TLS must have a certificate for the
// host that it is reached by.
func dialer(config *tls.Config) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := new(net.Dialer).DialContext
	if config != nil {
		config = config.Clone()
		config.ServerName = "" // of the first host; it is derived from each address instead
		dial = (&tls.Dialer{Config: config}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return checkReplies(c), nil
	}
}

// findMaster asks the Sentinels in turn for the address of the master. go-redis
// could do it, but a Sentinel's answer with fewer than two words panics there in
// a goroutine of its own.
func (t redisTarget) findMaster(ctx context.Context, limits timeouts) (string, error) {
	var problems []error
	for _, addr := range t.sentinels {
		master, err := t.askSentinel(ctx, addr, limits)
		if err == nil {
			return master, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("no Sentinel knows the master: %w", errors.Join(problems...))
}

func (t redisTarget) askSentinel(ctx context.Context, addr string, limits timeouts) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.start/time.Duration(len(t.sentinels)))
	defer cancel()
	o := t.options(t.sentinel, limits)
	o.Addr = addr
	client := redis.NewClient(o)
	defer client.Close()
	at, err := client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", t.master).StringSlice()
	if err != nil {
		return "", err
	}
	if len(at) != 2 || !validAddress(net.JoinHostPort(at[0], at[1])) {
		return "", errors.New("the answer is not an address")
	}
	return net.JoinHostPort(at[0], at[1]), nil
}
