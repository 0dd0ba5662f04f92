package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
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
