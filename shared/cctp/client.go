package cctp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/quotegate/quotegate/shared/fault"
	"github.com/quotegate/quotegate/shared/fee"
)

const (
	requestTimeout = 5 * time.Second
	answerLimit    = 256 << 10 // bytes
	mostAtOnce     = 4

	// The service blocks a caller that exceeded its rate limit for five minutes, or for
	// as long as Retry-After says, within reason.
	shortestHold = 5 * time.Minute
	longestHold  = time.Hour

	// The service blocks a caller above 35 requests a second, fees included. Requests for
	// messages are at least messagePause apart. One that would wait longer than
	// messageWait is refused.
	messagePause = 100 * time.Millisecond
	messageWait  = 5 * time.Second
	mostMessages = 64 // of a transaction; later ones are not read
)

// client calls the issuer's service. It makes mostAtOnce requests for fees at a time, and none
// while the service blocks us. Its errors are fit for a public page: they contain no address
// and nothing that the service sent.
type client struct {
	http    *http.Client
	base    *url.URL
	dest    uint32
	slots   *semaphore.Weighted     // one for each request for a fee in progress
	pace    *rate.Limiter           // of requests for messages
	refusal atomic.Pointer[refusal] // the last one
}

// refusal is the error of requests while the service blocks us.
type refusal struct {
	hold  time.Duration
	until time.Time
}

func (r *refusal) Error() string { return fmt.Sprintf("status 429: backing off for %s", r.hold) }

// BlockedFor is how much longer the issuer's service blocks us, if that is why Messages
// failed, and 0 otherwise.
func BlockedFor(err error) time.Duration {
	if r, ok := errors.AsType[*refusal](err); ok {
		return time.Until(r.until)
	}
	return 0
}

func newClient(base *url.URL, dest uint32, transport http.RoundTripper) *client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: requestTimeout}).DialContext,
			// Requests are rare, and one on an idle connection would be sent
			// twice if the service had closed it.
			DisableKeepAlives:      true,
			TLSHandshakeTimeout:    requestTimeout,
			MaxResponseHeaderBytes: 16 << 10,
		}
	}
	return &client{
		http: &http.Client{
			Transport: transport,
			Timeout:   requestTimeout,
			// A redirect would let another host set the fee.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		base:  base,
		dest:  dest,
		slots: semaphore.NewWeighted(mostAtOnce),
		pace:  rate.NewLimiter(rate.Every(messagePause), 1),
	}
}

// rate looks up the fee of a source, once it has a slot. builtIn is as for decode.
func (c *client) rate(ctx context.Context, source uint32, builtIn fee.Rate) (fee.Rate, error) {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return fee.Rate{}, unanswered(err)
	}
	defer c.slots.Release(1)
	body, err := c.get(ctx, c.base.JoinPath(fmt.Sprintf("v2/burn/USDC/fees/%d/%d", source, c.dest)))
	if err != nil {
		return fee.Rate{}, err
	}
	return decode(body, builtIn)
}

var (
	errNotFound = errors.New("status 404")
	errNotJSON  = errors.New("the answer is not the expected JSON")
)

// get requests an address within requestTimeout. It returns at most answerLimit bytes of the
// response.
func (c *client) get(ctx context.Context, address *url.URL) ([]byte, error) {
	if err := c.blocked(); err != nil {
		return nil, err
	}
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
		hold := fault.RetryAfter(response.Header.Get("Retry-After"), time.Now(), shortestHold, longestHold)
		hold = max(hold, shortestHold)
		r := &refusal{hold, time.Now().Add(hold)}
		c.refusal.Store(r)
		return nil, r
	default:
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return nil, unanswered(err)
	}
	return body, nil
}

// blocked is a *refusal while the service blocks us.
func (c *client) blocked() error {
	if r := c.refusal.Load(); r != nil && time.Now().Before(r.until) {
		return r
	}
	return nil
}

// unanswered is the error for a request without a complete response.
func unanswered(err error) error {
	text, _ := fault.ExplainNetwork(err)
	return errors.New(cmp.Or(text, "connection failed"))
}

// The finality thresholds of burns, as the service writes them: fast, and final.
const (
	thresholdFast  = "1000"
	thresholdFinal = "2000"
)

var (
	errKeyTwice       = errors.New("a key appears twice in an object of the answer")
	errThresholdTwice = errors.New("a threshold appears twice in the answer")
	errNoRow          = errors.New("no row for threshold 1000 or 2000")
	errNoFast         = errors.New("no fee for threshold 1000, though this source charges for fast transfers")
	errTooLow         = errors.New("the fee for threshold 1000 is below a quarter of the built-in rate")
)

