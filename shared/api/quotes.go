package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/quotegate/quotegate/shared/chain"
	"github.com/quotegate/quotegate/shared/quote"
	"github.com/quotegate/quotegate/shared/version"
)

type Quoter interface {
	Quote(context.Context, *quote.Request) (*quote.Quote, error)
}

// Quotes answers the quote requests of a version.
type Quotes struct {
	Deployment *chain.Deployment
	Quoter     Quoter
	// Params are the parameters that Read gets to see. The others are ignored, and a
	// header names them.
	Params []string
	Read   func(*chain.Deployment, Query) (quote.Request, error)
	// Warn says why a quote must not be signed, or nothing. It may be nil.
	Warn func(Query, quote.Recipient) string
	Map  func(*quote.Quote) *Body
}

// Decode is the version.Module.Decode of the version.
func (v Quotes) Decode(r *version.Request) (version.Swap, error) {
	req, err := v.Read(v.Deployment, QueryOf(r, v.Params))
	return swap{&req}, err
}

func (v Quotes) Handle(w http.ResponseWriter, r *version.Request) error {
	query := QueryOf(r, v.Params)
	query.Warn(w.Header())
	req, err := v.Read(v.Deployment, query)
	if err != nil {
		return err
	}
	req.Caller = r.Caller
	ctx := r.Context()
	if req.From != nil { // it reads an account; a deadline for every quote would cost a tenth of it
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, version.ReadTimeout)
		defer cancel()
	}
	q, err := v.Quoter.Quote(ctx, &req)
	if err != nil {
		return err
	}
	r.Quoted = version.Quoted{Pair: q.Pair, Swap: swap{&req}}
	if warning := v.warning(query, &req, q); warning != "" {
		w.Header().Set(QuoteWarning, warning)
	}
	return v.Map(q).Send(w)
}

// swap is a request for a quote that can be compared with that of another version.
type swap struct{ *quote.Request }

func (s swap) Differs(from version.Swap) (param string) {
	same, differs := s.Same(from.(swap).Request)
	if same {
		return ""
	}
	return Name(differs)
}

// warning says why a quote must not be signed. It is empty if the quote may be.
func (v Quotes) warning(query Query, req *quote.Request, q *quote.Quote) string {
	const unsignable = "This quote must not be signed: "
	var reasons []string
	if reason := v.Deployment.Unsignable(); reason != "" {
		reasons = append(reasons, unsignable+reason)
	} else if c := q.Missing; c != nil {
		reasons = append(reasons, fmt.Sprintf(unsignable+"chain %s has no contract at %s", c.Network, c.Address))
	}
	if v.Warn != nil {
		if reason := v.Warn(query, req.Recipient); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}
