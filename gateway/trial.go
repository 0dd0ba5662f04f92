package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/quotegate/quotegate/gateway/survey"
	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/web"
)

// trial asks a version for a quote that nobody will read.
func trial(m *web.Module) survey.Try {
	for _, route := range m.Routes {
		if route.Quotes {
			return func(ctx context.Context, query string) error {
				r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: route.Path, RawQuery: query}, Header: http.Header{}}
				return route.Handle(unread{}, r.WithContext(trialOnly{ctx}))
			}
		}
	}
	panic("version " + m.Name + " has no route that quotes")
}

// trialOnly is the context of a trial.
type trialOnly struct{ context.Context }

// Counted tells of every quote a core gives to somebody. Those of a trial are
// given to nobody.
func Counted(core Quoter, quoted func(*chain.Pair)) Quoter { return counted{core, quoted} }

type counted struct {
	Quoter
	quoted func(*chain.Pair)
}

func (c counted) Quote(ctx context.Context, req *quote.Request) (*quote.Quote, error) {
	q, err := c.Quoter.Quote(ctx, req)
	if _, trial := ctx.(trialOnly); err == nil && !trial {
		c.quoted(q.Pair)
	}
	return q, err
}

// unread is an answer for nobody.
type unread struct{}

func (unread) Header() http.Header         { return http.Header{} }
func (unread) Write(b []byte) (int, error) { return len(b), nil }
func (unread) WriteHeader(int)             {}
