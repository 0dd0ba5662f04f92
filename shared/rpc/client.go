// Package rpc calls the JSON-RPC endpoints of a chain, in order, until one answers.
//
// An endpoint is used only after it has confirmed its chain ID. Every call is bounded in
// time and size; calls in progress and in the queue are bounded too. Each use has a lane
// with its own limits and its own back-off, so a failure in one lane does not affect
// another, and one network of callers holds at most a quarter of a lane. When a provider
// rate limits, all lanes yield to known partners. Errors, logs and health reports never
// contain text from an endpoint or any part of its address.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/jsonfile"
	"github.com/quotegate/quotegate/shared/safego"
)

// Client asks the chains that have endpoints. It is safe for concurrent use.
type Client struct {
	networks map[chain.ID]network
	limits   [laneCount]Limits
	http     *http.Client
	log      *slog.Logger

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.RWMutex // held for reading by each question under way
}

type network struct {
	endpoints []*Endpoint // in the order in which they are tried
	turns     [laneCount]*turns
}

type Options struct {
	Log       *slog.Logger      // for endpoints that fail and recover; nil logs nothing
	Now       func() time.Time  // nil for time.Now
	Limits    map[Lane]Limits   // instead of the default ones of a lane
	Transport http.RoundTripper // nil for the network
}

// New prepares to use the endpoints. It does not call them yet.
func New(cfg Config, opts Options) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	if opts.Now == nil {
		opts.Now = time.Now
	}
	c := &Client{
		networks: make(map[chain.ID]network),
		limits:   defaultLimits,
		http:     newHTTPClient(opts.Transport),
		log:      opts.Log,
	}
	for lane, l := range opts.Limits {
		c.limits[lane] = l
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for id, urls := range cfg {
		var n network
		for lane, l := range c.limits {
			n.turns[lane] = newTurns(l)
		}
		for i, u := range urls {
			client, err := rpc.DialOptions(c.ctx, string(u), rpc.WithHTTPClient(c.http), rpc.WithHeaders(repeatable))
			if err != nil {
				return nil, fmt.Errorf("%s: entry %d cannot be used", variable(id), i+1) // err would quote the URL
			}
			log := opts.Log.With("chain", id, "endpoint", i+1)
			endpoint := &Endpoint{Network: id, Place: i + 1, client: client, now: opts.Now, log: log}
			n.endpoints = append(n.endpoints, endpoint)
		}
		c.networks[id] = n
	}
	return c, nil
}

// A Use asks its questions of one endpoint.
type Use func(context.Context, *Endpoint) error

// Ask waits for a turn in the lane and gives use one endpoint of the chain after
// the other, until use returns nil. use may be called several times, never at
// the same time, and must make its calls with the context it is given. It must
// not ask the client another question. If it returns ErrMore, the endpoint has answered,
// and the next one is asked as well.
//
// The error is a *Failure. What use returns counts like a failed call if it is a
// *Failure; see Reason for which of them rest the endpoint. Any other error of
// use counts as Undecodable, and its text is dropped.
func (c *Client) Ask(ctx context.Context, network chain.ID, lane Lane, use Use) error {
	return c.ask(ctx, network, lane, c.networks[network].endpoints, use)
}

// AskOne is Ask with one endpoint: the one at that place in the configuration, from 1 on.
// In the lane of checks, it is always asked which chain it serves, and a failure is not
// logged and makes no lane skip it, unless it is about a quota. In other lanes, a Timeout
// means that the endpoint had all of its time: if the queue took a part, that is Busy.
func (c *Client) AskOne(ctx context.Context, network chain.ID, place int, lane Lane, use Use) error {
	endpoints := c.networks[network].endpoints
	if place < 1 || place > len(endpoints) {
		return errUnconfigured
	}
	err := c.ask(ctx, network, lane, endpoints[place-1:place], use)
	f, failed := errors.AsType[*Failure](err)
	if failed && f.Reason == Timeout && lane != Checks && endpoints[place-1].resting(lane) == 0 {
		return &Failure{Reason: Busy, Text: "too little time was left after the queue", RetryAfter: shortRetry}
	}
	return err
}

// ErrMore is what a Use returns that has its answer and wants another one of the next
// endpoint.
var ErrMore = &Failure{Reason: Declined, Text: "it has answered"}

// ask asks when the turn of the question comes, in the time that its lane has, or until
// Close.
func (c *Client) ask(ctx context.Context, network chain.ID, lane Lane, endpoints []*Endpoint, use Use) error {
	if len(endpoints) == 0 {
		return errUnconfigured
	}
	c.running.RLock()
	defer c.running.RUnlock()
	if c.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits[lane].Total)
	defer cancel()
	defer safego.WhenDone(c.ctx, c.log, "ending a question to a node", cancel)()
	leave, f := c.networks[network].turns[lane].enter(ctx)
	if f == nil {
		defer leave()
		if c.ctx.Err() != nil { // while it waited; its own context may not know yet
			return errClosed
		}
		f = c.tryAll(ctx, lane, endpoints, use)
	}
	switch {
	case f == nil:
		return nil
	case c.ctx.Err() != nil:
		return errClosed
	}
	return &Failure{Reason: f.Reason, Text: f.Text, RetryAfter: max(shortRetry, f.RetryAfter)}
}

