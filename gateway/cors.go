package gateway

import (
	"net/http"
	"time"

	"github.com/go-chi/cors"

	"github.com/quotegate/quotegate/gateway/lifecycle"
)

// allowOrigins lets web pages of any origin use GET and read our headers.
func allowOrigins() func(http.Handler) http.Handler {
	return cors.Handler(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{
			"Accept", "Content-Type", "API-Revision", "API-Rehearse", "API-Key", "If-None-Match", "X-Request-ID",
			"Traceparent", "Tracestate", "Baggage", "Sentry-Trace", // added by tracing libraries to every request
		},
		ExposedHeaders: append(lifecycle.ResponseHeaders(),
			"X-Request-ID", "Retry-After", "Quote-Warning", "Request-Warning", "ETag",
			"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
		MaxAge: int(time.Hour.Seconds()),
	})
}
