package rpc

import (
	"io"
	"net/http"
	"time"

	"github.com/quotegate/quotegate/shared/remote"
)

// maxAnswer bounds the size of a response. A real one has a few hundred bytes.
// Only receipts, transactions, blocks and logs may be longer, up to maxLongAnswer:
// a receipt has up to a kilobyte for each event.
const (
	maxAnswer     = 64 << 10
	maxLongAnswer = 2 << 20
)

// long is the key of a context whose requests may have a long response.
type long struct{}

// repeatable marks requests as safe to send again on a new connection when the
// server closed an idle one under them. The empty value is not sent.
var repeatable = http.Header{"X-Idempotency-Key": {}}

// newHTTPClient makes a client that reads at most so much of a response and
// follows no redirects. The context of each request bounds its time.
func newHTTPClient(connections int, now func() time.Time) *http.Client {
	return &http.Client{
		Transport: boundedTransport{&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswer,
		}, now},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type boundedTransport struct {
	*http.Transport
	now func() time.Time
}

// overQuota is the error for a response with status 429.
type overQuota struct{ retryAfter time.Duration } // 0 if the response does not say

func (*overQuota) Error() string { return "over the provider's quota" }

// RoundTrip gives 429 as an error, because the RPC library shows its callers no
// header of a response.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	bound := int64(maxAnswer)
	if r.Context().Value(long{}) != nil {
		bound = maxLongAnswer
	}
	response.Body = http.MaxBytesReader(nil, response.Body, bound)
	if response.StatusCode == http.StatusTooManyRequests {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
		response.Body.Close()
		wait, _ := remote.RetryAfter(response.Header.Get("Retry-After"), b.now(), minRetryAfter, maxRetryAfter)
		return nil, &overQuota{wait}
	}
	return response, nil
}

// A provider can make us wait for as long as this.
const (
	minRetryAfter = time.Second
	maxRetryAfter = time.Minute
)