// tryAll tries the endpoints that do not rest, until one has the answer.
func (c *Client) tryAll(ctx context.Context, lane Lane, endpoints []*Endpoint, use Use) *Failure {
	reason := Resting    // of the last one that failed
	var details []string // why each endpoint gave no answer
	for _, e := range endpoints {
		why := ""
		if rest := e.resting(lane); rest > 0 {
			why = fmt.Sprintf("rests for %v", rest.Round(time.Millisecond))
		} else if f := c.try(ctx, e, lane, use); f != nil {
			reason = f.Reason
			why = f.Text
		} else {
			return nil
		}
		if lane != Checks { // which name the endpoint themselves
			why = fmt.Sprintf("endpoint %d: %s", e.Place, why)
		}
		details = append(details, why)
		if ctx.Err() != nil {
			break
		}
	}
	wait := longRetry
	if reason != Reverted && reason != Misconfigured {
		for _, e := range endpoints {
			wait = min(wait, e.resting(lane))
		}
	}
	return &Failure{Reason: reason, Text: strings.Join(details, "; "), RetryAfter: wait}
}

// try asks one endpoint and decides whether the lane skips it from now on. If
// the question itself ran out of time, it does not: the endpoint may have had
// too little of that time.
func (c *Client) try(ctx context.Context, e *Endpoint, lane Lane, use Use) *Failure {
	trying, cancel := context.WithTimeout(ctx, c.limits[lane].Try)
	defer cancel()
	err := e.checkChain(trying, lane)
	if err == nil {
		err = use(trying, e)
	}
	if err == nil {
		e.worked(lane)
		return nil
	}
	f := classify(err)
	switch {
	case f == ErrMore:
		e.worked(lane)
	case f.Reason == Limited || lane != Checks && f.Reason.RestsEndpoint() && ctx.Err() == nil:
		e.failed(lane, f)
	}
	return f
}

func (c *Client) Endpoints(id chain.ID) int { return len(c.networks[id].endpoints) }

// Close cancels the questions under way and waits for them. Later ones fail.
func (c *Client) Close() {
	c.stop()
	c.running.Lock()
	defer c.running.Unlock()
	c.http.CloseIdleConnections()
}

// maxAnswer bounds the size of a response. A real one has a few hundred bytes.
// Only receipts, transactions, blocks and logs may be longer, up to maxLongAnswer:
// a receipt has up to a kilobyte for each event.
const (
	maxAnswer     = 64 << 10
	maxLongAnswer = 2 << 20
)

// long is the key of a context whose requests may have a long response.
type longCallKey struct{}

// repeatable marks requests as safe to send again on a new connection when the
// server closed an idle one under them. The empty value is not sent.
var repeatable = http.Header{"X-Idempotency-Key": {}}

