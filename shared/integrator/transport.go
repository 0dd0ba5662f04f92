package integrator

import (
	"net/http"
	"time"
)

// maxAnswer bounds the size of a response. A real one has a few hundred bytes.
const maxAnswer = 64 << 10

// repeatable marks requests as safe to send again on a new connection when the
// server closed an idle one under them. The empty value is not sent.
var repeatable = http.Header{"X-Idempotency-Key": {}}

// newHTTPClient makes a client that reads at most maxAnswer of a response and
// follows no redirects. The context of each request bounds its time.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{
		Transport: boundedTransport{&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswer,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type boundedTransport struct{ *http.Transport }

func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	return response, nil
}
