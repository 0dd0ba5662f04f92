package integrator

import (
	"net/http"
	"time"
)

// maxAnswer is far more than the few hundred bytes an honest answer has.
const maxAnswer = 64 << 10

// repeatable marks requests as safe to send again on a new connection when the
// server closed an idle one under them. The empty value is not sent.
var repeatable = http.Header{"X-Idempotency-Key": {}}

// newHTTPClient makes a client that reads no more of an answer than maxAnswer
// and goes where it was told to, wherever a redirection points. Time is bounded
// by the context of each request.
func newHTTPClient(connections int) *http.Client {
	return &http.Client{
		Transport: bounded{&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswer,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	return response, nil
}
