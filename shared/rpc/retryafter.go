package rpc

import (
	"errors"
	"net/http"
	"strconv"
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
