// Package client requests quotes from a gateway, verifies every answer before it is
// signed, and tracks what was sent. It is the Go counterpart of @quotegate/client.
//
//	c, err := client.New("https://quotes.example.org")
//	checked, err := c.Quote(ctx, client.Request{SrcChain: 1, SrcToken: "USDC", …})
//	for _, call := range checked.Calls { … } // sign, send and wait for each in turn
//	for status, err := range c.Follow(ctx, client.Sent{Hash: hash, Quote: checked}) { … }
//
// Show Checked.Unchecked to the user. Never resend a swap whose outcome is unknown. The
// README in npm/ describes what is verified and against what.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// Version is that of the client in both languages. A gateway's listing says from which one on it is understood.
const Version = "1.0.0"

const (
	defaultTimeout = 15 * time.Second
	maxAnswer      = 1_000_000 // bytes; the longest answer has a tenth
)

// A Client asks one gateway.
type Client struct {
	gateway string
	http    *http.Client
	apiKey  string
	timeout time.Duration
	pinned  *Pinned

	mu    sync.Mutex // guards what follows
	asked uint64     // how often the gateway was asked for its listing
	kept  keptListing
}

// A keptListing is the gateway's own listing.
type keptListing struct {
	*Listing
	tag   string
	until time.Time // when it needs a question
	asked uint64    // the question that it answers
}

// An Option changes how a Client asks or what it believes.
type Option func(*Client)

// WithAPIKey sends a key that the operator gave out.
func WithAPIKey(key string) Option { return func(c *Client) { c.apiKey = key } }