// decode finds the fee in a response: a bare array with a row for each finality threshold, in
// any order. The higher of the rows for 1000 (fast) and 2000 (final) counts, and one of them
// is enough: a source without fast transfers is attested at 2000, and its messenger reverts a
// burn whose maxFee is below the fee for 2000.
//
// A source whose builtIn rate is above 0 charges for fast transfers. It must have a row for
// 1000 with at least a quarter of that rate: with a lower maxFee, a burn would wait hours for
// finality, or revert.
func decode(body []byte, builtIn fee.Rate) (fee.Rate, error) {
	var rows []struct {
		FinalityThreshold json.RawMessage `json:"finalityThreshold"`
		MinimumFee        json.RawMessage `json:"minimumFee"`
	}
	if err := json.Unmarshal(body, &rows); err != nil {
		return fee.Rate{}, errNotJSON
	}
	if repeatsKey(body) {
		return fee.Rate{}, errKeyTwice
	}
	text := func(number []byte) string { return strings.Trim(string(number), `"`) } // a string may hold one
	seen := make(map[string]bool)
	fees := make(map[string]fee.Rate, 2)
	for _, row := range rows {
		threshold := text(row.FinalityThreshold)
		if threshold != "" && seen[threshold] {
			return fee.Rate{}, errThresholdTwice
		}
		seen[threshold] = true
		if threshold != thresholdFast && threshold != thresholdFinal {
			continue
		}
		rate, err := fee.ParseRate(text(row.MinimumFee))
		if err != nil {
			return fee.Rate{}, fmt.Errorf("the fee %w", err)
		}
		fees[threshold] = rate
	}
	fast := fees[thresholdFast]
	switch {
	case len(fees) == 0:
		return fee.Rate{}, errNoRow
	case builtIn != fee.Rate{} && fast == fee.Rate{}:
		return fee.Rate{}, errNoFast
	case fast.BelowQuarterOf(builtIn):
		return fee.Rate{}, errTooLow
	}
	return slices.MaxFunc([]fee.Rate{fast, fees[thresholdFinal]}, fee.Rate.Cmp), nil
}

// repeatsKey reports whether a JSON object has a key twice, in any letter case: encoding/json
// ignores case and takes the last one.
func repeatsKey(text []byte) bool {
	var objects []map[string]bool // the keys of those that are open; nil for an array
	key := false                  // if the next token is a string, it is a key
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		name, isString := token.(string)
		switch {
		case token == json.Delim('{'):
			objects = append(objects, make(map[string]bool))
		case token == json.Delim('['):
			objects = append(objects, nil)
		case token == json.Delim('}'), token == json.Delim(']'):
			objects = objects[:len(objects)-1]
		case key && isString:
			name = strings.ToLower(strings.ToUpper(name)) // folds case as encoding/json does
			keys := objects[len(objects)-1]
			if keys[name] {
				return true
			}
			keys[name] = true
			key = false
			continue
		}
		key = len(objects) > 0 && objects[len(objects)-1] != nil
	}
}

// Attestation is the issuer's progress with a burn.
type Attestation string

const (
	Unseen   Attestation = "unseen"   // the issuer has not seen the transaction yet
	Waiting  Attestation = "pending"  // it waits for confirmations, or for the reason it gives
	Complete Attestation = "complete" // it has signed; the message can be delivered
	Unknown  Attestation = "unknown"  // the request failed, or the response is invalid
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

// delay is the form of a code from the issuer that is passed on to clients.
var delay = regexp.MustCompile(`^[a-z][a-z_]{0,63}$`)

// Configured reports whether the issuer's service is configured.
func (i *Issuer) Configured() bool { return i.client != nil }

// Messages requests the burns of a transaction on the chain of a domain, in the order of
// their logs. There are none, and no error, while the issuer has not seen the transaction.
// The text of an error is fit for a client.
func (i *Issuer) Messages(ctx context.Context, domain uint32, tx common.Hash) ([]Message, error) {
	if i.client == nil {
		return nil, errors.New("the issuer's service is not configured")
	}
	if err := i.client.await(ctx); err != nil {
		return nil, err
	}
	address := i.client.base.JoinPath(fmt.Sprintf("v2/messages/%d", domain))
	address.RawQuery = url.Values{"transactionHash": {tx.Hex()}}.Encode()
	body, err := i.client.get(ctx, address)
	switch {
	case errors.Is(err, errNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return decodeMessages(body)
}

// await waits until a request for messages may be sent. It fails at once if that would be
// after the deadline, or while the service blocks us.
func (c *client) await(ctx context.Context) error {
	if err := c.blocked(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	err := c.pace.Wait(waiting)
	switch {
	case ctx.Err() != nil:
		return unanswered(ctx.Err())
	case err != nil:
		return errors.New("too many requests are queued for the issuer's service")
	}
	return nil
}

// decodeMessages reads a response. A complete message must come with its attestation.
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
		return nil, errNotJSON
	}
	answer.Messages = answer.Messages[:min(len(answer.Messages), mostMessages)]
	messages := make([]Message, len(answer.Messages))
	for i, m := range answer.Messages {
		message, err := hexutil.Decode(m.Message)
		if err != nil && !errors.Is(err, hexutil.ErrEmptyString) {
			return nil, errors.New("a message in the answer is not hexadecimal")
		}
		signature, err := hexutil.Decode(m.Attestation)
		signed := err == nil && len(signature) > 0 && len(message) > 0
		messages[i] = Message{State: Waiting, Message: message}
		switch {
		case m.Status == "complete" && !signed:
			return nil, errors.New("a message in the answer is complete without being signed")
		case m.Status == "complete":
			messages[i].State = Complete
		case delay.MatchString(m.DelayReason):
			messages[i].Delay = m.DelayReason
		}
	}
	return messages, nil
}
