package node

import (
	"net/http"
	"sync"
	"time"
)

// Quota is a provider that serves node so many calls in each second of a clock,
// and answers 429 to all others. An empty retryAfter is left out.
func Quota(node http.Handler, calls int, retryAfter string, now func() time.Time) http.Handler {
	var (
		mu     sync.Mutex
		second int64
		used   int
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if s := now().Unix(); s != second {
			second, used = s, 0
		}
		used++
		over := used > calls
		mu.Unlock()
		if over {
			Limited(retryAfter)(w, r)
		} else {
			node.ServeHTTP(w, r)
		}
	})
}
