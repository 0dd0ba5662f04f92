// Package remote reads what HTTP services of others say about when to come back, and
// why they cannot be reached. No text is from outside: it may hold a secret of the
// service's address.
package remote

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

// RetryAfter reads the header of that name, seconds or an HTTP date, and keeps it
// within bounds. It is false for anything else.
func RetryAfter(header string, now time.Time, shortest, longest time.Duration) (time.Duration, bool) {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		wait = time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	} else {
		return 0, false
	}
	return min(max(wait, shortest), longest), true
}

// Explain says why there was no answer. timeout is true if there was none in time,
// and text is empty if err is not about the connection.
func Explain(err error) (text string, timeout bool) {
	var netError net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the caller gave up", true
	case errors.As(err, &netError) && netError.Timeout():
		return "no answer in time", true
	case errors.As(err, new(*net.DNSError)):
		return "its host name does not resolve", false
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "its certificate is not accepted", false
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused", false
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset", false
	case netError != nil:
		return "no connection, or a broken one", false
	}
	return "", false
}
