package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/shared/web"
)

// trial asks a version for a quote that nobody will read.
func trial(m *web.Module) survey.Try {
	for _, route := range m.Routes {
		if route.Quotes {
			return func(ctx context.Context, query string) error {
				r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: route.Path, RawQuery: query}, Header: http.Header{}}
				return route.Handle(unread{}, r.WithContext(ctx))
			}
		}
	}
	panic("version " + m.Name + " has no route that quotes")
}

// unread is an answer for nobody.
type unread struct{}

func (unread) Header() http.Header         { return http.Header{} }
func (unread) Write(b []byte) (int, error) { return len(b), nil }
func (unread) WriteHeader(int)             {}