// WithHTTP uses another http.Client. Redirects are refused all the same.
func WithHTTP(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithTimeout bounds the time of one question to the gateway; 15 seconds without it.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithPinned holds every quote against what somebody has reviewed. New refuses a Pinned with nothing in it.
func WithPinned(p Pinned) Option { return func(c *Client) { c.pinned = &p } }

// Pinned is what somebody has reviewed: a whole listing, which the gateway's own then does not count beside, or the
// contracts alone, or both.
type Pinned struct {
	Listing *Listing
	Routers *Routers
}

// New makes a client of the gateway at an address such as https://quotes.example.org.
func New(gateway string, options ...Option) (*Client, error) {
	u, err := url.Parse(gateway)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{
			Code:    InvalidRequest,
			Message: fmt.Sprintf("%.200q is not the address of a gateway, such as https://quotes.example.org", gateway),
		}
	}
	c := &Client{gateway: strings.TrimRight(gateway, "/"), http: &http.Client{}, timeout: defaultTimeout}
	for _, option := range options {
		option(c)
	}
	if c.pinned != nil && c.pinned.Listing == nil && c.pinned.Routers == nil {
		return nil, &Error{Code: InvalidRequest, Message: "WithPinned needs a listing or routers"}
	}
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// Pairs gives what the gateway can swap. It is kept as long as the gateway allows, and asked for again with its tag. Do
// not change it.
func (c *Client) Pairs(ctx context.Context) (*Listing, error) {
	c.mu.Lock()
	last := c.kept
	if last.Listing != nil && time.Now().Before(last.until) {
		c.mu.Unlock()
		return last.Listing, nil
	}
	c.asked++
	next := keptListing{asked: c.asked}
	c.mu.Unlock()

	a, err := c.get(ctx, "/v3/app/pairs", last.tag)
	if err != nil {
		return nil, err
	}
	next.until = time.Now().Add(maxAge(a.header))
	if a.status == http.StatusNotModified {
		next.Listing, next.tag = last.Listing, last.tag
	} else {
		next.tag = a.header.Get("ETag")
		if next.Listing, err = ParseListing(a.body); err != nil {
			return nil, a.note(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if next.asked > c.kept.asked { // answers may overtake one another
		c.kept = next
	}
	return c.kept.Listing, nil
}

var maxAges = regexp.MustCompile(`max-age=(\d{1,6})(?:\D|$)`)

func maxAge(h http.Header) time.Duration {
	found := maxAges.FindStringSubmatch(h.Get("Cache-Control"))
	if found == nil {
		return 0
	}
	seconds, _ := strconv.Atoi(found[1])
	return time.Duration(seconds) * time.Second
}

// Quote asks for a quote, checks it, and gives what to sign.
func (c *Client) Quote(ctx context.Context, r Request) (*Checked, error) {
	path, err := r.path()
	if err != nil {
		return nil, err
	}
	known, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	a, err := c.get(ctx, path, "")
	if err != nil {
		return nil, err
	}
	checked, err := Verify(r, a.body, known)
	switch {
	case err != nil:
	case checked.Quote.Details == nil:
		err = unverified(refusedQuote, errors.New("details: missing although requested"))
	default:
		checked.Expires = checked.Quote.Details.expires(asked)
		if warning := a.warning("Request-Warning"); warning != "" {
			checked.Warnings = append([]string{"the gateway warns: " + quoted(warning)}, checked.Warnings...)
		}
	}
	if warning := a.warning("Quote-Warning"); warning != "" {
		err = warned(warning, checked, err)
	}
	if err != nil {
		return nil, a.note(err)
	}
	checked.origin = c
	return checked, nil
}

// warned is the error of a quote of which the gateway itself warns, beside what else is wrong with it.
func warned(warning string, checked *Checked, err error) error {
	problem := fmt.Errorf("the gateway itself warns: %s", quoted(warning))
	var e *Error
	if !errors.As(err, &e) {
		e = unverified("do not sign this quote: it matches the request, but carries a warning", problem)
		checked.Warning = warning
		e.Checked = checked
		return e
	}
	e.Problems = slices.Insert(e.Problems, 0, problem.Error())
	return e
}

// known is what quotes are held against now.
func (c *Client) known(ctx context.Context) (Known, error) {
	var k Known
	if c.pinned != nil {
		k = Known{Listing: c.pinned.Listing, Routers: c.pinned.Routers}
	}
	if k.Listing != nil {
		return k, nil
	}
	var err error
	if k.Listing, err = c.Pairs(ctx); err != nil {
		return k, err
	}
	if isOlder(Version, k.Listing.Client) {
		return k, &Error{
			Code: Outdated, Needs: k.Listing.Client,
			Message: fmt.Sprintf("the gateway requires version %s of the client or later; this is %s",
				quoted(k.Listing.Client), Version),
		}
	}
	return k, nil
}

// isOlder compares versions such as 1.2.3. What is not such a version asks for nothing.
func isOlder(mine, least string) bool {
	a, b := strings.Split(mine, "."), strings.Split(least, ".")
	for i := range min(len(a), len(b)) {
		m, errM := strconv.ParseUint(a[i], 10, 32)
		l, errL := strconv.ParseUint(b[i], 10, 32)
		if errM != nil || errL != nil {
			return false
		}
		if m != l {
			return m < l
		}
	}
	return false
}

// An answer is what came back, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get asks for a path, and gives an answer that can be read. With the tag of what is kept it may be 304.
func (c *Client) get(ctx context.Context, path, tag string) (*answer, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, http.MethodGet, c.gateway+path, nil)
	if err != nil {
		return nil, &Error{Code: InvalidRequest, Message: "the gateway cannot be reached", cause: err}
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	req.Header.Set("Accept", "application/json")
	if c.apiKey != "" {
		req.Header.Set("API-Key", c.apiKey)
	}
	res, err := c.http.Do(req)
	var body []byte
	if err == nil {
		defer res.Body.Close()
		body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("canceled while waiting for the gateway: %w", context.Cause(ctx))
	case err != nil:
		return nil, &Error{Code: Unreachable, Message: "the gateway does not respond", cause: err}
	}
	a := &answer{res.StatusCode, res.Header, body}
	if isKept := tag != "" && a.status == http.StatusNotModified; !isKept && !a.isObject() {
		return nil, a.refusal()
	}
	return a, nil
}

// warning is what a header says, however often it is there.
func (a *answer) warning(header string) string { return strings.Join(a.header.Values(header), ", ") }

func (a *answer) requestID() string { return fmt.Sprintf("%.100s", a.header.Get("X-Request-Id")) }

// note adds to an error of this package which answer it is about.
func (a *answer) note(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Status = a.status
		e.RequestID = a.requestID()
	}
	return err
}

// isObject tells whether an answer can be read at all. A refusal and a proxy's page cannot.
func (a *answer) isObject() bool {
	return a.status == http.StatusOK && len(a.body) <= maxAnswer &&
		bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("{")) && json.Valid(a.body)
}

// QuoteURL is where a quote is asked for, to show it to a person.
func (c *Client) QuoteURL(r Request) (string, error) {
	path, err := r.path()
	return c.gateway + path, err
}

// StatusURL is where the status of a transaction is asked for, to show it to a person.
func (c *Client) StatusURL(srcChain uint64, hash common.Hash) string {
	return c.gateway + statusPath(srcChain, hash)
}
