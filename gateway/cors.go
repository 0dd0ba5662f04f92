package gateway

import (
	"net/http"
	"time"

	"github.com/go-chi/cors"
)

// allowOrigins lets a page of any origin GET, and read the headers that tell
// it how it stands.
func allowOrigins() func(http.Handler) http.Handler {
	return cors.Handler(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: []string{http.MethodGet, http.MethodHead},
		AllowedHeaders: []string{"Accept", "Content-Type", "API-Revision", "API-Rehearse"},
		ExposedHeaders: []string{
			"X-Request-ID", "Retry-After",
			"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
			"Deprecation", "Sunset", "Link", "API-Brownout", "Warning",
		},
		MaxAge: int(time.Hour.Seconds()),
	})
}
