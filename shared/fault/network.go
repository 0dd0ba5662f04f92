package fault

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// ExplainNetwork says why there was no answer. timeout is true if there was none in time,
// and text is empty if err is not about the connection. It never quotes err, whose text may
// hold the address of a server with its key or password.
func ExplainNetwork(err error) (text string, timeout bool) {
	var netError net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "canceled by the caller", true
	case errors.As(err, &netError) && netError.Timeout():
		return "timed out", true
	case errors.As(err, new(*net.DNSError)):
		return "host name does not resolve", false
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "invalid TLS certificate", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", false
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset", false
	case netError != nil:
		return "connection failed", false
	}
	return "", false
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
