package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

func FuzzRetryAfter(f *testing.F) {
	for _, text := range []string{"", "7", "-1", "1e9", "Fri, 15 Jan 2027 08:00:00 GMT", "99999999999", "99999999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := RetryAfter(text, time.Unix(1_800_000_000, 0), time.Second, time.Minute)
		if ok != (got != 0) || ok && (got < time.Second || got > time.Minute) {
			t.Errorf("%q: got %v, %v, want nothing or between a second and a minute", text, got, ok)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "0": time.Second, "7": 7 * time.Second, "99999999999999999999999": time.Minute,
		"Fri, 15 Jan 2027 08:00:09 GMT": 9 * time.Second, "Fri, 15 Jan 2027 07:00:00 GMT": time.Second,
	} {
		if got, _ := RetryAfter(text, now, time.Second, time.Minute); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		text    string
		timeout bool
	}{
		"cancelled":    {fmt.Errorf("get: %w", context.Canceled), "the caller gave up", true},
		"timeout":      {context.DeadlineExceeded, "no answer in time", true},
		"no such host": {&net.DNSError{Name: "secret", IsNotFound: true}, "its host name does not resolve", false},
		"refused":      {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection refused", false},
		"reset":        {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection reset", false},
		"broken":       {&net.OpError{Op: "read", Err: errors.New("secret")}, "no connection, or a broken one", false},
		"not about it": {errors.New("secret"), "", false},
	} {
		if text, timeout := Explain(test.err); text != test.text || timeout != test.timeout {
			t.Errorf("%s: got %q, %v", name, text, timeout)
		}
	}
}
