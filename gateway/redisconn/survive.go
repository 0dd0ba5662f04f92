package redisconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quotegate/quotegate/shared/guard"
)

// go-redis makes room for as many items as a reply announces, before they come, and
// takes what Sentinels say apart without counting the words: such a reply panics, in a
// goroutine of the library. Three things keep that from ending the process:
//   - Connections are replyConns, which end before a reply that cannot be meant.
//   - Clients have survivor as a hook, in a cluster the client of each node.
//   - The Sentinels are asked here, and not by go-redis.

const (
	maxReplyText  = 1 << 20 // bytes of one text
	maxReplyLine  = 64 << 10
	maxReplyItems = 1 << 17 // that are announced and have not come yet; a cluster has 16384 slots
)

var errReply = errors.New("the reply that Redis announced cannot be meant")

// replyConn is a connection to Redis. It ends with errReply before a reply that is
// too large, or that announces too much.
type replyConn struct {
	net.Conn
	line  []byte // the first bytes of the line under way
	size  int    // of the line
	skip  int    // bytes of a text that are to come
	items int    // of a list that are to come
	err   error
}

func (c *replyConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	c.err = c.follow(p[:n])
	if c.err != nil {
		return 0, c.err
	}
	return n, err
}

// follow reads what announces something: the lines between texts.
func (c *replyConn) follow(p []byte) error {
	for len(p) > 0 {
		if c.skip > 0 {
			skipped := min(c.skip, len(p))
			c.skip -= skipped
			p = p[skipped:]
			continue
		}
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end+1]
		}
		p = p[len(part):]
		c.size += len(part)
		if c.size > maxReplyLine {
			return errReply
		}
		const longest = 24 // of a line with a number
		c.line = append(c.line, part[:min(len(part), longest-min(longest, len(c.line)))]...)
		if end < 0 {
			return nil
		}
		if err := c.announce(bytes.TrimRight(c.line, "\r\n")); err != nil {
			return err
		}
		c.line = c.line[:0]
		c.size = 0
	}
	return nil
}

// announce takes in a whole line, the first byte of which says what it is.
func (c *replyConn) announce(line []byte) error {
	if len(line) == 0 {
		return nil // go-redis refuses it
	}
	c.items = max(c.items-1, 0)
	kind := line[0]
	if !bytes.ContainsRune([]byte("$=!*~>%|"), rune(kind)) {
		return nil
	}
	n, err := strconv.Atoi(string(line[1:]))
	switch {
	case err != nil || n < -1 || n > maxReplyText:
		return errReply
	case n <= 0 && kind != '$':
		return nil
	case n == -1: // no text
		return nil
	}
	switch kind {
	case '$', '=', '!':
		c.skip = n + len("\r\n")
	case '%', '|':
		c.items += 2 * n
	default:
		c.items += n
	}
	if c.items > maxReplyItems {
		return errReply
	}
	return nil
}

// noNotices turns off what needs RESP3, and what would look the address up.
var noNotices = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// guardDial makes connections replyConns. go-redis dials in goroutines of its own.
func guardDial(dial dialer, log *slog.Logger) dialer {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		err = guard.Try(log, "connecting to Redis", func() (err error) {
			conn, err = dial(ctx, network, addr)
			return err
		})
		if err != nil {
			return nil, err
		}
		return &replyConn{Conn: conn}, nil
	}
}

// survivor is a hook: a panic is the error of the commands under way.
type survivor struct{ log *slog.Logger }

func (survivor) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s survivor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return s.try([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (s survivor) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return s.try(cmds, func() error { return next(ctx, cmds) })
	}
}

func (s survivor) try(cmds []redis.Cmder, next func() error) error {
	panicked := true
	err := guard.Try(s.log, "the Redis client", func() error {
		err := next()
		panicked = false
		return err
	})
	if panicked {
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
	}
	return err
}

// sentinels know which server is the master.
type sentinels struct {
	name    string
	options []*redis.Options // of each
	log     *slog.Logger
}

// master asks all Sentinels at once, and takes the first answer.
func (s *sentinels) master(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		addr string
		err  error
	}
	answers := make(chan answer, len(s.options))
	for _, o := range s.options {
		const what = "asking a Sentinel"
		guard.Go(s.log, what, func() {
			var a answer
			a.err = guard.Try(s.log, what, func() (err error) {
				a.addr, err = s.ask(ctx, o)
				return err
			})
			answers <- a
		})
	}
	var problems []error
	for range s.options {
		a := <-answers
		if a.err == nil {
			return a.addr, nil
		}
		problems = append(problems, a.err)
	}
	return "", fmt.Errorf("no Sentinel names the master: %w", errors.Join(problems...))
}

// ask asks one. The connection is not kept: it is rare that somebody asks.
func (s *sentinels) ask(ctx context.Context, o *redis.Options) (string, error) {
	options := *o
	client := redis.NewSentinelClient(&options)
	defer client.Close()
	words, err := client.GetMasterAddrByName(ctx, s.name).Result()
	if err != nil {
		return "", err
	}
	if len(words) != 2 {
		return "", fmt.Errorf("a Sentinel answered %d words for an address", len(words))
	}
	return net.JoinHostPort(words[0], words[1]), nil
}

// connectBySentinels makes a client that asks the Sentinels for the master whenever it
// connects. Connections to a master that was replaced end by themselves: it is dead, or
// says that it is read-only.
func connectBySentinels(
	o redis.FailoverOptions, tune func(*redis.Options) *redis.Client, log *slog.Logger,
) *redis.Client {
	if o.TLSConfig != nil {
		o.TLSConfig.ServerName = "" // of the first host; it is derived from each address instead
	}
	s := &sentinels{name: o.MasterName, log: log}
	for _, addr := range o.SentinelAddrs {
		sentinel := &redis.Options{
			Addr: addr, Username: o.SentinelUsername, Password: o.SentinelPassword, TLSConfig: o.TLSConfig,
			DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, PoolSize: 1,
			Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: noNotices,
		}
		sentinel.Dialer = guardDial(redis.NewDialer(sentinel), log)
		s.options = append(s.options, sentinel)
	}
	server := &redis.Options{
		Addr: o.MasterName, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
		ClientName: o.ClientName, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MinIdleConns: o.MinIdleConns,
		MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns, ConnMaxIdleTime: o.ConnMaxIdleTime,
		ConnMaxLifetime: o.ConnMaxLifetime,
	}
	dial := redis.NewDialer(server)
	server.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr, err := s.master(ctx)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, addr)
	}
	return tune(server)
}
