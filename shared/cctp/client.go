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
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/rpc"
)

const (
	requestTimeout = 5 * time.Second
	bodyLimit      = 64 << 10
	mostAtOnce     = 4

	// The service blocks a caller that went past its rate limit for five
	// minutes. It may ask for more, within reason.
	shortestHold = 5 * time.Minute
	longestHold  = time.Hour

	// The service blocks a caller above 35 requests a second, fees included. Messages
	// are asked for at most every messagePause, and more slowly for a while after it has
	// blocked us. A request that would wait for longer than messageWait is refused.
	messagePause = 100 * time.Millisecond
	slowPause    = 500 * time.Millisecond
	slowFor      = 10 * time.Minute
	messageWait  = 5 * time.Second
	messageLimit = 256 << 10 // bytes of an answer
	mostMessages = 64        // of a transaction; later ones are not read
)

// failure is why a look-up gave no rate. Its text is fit for a public health
// page: it names no address and repeats nothing the service sent. The cause
// is for the log.
type failure struct {
	reason string
	cause  error
	until  time.Time // no request is made before; zero if one may be made at once
}

// BlockedFor is for how long the issuer's service is not asked, if that is why Messages
// failed, and 0 otherwise.
func BlockedFor(err error) time.Duration {
	if f := (*failure)(nil); errors.As(err, &f) {
		return max(0, time.Until(f.until))
	}
	return 0
}

func (f *failure) Error() string { return f.reason }
func (f *failure) Unwrap() error { return f.cause }

// client asks the fee service. It makes mostAtOnce requests at a time, and none
// while the service blocks us.
type client struct {
	http  *http.Client
	base  *url.URL
	dest  uint32
	slots *semaphore.Weighted // one for each request for a fee under way
	turns *rate.Limiter       // of requests for messages

	mu      sync.Mutex
	blocked time.Time // until then
	refusal error     // how the service said so
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
			// A redirect would let another host state the fee.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:  base,
		dest:  dest,
		slots: semaphore.NewWeighted(mostAtOnce),
		turns: rate.NewLimiter(rate.Every(messagePause), 1),
	}
}

// rate looks the fee of one source up. It waits for a free slot, and from then
// on takes requestTimeout at most. fast is as for decode. Every error is a *failure.
func (c *client) rate(ctx context.Context, source uint32, fast bool) (Rate, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return Rate{}, unanswered(err)
	}
	defer c.slots.Release(1)
	body, err := c.get(ctx, c.base.JoinPath(fmt.Sprintf("v2/burn/USDC/fees/%d/%d", source, c.dest)), bodyLimit)
	if err != nil {
		return Rate{}, err
	}
	return decode(body, fast)
}

// errNotFound is the failure of a request that is answered 404.
var errNotFound = &failure{reason: "status 404"}

// get requests an address within requestTimeout, and reads at most limit bytes. Every
// error is a *failure.
func (c *client) get(ctx context.Context, address *url.URL, limit int64) ([]byte, error) {
	if since, refusal := c.sinceBlocked(); since < 0 {
		return nil, refusal
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
		hold := rpc.RetryAfter(response.Header.Get("Retry-After"), time.Now(), shortestHold, longestHold)
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

// sinceBlocked is how long ago the service stopped to block us. While it blocks us, that is
// negative, and refusal says so.
func (c *client) sinceBlocked() (since time.Duration, refusal error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.blocked), c.refusal
}

// stayAway sees to it that no request is made for so long, or for longer if
// another of those under way was told so, and gives the reason.
func (c *client) stayAway(hold time.Duration) error {
	until := time.Now().Add(hold)
	refusal := &failure{reason: fmt.Sprintf("status 429: backing off for %s", hold), until: until}
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.blocked) {
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
	if _, timeout := fault.ExplainNetwork(err); timeout && !errors.Is(err, context.Canceled) {
		return &failure{reason: fmt.Sprintf("no answer within %s", requestTimeout), cause: err}
	}
	return &failure{reason: "unreachable", cause: err}
}

// The finality thresholds of burns, as the service writes them: fast, and final.
const (
	thresholdFast  = "1000"
	thresholdFinal = "2000"
)

// decode finds the fee in an answer: a bare array with a row for each finality
// threshold, in any order. The higher of the rows for 1000 (fast) and 2000
// (final) counts, and one of them is enough: a source without fast transfers
// is attested at 2000, and its messenger reverts a burn whose maxFee is below
// the fee for that.
//
// With fast, the source is known to charge for fast transfers. Its row for 1000
// must then be there and above 0: with a maxFee of 0 a burn would wait for hours
// until it is final, or revert.
func decode(body []byte, fast bool) (Rate, error) {
	var rows []struct {
		FinalityThreshold json.RawMessage `json:"finalityThreshold"`
		MinimumFee        json.RawMessage `json:"minimumFee"`
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return Rate{}, &failure{reason: "the answer is not the expected JSON", cause: err}
	}
	text := func(number []byte) string { return strings.Trim(string(number), `"`) } // a string may hold one
	fees := make(map[string]Rate, 2)                                                // the highest of each threshold
	for _, row := range rows {
		threshold := text(row.FinalityThreshold)
		if threshold != thresholdFast && threshold != thresholdFinal {
			continue
		}
		rate, err := ParseRate(text(row.MinimumFee))
		if err != nil {
			return Rate{}, &failure{reason: fmt.Sprintf("the fee %v", err), cause: err}
		}
		fees[threshold] = Rate{max(fees[threshold].nano, rate.nano)}
	}
	quick, found := fees[thresholdFast]
	switch {
	case len(fees) == 0:
		return Rate{}, &failure{reason: "no row for threshold 1000 or 2000"}
	case fast && !found:
		return Rate{}, &failure{reason: "no row for threshold 1000, though this source charges for fast transfers"}
	case fast && quick.nano == 0:
		return Rate{}, &failure{reason: "the fee is 0, though this source charges for fast transfers"}
	}
	return Rate{max(quick.nano, fees[thresholdFinal].nano)}, nil
}

// Attestation is how far the issuer is with a burn.
type Attestation string

const (
	Unseen   Attestation = "unseen"   // the issuer has not seen the transaction yet
	Waiting  Attestation = "pending"  // it waits for confirmations, or for the reason it gives
	Complete Attestation = "complete" // it has signed; the message can be delivered
	Unknown  Attestation = "unknown"  // the issuer could not be asked, or its answer makes no sense
)

// Message is one burn of a transaction, as the issuer sees it.
type Message struct {
	State Attestation // Waiting or Complete
	// Delay is the issuer's code for why it waits, such as insufficient_fee;
	// empty if it gives none.
	Delay string
	// Message is what the issuer has signed. It may be empty while it waits.
	Message []byte
}

// delay is what a word of the issuer's may look like, to be repeated to clients.
var delay = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)

