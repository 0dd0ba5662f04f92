package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

func TestExplainNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		text    string
		timeout bool
	}{
		"cancelled":    {fmt.Errorf("get: %w", context.Canceled), "canceled by the caller", true},
		"timeout":      {context.DeadlineExceeded, "timed out", true},
		"no such host": {&net.DNSError{Name: "secret", IsNotFound: true}, "host name does not resolve", false},
		"refused":      {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused", false},
		"reset":        {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection reset", false},
		"broken":       {&net.OpError{Op: "read", Err: errors.New("secret")}, "connection failed", false},
		"not about it": {errors.New("secret"), "", false},
	} {
		if text, timeout := ExplainNetwork(test.err); text != test.text || timeout != test.timeout {
			t.Errorf("%s: got %q, %v", name, text, timeout)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "0": time.Second, "7": 7 * time.Second, "99999999999999999999999": time.Minute,
		"Fri, 15 Jan 2027 08:00:09 GMT": 9 * time.Second, "Fri, 15 Jan 2027 07:00:00 GMT": time.Second,
	} {
		if got := RetryAfter(text, now, time.Second, time.Minute); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
