package rpc

import (
	"testing"
	"time"
)

func TestReadRetryAfter(t *testing.T) {
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