// newHTTPClient makes a client that reads at most so much of a response and
// follows no redirects. The context of each request bounds its time.
func newHTTPClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    256, // more than all lanes have calls
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswer,
		}
	}
	return &http.Client{
		Transport:     boundedTransport{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type boundedTransport struct{ http.RoundTripper }

func (b boundedTransport) CloseIdleConnections() {
	if t, ok := b.RoundTripper.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// overQuota is the error for a response with status 429.
type overQuota struct{ retryAfter time.Duration } // 0 if the response does not say

func (*overQuota) Error() string { return "over the provider's quota" }

// RoundTrip gives 429 as an error, because the RPC library shows its callers no
// header of a response.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	bound := int64(maxAnswer)
	if r.Context().Value(longCallKey{}) != nil {
		bound = maxLongAnswer
	}
	response.Body = http.MaxBytesReader(nil, response.Body, bound)
	if response.StatusCode == http.StatusTooManyRequests {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
		response.Body.Close()
		wait := RetryAfter(response.Header.Get("Retry-After"), time.Now(), time.Second, time.Minute)
		return nil, &overQuota{wait}
	}
	return response, nil
}

// Config lists the endpoints of each chain, in the order in which they are
// tried. They are http or https. A chain without any is not asked.
type Config map[chain.ID][]SecretURL

// VariablePrefix begins the name of the environment variable with the endpoints
// of a chain. The ID of the chain follows.
const VariablePrefix = "RPC_URLS_"

func variable(id chain.ID) string { return VariablePrefix + id.String() }

// ReadConfig looks up the variable of every public chain: RPC_URLS_1 and so on,
// each a list with commas between the URLs.
func ReadConfig(lookup func(key string) (string, bool)) Config {
	cfg := make(Config)
	for _, n := range chain.Networks() {
		text, _ := lookup(variable(n.ID))
		if text == "" {
			continue
		}
		for u := range strings.SplitSeq(text, ",") {
			cfg[n.ID] = append(cfg[n.ID], SecretURL(strings.TrimSpace(u)))
		}
	}
	return cfg
}

// With adds the endpoints of a file: {"endpoints": {"1": ["https://…"]}}. Unlike
// a variable, a file can be changed while the service runs. The error lists every
// problem, and never quotes a URL.
func (c Config) With(path string) (Config, error) {
	return jsonfile.Load(path, jsonfile.MaxSize, c.with)
}

func (c Config) with(data []byte) (Config, error) {
	var file struct {
		Endpoints map[string][]SecretURL `json:"endpoints"`
	}
	problems := []error{jsonfile.Decode(data, &file).Err()}
	all := maps.Clone(c)
	own := make(Config) // those of the file
	for _, key := range slices.Sorted(maps.Keys(file.Endpoints)) {
		id, err := chain.ParseID(key)
		switch {
		case err != nil || id.Private():
			problems = append(problems, fmt.Errorf("endpoints[%q]: not a supported chain", key))
		case len(c[id]) > 0:
			problems = append(problems,
				fmt.Errorf("endpoints[%q]: %s has endpoints of this chain too; use one of both", key, variable(id)))
		default:
			own[id] = file.Endpoints[key]
			all[id] = file.Endpoints[key]
		}
	}
	more, _ := own.check(func(id chain.ID) string { return fmt.Sprintf("endpoints[%q]", id) })
	return all, errors.Join(append(problems, more...)...)
}

func (c Config) Equal(other Config) bool { return maps.EqualFunc(c, other, slices.Equal) }

// Validate reports every problem, naming the variable. It never quotes a URL.
func (c Config) Validate() error {
	problems, _ := c.check(variable)
	return errors.Join(problems...)
}

// Warnings are about endpoints that may be one node under two names. They quote no URL.
func (c Config) Warnings() []string {
	_, warnings := c.check(variable)
	return warnings
}

func (c Config) check(name func(chain.ID) string) (problems []error, warnings []string) {
	for _, n := range chain.Networks() {
		endpoints, hosts := make(map[string]int), make(map[string]int)
		for i, u := range c[n.ID] {
			host, endpoint, problem := u.parse()
			if first := endpoints[endpoint]; first > 0 {
				const isSame = "is the same endpoint as entry %d; remove it, as no node can confirm itself"
				problem = fmt.Sprintf(isSame, first)
			}
			if problem != "" {
				problems = append(problems, fmt.Errorf("%s: entry %d %s", name(n.ID), i+1, problem))
				continue
			}
			endpoints[endpoint] = i + 1
			if first := hosts[host]; first > 0 {
				warnings = append(warnings, fmt.Sprintf("chain %s: endpoints %d and %d are on one host. "+
					"Two endpoints confirm each other only if they are of two providers", n.ID, first, i+1))
			} else {
				hosts[host] = i + 1
			}
		}
	}
	return problems, warnings
}

// SecretURL is a URL that may hold a secret in its user, host, path or query, as
// those of RPC providers do. Printing or logging it never shows the URL.
type SecretURL string

const hidden = "[hidden]"

// Format hides the URL from every verb of fmt.
func (SecretURL) Format(s fmt.State, _ rune) { io.WriteString(s, hidden) }

// MarshalText hides the URL from JSON and from loggers.
func (SecretURL) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// parse names host and server of a URL, each in one spelling, or says why it cannot be an
// endpoint. The port is left out if it is the usual one. The server is scheme, host, port
// and path: user, query and fragment may differ for the same one.
func (u SecretURL) parse() (host, endpoint, problem string) {
	parsed, err := url.Parse(string(u))
	switch {
	case u == "":
		return "", "", "is empty"
	case err != nil:
		return "", "", "is not a URL"
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "", "", "does not begin with http:// or https://"
	case parsed.Hostname() == "":
		return "", "", "has no host"
	}
	host = strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	usual := map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	if port := parsed.Port(); port != "" && port != usual {
		host = net.JoinHostPort(host, port)
	}
	return host, parsed.Scheme + "://" + host + path.Clean("/"+parsed.Path), ""
}

// RetryAfter reads the header of that name, seconds or an HTTP date, and keeps it
// within bounds. It is 0 for anything else.
func RetryAfter(header string, now time.Time, shortest, longest time.Duration) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		wait = time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	} else {
		return 0
	}
	return min(max(wait, shortest), longest)
}
