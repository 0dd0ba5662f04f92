package cctp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/quotegate/quotegate/shared/remote"
)

const (
	requestTimeout = 5 * time.Second
	bodyLimit      = 64 << 10
	mostAtOnce     = 4

	// The service blocks a caller that went past its rate limit for five
	// minutes. It may ask for more, within reason.
	shortestHold = 5 * time.Minute
	longestHold  = time.Hour
)

// failure is why a look-up gave no rate. Its text is fit for a public health
// page: it names no address and repeats nothing the service sent. The cause
// is for the log.
type failure struct {
	reason string
	cause  error
}

func (f *failure) Error() string { return f.reason }
func (f *failure) Unwrap() error { return f.cause }

// client asks the fee service. It makes mostAtOnce requests at a time, and none
// while the service blocks us.
type client struct {
	http  *http.Client
	base  *url.URL
	dest  uint32
	slots chan struct{} // one for each request under way

	mu      sync.Mutex
	blocked time.Time // until then
	refusal error     // how the service said so
	next    time.Time // when messages may be asked for again
}

func newClient(base *url.URL, dest uint32, transport http.RoundTripper) *client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: requestTimeout}).DialContext,
			// Requests are rare, and one on a connection that was kept would
			// be sent a second time if the service had dropped it.
			DisableKeepAlives:      true,
			TLSHandshakeTimeout:    requestTimeout,
			MaxResponseHeaderBytes: 16 << 10,
		}
	}
	return &client{
		http: &http.Client{
			Transport: transport,
			// The fee of a redirected request would be somebody else's word.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:  base,
		dest:  dest,
		slots: make(chan struct{}, mostAtOnce),
	}
}

// rate looks the fee of one source up. It waits for a free slot, and from then
// on takes requestTimeout at most. Every error is a *failure.
func (c *client) rate(ctx context.Context, source uint32) (Rate, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Rate{}, unanswered(ctx.Err())
	}
	body, err := c.get(ctx, c.base.JoinPath(fmt.Sprintf("v2/burn/USDC/fees/%d/%d", source, c.dest)), bodyLimit)
	if err != nil {
		return Rate{}, err
	}
	return decode(body)
}

// errNotFound is the failure of a request that is answered 404.
var errNotFound = &failure{reason: "status 404"}

// get asks the service for an address, in requestTimeout and so many bytes at
// most. Every error is a *failure.
func (c *client) get(ctx context.Context, address *url.URL, limit int64) ([]byte, error) {
	if err := c.block(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, unanswered(err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "quotegate")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, unanswered(err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, errNotFound
	case http.StatusTooManyRequests:
		hold, _ := remote.RetryAfter(response.Header.Get("Retry-After"), time.Now(), shortestHold, longestHold)
		return nil, c.stayAway(max(hold, shortestHold))
	default:
		return nil, &failure{reason: fmt.Sprintf("status %d", response.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, unanswered(err)
	}
	if int64(len(body)) > limit {
		return nil, &failure{reason: fmt.Sprintf("the answer is larger than %d bytes", limit)}
	}
	return body, nil
}

// block is why no request may be made now, or nil.
func (c *client) block() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.blocked) {
		return c.refusal
	}
	return nil
}

// stayAway sees to it that no request is made for so long, or for longer if
// another of those under way was told so, and gives the reason.
func (c *client) stayAway(hold time.Duration) error {
	refusal := &failure{reason: fmt.Sprintf("status 429: staying away for %s", hold)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(hold); until.After(c.blocked) {
		c.blocked, c.refusal = until, refusal
	}
	return refusal
}

// unanswered is the failure of a request that got no answer, or half of one.
func unanswered(err error) *failure {
	// The text of a url.Error is the address, credentials and all.
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err
	}
	if _, timeout := remote.Explain(err); timeout && !errors.Is(err, context.Canceled) {
		return &failure{reason: fmt.Sprintf("no answer within %s", requestTimeout), cause: err}
	}
	return &failure{reason: "unreachable", cause: err}
}

// decode finds the fee in an answer: a bare array with a row for each finality
// threshold, in any order. The higher of the rows for 1000 (fast) and 2000
// (final) counts, and one of them is enough: a source without fast transfers
// is attested at 2000, and its messenger reverts a burn whose maxFee is below
// the fee for that.
func decode(body []byte) (Rate, error) {
	var rows []struct {
		FinalityThreshold scalar `json:"finalityThreshold"`
		MinimumFee        scalar `json:"minimumFee"`
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return Rate{}, &failure{reason: "the answer is not the expected JSON", cause: err}
	}
	var found bool
	var fee Rate
	for _, row := range rows {
		if row.FinalityThreshold != "1000" && row.FinalityThreshold != "2000" {
			continue
		}
		rate, err := ParseRate(string(row.MinimumFee))
		if err != nil {
			return Rate{}, &failure{reason: fmt.Sprintf("the fee %v", err)}
		}
		found, fee.nano = true, max(fee.nano, rate.nano)
	}
	if !found {
		return Rate{}, &failure{reason: "no row for threshold 1000 or 2000"}
	}
	return fee, nil
}

// scalar is the text of a JSON number, or of a string that may hold one.
// Anything else is kept as it stands and is no number.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(s))
	}
	*s = scalar(data)
	return nil
}