// Configured tells whether the issuer can be asked.
func (f *Fees) Configured() bool { return f.client != nil }

// Messages asks the issuer for the burns of a transaction on the chain of a
// domain, in the order of their logs. There are none, and no error, while it has
// not seen the transaction. The text of an error is fit for a client.
func (f *Fees) Messages(ctx context.Context, domain uint32, tx common.Hash) ([]Message, error) {
	if f.client == nil {
		return nil, &failure{reason: "the issuer's service is not configured"}
	}
	if err := f.client.await(ctx); err != nil {
		return nil, err
	}
	address := f.client.base.JoinPath(fmt.Sprintf("v2/messages/%d", domain))
	address.RawQuery = url.Values{"transactionHash": {tx.Hex()}}.Encode()
	body, err := f.client.get(ctx, address, messageLimit)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeMessages(body)
}

// await waits for the turn of a request for messages. Nobody waits in vain: neither beyond
// the deadline, nor while the service blocks us.
func (c *client) await(ctx context.Context) error {
	since, refusal := c.sinceBlocked()
	pause := messagePause
	switch {
	case since < 0:
		return refusal
	case since < slowFor:
		pause = slowPause
	}
	c.turns.SetLimit(rate.Every(pause))
	waiting, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	err := c.turns.Wait(waiting)
	switch {
	case ctx.Err() != nil:
		return unanswered(ctx.Err())
	case err != nil:
		return &failure{reason: "too many requests are queued for the issuer's service"}
	}
	return nil
}

// decodeMessages reads an answer. A message counts as complete only if it is
// there together with an attestation.
func decodeMessages(body []byte) ([]Message, error) {
	var answer struct {
		Messages []struct {
			Message     string `json:"message"`
			Attestation string `json:"attestation"`
			Status      string `json:"status"`
			DelayReason string `json:"delayReason"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Messages == nil {
		return nil, &failure{reason: "the answer is not the expected JSON", cause: err}
	}
	answer.Messages = answer.Messages[:min(len(answer.Messages), mostMessages)]
	messages := make([]Message, len(answer.Messages))
	for i, m := range answer.Messages {
		message, err := hexutil.Decode(m.Message)
		if err != nil && !errors.Is(err, hexutil.ErrEmptyString) {
			return nil, &failure{reason: "a message in the answer is not hexadecimal", cause: err}
		}
		signature, err := hexutil.Decode(m.Attestation)
		signed := err == nil && len(signature) > 0 && len(message) > 0
		messages[i] = Message{State: Waiting, Message: message}
		switch {
		case m.Status == "complete" && !signed:
			return nil, &failure{reason: "a message in the answer is complete without being signed"}
		case m.Status == "complete":
			messages[i].State = Complete
		case delay.MatchString(m.DelayReason):
			messages[i].Delay = m.DelayReason
		}
	}
	return messages, nil
}
