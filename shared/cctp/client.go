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

	// The service blocks a caller above 35 requests a second, fees included. Messages
	// are asked for at most every messagePause. Who would have to wait for longer than
	// messageWait is refused.
	messagePause = 100 * time.Millisecond
	messageWait  = 2 * time.Second
	messageLimit = 256 << 10 // bytes of an answer
	mostMessages = 64        // of a transaction; later ones are not read
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
	slots *semaphore.Weighted // one for each request under way

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
		slots: semaphore.NewWeighted(mostAtOnce),
	}
}

// rate looks the fee of one source up. It waits for a free slot, and from then
// on takes requestTimeout at most. Every error is a *failure.
func (c *client) rate(ctx context.Context, source uint32) (Rate, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return Rate{}, unanswered(err)
	}
	defer c.slots.Release(1)
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
	c.mu.Lock()
	blocked, refusal := c.blocked, c.refusal
	c.mu.Unlock()
	if time.Now().Before(blocked) {
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
		FinalityThreshold json.RawMessage `json:"finalityThreshold"`
		MinimumFee        json.RawMessage `json:"minimumFee"`
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return Rate{}, &failure{reason: "the answer is not the expected JSON", cause: err}
	}
	text := func(number []byte) string { return strings.Trim(string(number), `"`) } // a string may hold one
	var found bool
	var fee Rate
	for _, row := range rows {
		if threshold := text(row.FinalityThreshold); threshold != "1000" && threshold != "2000" {
			continue
		}
		rate, err := ParseRate(text(row.MinimumFee))
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
	// Delay is the issuer's word for why it waits, such as insufficient_fee;
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
		return nil, &failure{reason: "no address of the issuer's service is configured"}
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

// await waits for the turn of a request for messages.
func (c *client) await(ctx context.Context) error {
	c.mu.Lock()
	now := time.Now()
	wait := max(0, c.next.Sub(now))
	if wait <= messageWait {
		c.next = now.Add(wait + messagePause)
	}
	c.mu.Unlock()
	if wait > messageWait {
		return &failure{reason: "too many requests wait for the issuer's service"}
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return unanswered(ctx.Err())
	}
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
