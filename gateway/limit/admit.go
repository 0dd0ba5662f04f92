package limit

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/words"
)

// The headers in canonical form, so that requests need not convert them.
const (
	headerLimit     = "Ratelimit-Limit"
	headerRemaining = "Ratelimit-Remaining"
	headerReset     = "Ratelimit-Reset"
)

// longestWait is the longest wait in seconds: the minute, and the timeout for
// Redis, rounded up.
const longestWait = 61

// Admit counts a request against a budget of the client: the one for polled requests,
// or the one for all others. It sets RateLimit-Limit, RateLimit-Remaining and
// RateLimit-Reset, the seconds until the oldest counted request leaves the minute.
// If the request is refused, it returns the reason and the time after which the next
// request passes.
func (l *Limiter) Admit(h http.Header, from Client, polled bool) *fault.Error {
	if l.memory == nil {
		return nil
	}
	if !from.valid {
		l.uncounted.Add(1)
		l.warnedNoAddress.Do(func() {
			l.log.Warn("rate limit: a peer without an IP address cannot be counted, its requests pass")
		})
		return nil
	}
	q := question{from.key, cmp.Or(from.perMinute, l.perMinute), polled}
	if polled {
		q.limit = max(q.limit/2, 1)
	}
	d := l.decide(q)
	if d.allowed {
		d.used++
	}
	wait := min(int((d.wait+time.Second-1)/time.Second), longestWait)
	h[headerLimit] = l.numbers[q.limit]
	h[headerRemaining] = l.numbers[max(q.limit-d.used, 0)]
	h[headerReset] = l.numbers[wait]
	if d.allowed {
		return nil
	}
	return q.fault(wait)
}

// question is a request to be counted.
type question struct {
	client clientKey
	limit  int // of the budget, a minute
	polled bool
}

// polledBit tells the budgets of a client apart in memory. No client has an address
// that differs from another's in the first bit: the networks in use begin with 001,
// 0000, or 1111 (private and link-local).
const polledBit = clientKey(1) << 63

// budget is the key in memory.
func (q question) budget() clientKey {
	if q.polled {
		return q.client ^ polledBit
	}
	return q.client
}

// String is the key in Redis, after the prefix.
func (q question) String() string {
	if q.polled {
		return "polled:" + q.client.String()
	}
	return q.client.String()
}

func (q question) fault(wait int) *fault.Error {
	path, whose := "", "from one address"
	if q.polled {
		path = "for this path "
	}
	if q.client.isAPIKey() {
		whose = "with this key"
	}
	e := fault.New(fault.RateLimited, "The limit is %s a minute %s%s; the next one passes in %s",
		words.Count(q.limit, "request", "requests"), path, whose, words.Count(wait, "second", "seconds"))
	e.RetryAfter = time.Duration(wait) * time.Second
	return e
}

// Client is whom a request is counted for. Its zero value is a peer without an
// address.
type Client struct {
	key       clientKey
	perMinute int // 0: the configured limit
	valid     bool
}

// Address is the client at an address.
func Address(addr netip.Addr) Client {
	if !addr.IsValid() {
		return Client{}
	}
	return Client{key: clientKeyOf(addr), valid: true}
}

// Key is the holder of an API key, wherever it calls from. Of the ID the lower 52
// bits tell keys apart. perMinute is the key's own limit, at most MaxPerMinute, or
// 0 for the configured one.
func Key(id uint64, perMinute int) Client {
	return Client{key: apiKey | clientKey(id)&apiKeyBits, perMinute: perMinute, valid: true}
}

// clientKey identifies a client: an IPv4 address, or the upper half of an IPv6
// address, since one household or machine owns a whole /64. IPv4 addresses are
// stored in ffff:ffff::/32 and API keys in ff00::/12. These are multicast, so that
// no client has them as its address.
type clientKey uint64

const (
	ipv4       = clientKey(0xffffffff) << 32
	apiKeyBits = clientKey(1)<<52 - 1
	apiKey     = clientKey(0xff0) << 52
)

func clientKeyOf(ip netip.Addr) clientKey {
	ip = ip.Unmap()
	if ip.Is4() {
		b := ip.As4()
		return ipv4 | clientKey(binary.BigEndian.Uint32(b[:]))
	}
	b := ip.As16()
	return clientKey(binary.BigEndian.Uint64(b[:8]))
}

func (c clientKey) isAPIKey() bool { return c&^apiKeyBits == apiKey }

func (c clientKey) String() string {
	if c.isAPIKey() {
		return fmt.Sprintf("key:%013x", uint64(c&apiKeyBits))
	}
	var b [16]byte
	if c&ipv4 == ipv4 {
		binary.BigEndian.PutUint32(b[:], uint32(c))
		return netip.AddrFrom4([4]byte(b[:4])).String()
	}
	binary.BigEndian.PutUint64(b[:], uint64(c))
	return netip.PrefixFrom(netip.AddrFrom16(b), 64).String()
}
